-- Lets a paused experiment go on, and takes back a pause that has not begun.
-- $1 experiment id or null, $2 its name then.
-- Columns: assignment_id, state.
with r as (
	update rigstat.assignment
	set pause = false, takes = 0, state = case when state = 'paused' then 'queued' else state end
	where experiment_id = rigstat.experiment_of($1::bigint, $2::text) and (state = 'paused' or pause)
	returning assignment_id, state
)
select r.assignment_id, r.state from r
