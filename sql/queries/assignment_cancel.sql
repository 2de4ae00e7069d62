-- Takes back the experiment: at once where it waits or its agent has fallen silent, by the agent's next report where it
-- runs. $1 experiment id or null, $2 its name then. Columns: assignment_id, state.
update rigstat.assignment a
set cancel = true,
	state = case when t.at_once then 'cancelled' else a.state end,
	ended_at = case when t.at_once then now() else a.ended_at end
from (
	select b.assignment_id, b.state in ('queued', 'paused') or (b.seen_at < now() - interval '60 seconds'
		and coalesce(g.quiet_until_ns, 0) < extract(epoch from now())::float8 * 1e9) as at_once
	from rigstat.assignment b left join rigstat.agent g on g.host_id = b.host_id
	where b.experiment_id = rigstat.experiment_of($1::bigint, $2::text)
		and b.state in ('queued', 'taken', 'running', 'paused')
) t
where a.assignment_id = t.assignment_id and a.state in ('queued', 'taken', 'running', 'paused')
returning a.assignment_id, a.state
