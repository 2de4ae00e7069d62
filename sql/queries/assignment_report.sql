-- What an agent says about the experiment that it carries out. $1 assignment, $2 state, $3 text, $4 host_id of the
-- token or 0. Columns: state, cancel. No row: there is none that is being carried out.
update rigstat.assignment
set state = $2::text, text = $3::text, seen_at = now(),
	ended_at = case when $2::text in ('taken', 'running') then null else now() end
where assignment_id = $1::bigint and state in ('taken', 'running') and ($4::bigint = 0 or host_id = $4::bigint)
returning state, cancel
