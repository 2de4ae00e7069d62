-- A dry run that a host is asked for, taken by the asking agent. $1 host name, $2 host that the token is bound to, or ''.
-- Columns: dry_run_id, name, design, plan.
with picked as (
	select a.dry_run_id, a.name
	from rigstat.dry_run_host a join rigstat.host h using (host_id)
	where h.name = $1::text and ($2::text = '' or h.name = $2::text) and h.retired_at is null and a.state = 'asked'
	order by a.dry_run_id
	limit 1
	for update of a skip locked
)
update rigstat.dry_run_host a
set state = 'taken'
from picked p, rigstat.dry_run d
where a.dry_run_id = p.dry_run_id and a.name = p.name and d.dry_run_id = a.dry_run_id
returning d.dry_run_id, d.name, d.design::text, d.plan::text
