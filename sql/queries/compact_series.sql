-- Series of a run with their totals so far. $1 host, $2 run_id.
-- Columns: series_no, metric, kind, d, count, lost, delta, seconds, enabled_ns, running_ns, rate_min, rate_max,
-- rate_mean, rate_m2.
select s.series_no, m.name, s.kind, t.d, t.count, t.lost, t.delta, t.seconds, t.enabled_ns, t.running_ns,
	t.rate_min, t.rate_max, t.rate_mean, t.rate_m2
from rigstat.series s
join rigstat.metric m on m.metric_id = s.metric_id
left join rigstat.run_total t on t.host_id = s.host_id and t.run_id = s.run_id and t.series_no = s.series_no
where s.host_id = $1::bigint and s.run_id = $2::bigint
order by s.series_no
