-- What a run's page has beyond the list item. $1 run_id.
select r.source, r.import_id, r.boot_id, r.attempt, r.agent_version, encode(r.environment_sha256, 'hex'),
	r.workload::text, r.cost::text, r.reason, r.note, r.notes::text, r.breaches,
	(select jsonb_build_object('read', count(*) filter (where b.read), 'worst_ns', max(b.late_ns))::text
		from rigstat.breach b where b.host_id = r.host_id and b.run_id = r.run_id),
	(select coalesce(jsonb_agg(p.slug order by p.pin_id), '[]')::text from rigstat.pin p where r.run_id = any (p.run_ids)),
	r.window_end, r.warmup_ns, r.duration_ns, r.extra::text
from rigstat.run r
where r.run_id = $1::bigint
