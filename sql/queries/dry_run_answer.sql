-- $1 dry run, $2 host name, $3 ok, $4 text, $5 answer or null. Columns: dry_run_id. No row: it was not asked.
update rigstat.dry_run_host
set state = 'answered', ok = $3::boolean, text = $4::text, answer = $5::jsonb
where dry_run_id = $1::bigint and name = $2::text and state = 'taken'
returning dry_run_id
