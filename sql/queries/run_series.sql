-- Series of runs with their totals and values; a metric that has only run-level values comes as series 0.
-- $1 run ids, $2 metric or null for all, $3 also what held the CPU (common/compare/blame.c). What held the CPU in late wake-ups belongs to the latency that it explains.
select r.run_id, s.series_no, m.name, s.kind, s.labels::text, s.unit, s.method, s.omission, s.state, s.reason,
	s.interval_ns, s.resolution_ns, s.missed, s.summary_n, s.summary_min, s.summary_avg, s.summary_max,
	s.summary_sdev, t.count, t.lost, t.overflow, t.negative, t.delta, t.seconds, t.d,
	v.value, v.answer
from rigstat.run r
join rigstat.series s on s.host_id = r.host_id and s.run_id = r.run_id
join rigstat.metric m on m.metric_id = s.metric_id
left join rigstat.run_total t on t.host_id = s.host_id and t.run_id = s.run_id and t.series_no = s.series_no
left join rigstat.run_value v on v.host_id = s.host_id and v.run_id = s.run_id and v.metric_id = s.metric_id
	and v.series_no = s.series_no and v.stat = 'value'
where r.run_id = any ($1::bigint[]) and ($2::text is null or m.name = $2 or ($2 = 'wakeup_latency'
	and m.name in ('blame_share', 'blame_breaches', 'breaches', 'breaches_read', 'breach_threshold')))
union all
select r.run_id, 0, m.name, 'value', '{}', m.unit, null, 'unknown', 'exact', null,
	0, 0, 0, null, null, null, null, null, null, null, null, null, null, null, null,
	v.value, v.answer
from rigstat.run r
join rigstat.run_value v on v.host_id = r.host_id and v.run_id = r.run_id and v.series_no = 0 and v.stat = 'value'
join rigstat.metric m on m.metric_id = v.metric_id
where r.run_id = any ($1::bigint[]) and ($2::text is null or m.name = $2 or ($3::boolean and m.name in
		('blame_share', 'blame_breaches', 'breaches', 'breaches_read', 'breach_threshold')))
	and not exists (select from rigstat.series s
		where s.host_id = r.host_id and s.run_id = r.run_id and s.metric_id = v.metric_id)
order by 1, 2, 3
