-- The hosts that were asked to carry out an experiment. $1 experiment.
-- Columns: assignment_id, host, state, text, cancel, created_at, taken_at, seen_at, ended_at, plan.
select a.assignment_id, h.name, a.state, a.text, a.cancel, a.created_at, a.taken_at, a.seen_at, a.ended_at,
	a.plan::text
from rigstat.assignment a join rigstat.host h using (host_id)
where a.experiment_id = $1::bigint
order by h.name, a.assignment_id
