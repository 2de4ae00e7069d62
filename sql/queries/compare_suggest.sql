-- Plausible partners of the runs that a selector chooses: other cells of their experiment, other kernels of their
-- host.
with chosen as materialized (
	select r.run_id, r.experiment_id, r.factors, r.host_id, r.started_ns,
		coalesce(r.factors ->> 'kernel', v.facts ->> 'kernel.release') as kernel
	from rigstat.run r
	join rigstat.host h on h.host_id = r.host_id
	left join rigstat.experiment e on e.experiment_id = r.experiment_id
	left join rigstat.environment v on v.sha256 = r.environment_sha256
	where r.deleted_at is null and true /*where*/
	order by r.run_id desc limit 2000
), cell as materialized (
	select experiment_id, factors from chosen where experiment_id is not null
	group by 1, 2 order by count(*) desc, max(run_id) desc limit 1
), box as materialized (
	select host_id, kernel from chosen where kernel is not null
	group by 1, 2 order by count(*) desc limit 1
), cells as (
	select 'cell' as what, e.experiment_id, e.name, r.factors::text as factors, count(*) as runs,
		(select count(*) from rigstat.experiment o where o.name = e.name) = 1 as plain,
		null::text as host, null::text as kernel, min(r.run_id) as at
	from cell c
	join rigstat.run r on r.experiment_id = c.experiment_id and r.factors <> c.factors and r.deleted_at is null
		and r.kind <> 'watch'
	join rigstat.experiment e on e.experiment_id = r.experiment_id
	group by 2, 3, 4 order by at limit 20
), kernels as (
	select 'kernel', null::bigint, null, '{}', count(*), true, h.name, v.facts ->> 'kernel.release',
		max(r.run_id)
	from box b
	join rigstat.run r on r.host_id = b.host_id and r.deleted_at is null and r.kind <> 'watch'
	join rigstat.host h on h.host_id = r.host_id
	join rigstat.environment v on v.sha256 = r.environment_sha256
	where v.facts ->> 'kernel.release' <> b.kernel
	group by 7, 8 order by 9 desc limit 5
)
select what, experiment_id, name, factors, runs, plain, host, kernel,
	(select c.factors::text from cell c), (select count(*) from chosen)
from (select * from cells union all select * from kernels) x
