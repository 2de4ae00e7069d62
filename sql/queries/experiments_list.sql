-- Experiments, newest first, with what their runs say. The marked parts are replaced.
select e.experiment_id, e.name, replace(e.uid::text, '-', ''), e.design::text, e.note, e.demo,
	(select count(*) from rigstat.experiment o where o.name = e.name) = 1,
	coalesce(x.hosts, '[]')::text, coalesce(x.total, 0), coalesce(x.ok, 0), coalesce(x.running, 0),
	coalesce(x.failed, 0), coalesce(x.excluded, 0), x.started_ns, x.ended_ns,
	coalesce((select jsonb_agg(distinct m.name) from rigstat.run r
		join rigstat.series s on s.host_id = r.host_id and s.run_id = r.run_id
		join rigstat.metric m on m.metric_id = s.metric_id
		where r.experiment_id = e.experiment_id and r.deleted_at is null), '[]')::text,
	coalesce((select jsonb_agg(jsonb_build_object('factors', c.factors, 'runs', c.n) order by c.first) from (
		select r.factors, count(*) as n, min(r.run_id) as first from rigstat.run r
		where r.experiment_id = e.experiment_id and r.deleted_at is null and r.kind <> 'watch'
		group by r.factors order by 3 limit 100) c), '[]')::text,
	e.tags::text,
	(select case when bool_or(a.state in ('taken', 'running')) then
			case when bool_or(a.pause) then 'pausing' else 'running' end
		when bool_or(a.state = 'queued') then 'queued' when bool_or(a.state = 'paused') then 'paused'
		when bool_and(a.state = 'done') then 'done' when bool_or(a.state = 'failed') then 'failed'
		when bool_or(a.state = 'refused') then 'refused' else 'cancelled' end
		from rigstat.assignment a where a.experiment_id = e.experiment_id having count(*) > 0),
	''::text /*key*/
from rigstat.experiment e
left join lateral (
	select count(*) as total, count(*) filter (where r.state = 'ok') as ok,
		count(*) filter (where r.state = 'running') as running,
		count(*) filter (where r.state in ('failed', 'aborted')) as failed,
		count(*) filter (where r.excluded is not null) as excluded,
		min(nullif(r.started_ns, 0)) as started_ns, max(r.ended_ns) as ended_ns,
		jsonb_agg(distinct h.name) filter (where h.name <> 'unknown') as hosts
	from rigstat.run r join rigstat.host h on h.host_id = r.host_id
	where r.experiment_id = e.experiment_id and r.deleted_at is null
	) x on true
where true /*where*/ and true /*after*/
order by 1 /*order*/ limit 1
