-- Runs that a selector chooses as documents, without their series. The marked part is replaced; $1 is the largest
-- number of runs. An environment's facts come with the first run that has it only.
select r.run_id, r.run_uid, h.name, e.name, r.kind, r.state, r.started_ns, r.ended_ns,
	-- of a running run: what was measured so far
	coalesce(r.measured_ns, case when r.state = 'running' then greatest(0, r.last_data_ns
		- coalesce(r.measured_from_ns, case when r.kind = 'watch' then r.started_ns end)) end),
	r.factors::text, r.tags::text, r.order_no, r.block_no, r.boot_id, r.excluded, r.source, r.notes::text,
	r.environment_sha256,
	case when row_number() over (partition by r.environment_sha256 order by r.run_id) = 1 then v.facts end::text,
	r.extra::text, r.gap_samples, r.revision, r.demo
from rigstat.run r
join rigstat.host h on h.host_id = r.host_id
left join rigstat.experiment e on e.experiment_id = r.experiment_id
left join rigstat.environment v on v.sha256 = r.environment_sha256
where r.deleted_at is null and true /*where*/
order by r.run_id
limit $1::bigint
