-- What an agent says about the experiment that it carries out. $1 assignment, $2 state, $3 text, $4 host that the
-- token is bound to, or ''. Columns: state, cancel. No row: there is none that is being carried out.
update rigstat.assignment
set state = $2::text, text = $3::text, seen_at = now(),
	ended_at = case when $2::text in ('taken', 'running') then null else now() end
where assignment_id = $1::bigint and state in ('taken', 'running') and ($4::text = ''
		or host_id = (select h.host_id from rigstat.host h where h.name = $4::text))
returning state, cancel
