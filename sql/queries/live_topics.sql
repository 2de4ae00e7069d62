-- What topics mean. $1 hosts by name, $2 experiments by name or e_N, $3 runs by number.
-- Columns: kind, the name that was asked for, its id, and the host of a run.
select 'host', h.name, h.host_id, h.host_id
from rigstat.host h where h.name = any ($1::text[])
union all
select 'experiment', a.name, e.experiment_id, null::bigint
from unnest($2::text[]) as a (name)
join lateral (
	select x.experiment_id from rigstat.experiment x
	where x.name = a.name or a.name ~ '^e_[0-9]{1,18}$' and x.experiment_id = substr(a.name, 3)::bigint
	order by x.name = a.name desc, x.experiment_id desc limit 1
) e on true
union all
select 'run', 'r_' || r.run_id, r.run_id, r.host_id
from rigstat.run r where r.run_id = any ($3::bigint[]) and r.deleted_at is null
