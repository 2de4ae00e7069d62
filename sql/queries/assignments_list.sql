-- The hosts that were asked to carry out an experiment, and what those that wait are waiting for.
-- $1 experiment id or null, $2 its name then.
-- Columns: assignment_id, host, state, text, cancel, created_at, taken_at, seen_at, ended_at, plan, pause, made_by,
-- progress, waits_for.
select a.assignment_id, h.name, a.state, a.text, a.cancel, a.created_at, a.taken_at, a.seen_at, a.ended_at,
	a.plan::text, a.pause, a.made_by, a.progress::text,
	case when a.state <> 'queued' then null
	when h.retired_at is not null then 'the box is retired'
	when h.reserved_by <> a.made_by and (h.reserved_until is null or h.reserved_until > now())
		then 'the box is reserved by ' || h.reserved_by
	else (select 'experiment ' || e.name || ' is being carried out there'
		from rigstat.assignment b join rigstat.experiment e on e.experiment_id = b.experiment_id
		where b.host_id = a.host_id and b.state in ('taken', 'running') limit 1) end
from rigstat.assignment a join rigstat.host h using (host_id)
where a.experiment_id = rigstat.experiment_of($1::bigint, $2::text)
order by h.name, a.assignment_id
