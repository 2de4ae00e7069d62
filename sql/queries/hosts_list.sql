-- Hosts, most recently seen first. The marked parts are replaced; $1 a name or null for all.
with seen as (
	select h.*, a.version, a.quiet_until_ns, a.environment_sha256, a.host_id is not null as has_agent, a.report,
		a.reported_at, a.clock_offset_ns,
		greatest(a.last_seen, (select max(s.last_seen) from rigstat.ingest_stream s where s.host_id = h.host_id))
			as last_seen
	from rigstat.host h left join rigstat.agent a on a.host_id = h.host_id
	where h.name <> 'unknown'
), stated as (
	select s.*, case
		when s.retired_at is not null then 'retired'
		when s.last_seen is null then case when s.has_agent then 'offline' else 'imported' end
		when s.last_seen > now() - interval '30 seconds'
			or s.quiet_until_ns > extract(epoch from now())::float8 * 1e9 then 'online'
		when s.last_seen > now() - interval '10 minutes' then 'stale'
		else 'offline' end as state
	from seen s
)
select h.host_id, h.name, h.state, h.last_seen, (extract(epoch from now() - h.last_seen) * 1e9)::bigint, h.version,
	v.facts ->> 'kernel.release', v.facts ->> 'cpu.model', (v.facts ->> 'cpu.count')::text,
	encode(h.environment_sha256, 'hex'),
	(select coalesce(sum(r.lost + r.gap_samples), 0)::bigint from rigstat.run r
		where r.host_id = h.host_id and r.deleted_at is null
			and r.last_data_ns > extract(epoch from now() - interval '1 hour')::float8 * 1e9),
	coalesce(c.runs, 0),
	(select jsonb_build_object('id', 'r_' || r.run_id, 'state', r.state, 'started_ns', r.started_ns,
			'experiment', e.name, 'factors', r.factors)
		from rigstat.run r left join rigstat.experiment e on e.experiment_id = r.experiment_id
		where r.host_id = h.host_id and r.deleted_at is null and r.kind <> 'watch'
		order by coalesce(r.started_ns, 0) desc, r.run_id desc limit 1)::text,
	h.tags::text, h.note, h.location,
	(select jsonb_object_agg(c.state, c.n)::text from (
		select state, count(*) as n from stated where state <> 'retired' group by state) c),
	h.report::text, h.reported_at, (extract(epoch from now() - h.reported_at) * 1e9)::bigint, h.clock_offset_ns,
	case when h.reserved_until is null or h.reserved_until > now() then h.reserved_by end, h.reserved_reason,
	h.reserved_at, h.reserved_until, h.retired_at, h.settings::text,
	(select jsonb_build_object('id', 'e_' || e.experiment_id, 'name', e.name)
		from rigstat.assignment q join rigstat.experiment e on e.experiment_id = q.experiment_id
		where q.host_id = h.host_id and q.state in ('taken', 'running') limit 1)::text,
	(select jsonb_build_object('id', 'r_' || r.run_id, 'kind', r.kind, 'experiment', e.name,
			'experiment_id', 'e_' || e.experiment_id)
		from rigstat.run r left join rigstat.experiment e on e.experiment_id = r.experiment_id
		where r.host_id = h.host_id and r.state = 'running' and r.deleted_at is null
		order by (r.kind = 'measured') desc, r.run_id desc limit 1)::text,
	''::text /*key*/
from stated h
left join (select r.host_id, count(*) as runs from rigstat.run r where r.deleted_at is null group by r.host_id) c
	on c.host_id = h.host_id
left join rigstat.environment v on v.sha256 = h.environment_sha256
where ($1::text is null or h.name = $1) and true /*where*/ and true /*after*/
order by 1 /*order*/ limit 1
