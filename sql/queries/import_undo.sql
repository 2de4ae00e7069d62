-- Removes an import with its runs. $1 import_id.
with gone as materialized (
	select rigstat.remove_runs(array(select r.run_id from rigstat.run r where r.import_id = $1::bigint)) as n
)
delete from rigstat.import i using gone where i.import_id = $1::bigint and gone.n >= 0
returning gone.n
