-- Minute histograms of one metric on one host, in a range of time. $1 host, $2 metric, $3 labels that the series must
-- have, $4 from_ns, $5 to_ns, $6 most rows. Columns: t0, one (always 0), bytes, unit, length of the first.
select t.minute_ns, 0::bigint, t.d, s.unit, 60000000000
from rigstat.host h
join rigstat.run r on r.host_id = h.host_id and r.deleted_at is null and r.started_ns < $5::bigint
	and coalesce(r.ended_ns, r.last_data_ns, r.started_ns) >= $4::bigint
join rigstat.series s on s.host_id = r.host_id and s.run_id = r.run_id
join rigstat.metric m on m.metric_id = s.metric_id and m.name = $2::text
join rigstat.hist_minute t on t.host_id = s.host_id and t.run_id = s.run_id and t.series_no = s.series_no
	and t.minute_ns >= $4::bigint - 59999999999 and t.minute_ns < $5::bigint
where h.name = $1::text and s.labels @> $3::jsonb
order by t.minute_ns
limit $6::bigint
