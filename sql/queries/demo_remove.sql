-- Removes the runs, imports, pins and experiments that are demo data.
with ids as materialized (
	select array_agg(r.run_id) as runs, array_agg(distinct r.import_id) as imports
	from rigstat.run r where r.demo
), experiments as materialized (
	select count(*) as n from rigstat.experiment e where e.demo
), pins as (
	delete from rigstat.pin p where p.demo
), gone as materialized (
	select rigstat.remove_runs(coalesce(i.runs, '{}')) as n, i.imports from ids i, experiments e where e.n >= 0
), imports as (
	delete from rigstat.import i using gone g where i.import_id = any (g.imports) and g.n >= 0
)
select e.n, g.n from experiments e, gone g
