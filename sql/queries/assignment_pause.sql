-- Pauses an experiment: at once where it waits, after the present run where one is being made.
-- $1 experiment id or null, $2 its name then.
-- Columns: assignment_id, state.
update rigstat.assignment
set pause = state <> 'queued', state = case when state = 'queued' then 'paused' else state end
where experiment_id = rigstat.experiment_of($1::bigint, $2::text) and state in ('queued', 'taken', 'running') and not cancel
returning assignment_id, state
