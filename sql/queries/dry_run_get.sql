-- $1 dry run. Columns: name, design, plan, host, state, ok, text, answer. No row: there is none.
select d.name, d.design::text, d.plan::text, a.name, a.state, a.ok, a.text, a.answer::text
from rigstat.dry_run d join rigstat.dry_run_host a using (dry_run_id)
where d.dry_run_id = $1::bigint
order by a.name
