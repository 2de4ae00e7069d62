-- Series of runs with their totals and values. A metric that has only a run-level value, and the sum of a counter
-- over several series (CPUs), come as series 0.
-- $1 run ids, $2 metric or null for all, $3 also what held the CPU (common/compare/blame.c).
with wanted as materialized (
	select m.metric_id, m.name, m.unit from rigstat.metric m
	where $2::text is null or m.name = $2 or ($3::boolean and m.name in
		('blame_share', 'blame_breaches', 'breaches', 'breaches_read', 'breach_threshold'))
)
select r.run_id, s.series_no, m.name, s.kind, s.labels::text, s.unit, s.method, s.omission, s.state, s.reason,
	s.interval_ns, s.resolution_ns, s.missed, s.summary_n, s.summary_min, s.summary_avg, s.summary_max,
	s.summary_sdev, t.count, t.lost, t.overflow, t.negative, t.delta, t.seconds, t.d,
	v.value, v.answer
from rigstat.run r
join rigstat.series s on s.host_id = r.host_id and s.run_id = r.run_id
join wanted m on m.metric_id = s.metric_id
left join rigstat.run_total t on t.host_id = s.host_id and t.run_id = s.run_id and t.series_no = s.series_no
left join rigstat.run_value v on v.host_id = s.host_id and v.run_id = s.run_id and v.metric_id = s.metric_id
	and v.series_no = s.series_no and v.stat = 'value'
where r.run_id = any ($1::bigint[])
union all
select r.run_id, 0, m.name, case when v.stat = 'rate' then 'counter' else 'value' end, '{}', m.unit, p.method, 'unknown',
	coalesce(p.state, 'exact'), p.reason, 0, 0, 0, null, null, null, null, null, v.n, null, null, null, null, null, null,
	v.value, v.answer
from rigstat.run r
join rigstat.run_value v on v.host_id = r.host_id and v.run_id = r.run_id and v.series_no = 0
	and v.stat in ('value', 'rate')
join wanted m on m.metric_id = v.metric_id
left join lateral (
	-- A sum is as sure as the least sure of its parts, and measured in one way or in none that has a name.
	select case when min(s.method) = max(s.method) then min(s.method) end as method,
		case when bool_or(s.state = 'doubtful') then 'doubtful' when bool_or(s.state = 'estimated') then 'estimated'
			else 'exact' end as state, min(s.reason) as reason
	from rigstat.series s
	where s.host_id = r.host_id and s.run_id = r.run_id and s.metric_id = v.metric_id) p on true
where r.run_id = any ($1::bigint[])
	and (select count(*) from rigstat.series s where s.host_id = r.host_id and s.run_id = r.run_id
		and s.metric_id = v.metric_id) not between 1 and case when v.stat = 'rate' then 1 else 1000000 end
order by 1, 2, 3
