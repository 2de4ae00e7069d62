-- Minute histograms of one metric of a run. $1 run_id, $2 metric, $3 labels that the series must have, $4 most rows.
select t.minute_ns, t.phase, t.d, s.unit
from rigstat.run r
join rigstat.series s on s.host_id = r.host_id and s.run_id = r.run_id
join rigstat.metric m on m.metric_id = s.metric_id and m.name = $2::text
join rigstat.hist_minute t on t.host_id = s.host_id and t.run_id = s.run_id and t.series_no = s.series_no
where r.run_id = $1::bigint and s.labels @> $3::jsonb
order by t.minute_ns, t.phase
limit $4::bigint
