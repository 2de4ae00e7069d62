-- Keys and values of the runs that a selector chooses, most frequent first; of the newest $1 at most. The last
-- column says how many were counted.
with chosen as materialized (
	select r.factors, r.tags, r.kind, r.state, h.name as host, e.name as experiment, r.excluded is not null as excluded,
		coalesce(r.factors ->> 'kernel', v.facts ->> 'kernel.release') as kernel, r.host_id, r.run_id
	from rigstat.run r
	join rigstat.host h on h.host_id = r.host_id
	left join rigstat.experiment e on e.experiment_id = r.experiment_id
	left join rigstat.environment v on v.sha256 = r.environment_sha256
	where r.deleted_at is null and true /*where*/
	order by coalesce(r.started_ns, 0) desc, r.run_id desc
	limit $1::bigint
), counted as (
	select 'factor' as kind, f.key, f.value, count(*) as n from chosen, jsonb_each_text(factors) f group by 2, 3
	union all
	select 'tag', f.key, f.value, count(*) from chosen, jsonb_each_text(tags) f group by 2, 3
	union all
	select 'field', f.key, f.value, count(*)
	from chosen, lateral (values ('host', host), ('experiment', experiment), ('kind', kind), ('state', state),
		('kernel', kernel), ('excluded', excluded::text)) f (key, value)
	where f.value is not null group by 2, 3
	union all
	select 'field', 'metric', m.name, count(*)
	from (select distinct c.host_id, c.run_id, s.metric_id
		from chosen c join rigstat.series s on s.host_id = c.host_id and s.run_id = c.run_id) d
	join rigstat.metric m on m.metric_id = d.metric_id group by 3
), ranked as (
	select kind, key, value, n, row_number() over (partition by kind, key order by n desc, value) as place
	from counted
)
select kind, key, value, n, (select count(*) from chosen) from ranked where place <= 51
order by kind = 'tag', kind = 'field', key, place
