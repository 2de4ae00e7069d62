-- What an agent says about the experiment that it carries out. $1 assignment, $2 state, $3 text, $4 host that the
-- token is bound to, or '', $5 progress or null. One that pauses after the wish was taken back is queued again.
-- Columns: state, cancel, pause. No row: there is none that is being carried out.
update rigstat.assignment
set state = case when $2::text = 'paused' and cancel then 'cancelled'
		when $2::text = 'paused' and not pause then 'queued' else $2::text end,
	pause = pause and $2::text in ('taken', 'running'),
	text = $3::text, seen_at = now(), progress = coalesce($5::jsonb, progress),
	ended_at = case when $2::text in ('taken', 'running') or ($2::text = 'paused' and not cancel) then null
		else now() end
where assignment_id = $1::bigint and state in ('taken', 'running') and ($4::text = ''
		or host_id = (select h.host_id from rigstat.host h where h.name = $4::text))
returning state, cancel, pause
