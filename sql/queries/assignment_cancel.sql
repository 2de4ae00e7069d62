-- Takes back the experiment: at once where it waits, by the agent's next report where it runs. $1 experiment.
-- Columns: assignment_id, state.
update rigstat.assignment
set cancel = true,
	state = case when state = 'queued' then 'cancelled' else state end,
	ended_at = case when state = 'queued' then now() else ended_at end
where experiment_id = $1::bigint and state in ('queued', 'taken', 'running')
returning assignment_id, state
