-- The same, single intervals, up to 60 a row. Columns: t0, intervals in the row, bytes, unit, length of the first.
select t.t0_ns, t.n::bigint, t.d, s.unit, t.dt_ns
from rigstat.host h
join rigstat.run r on r.host_id = h.host_id and r.deleted_at is null and r.started_ns < $5::bigint
	and coalesce(r.ended_ns, r.last_data_ns, r.started_ns) >= $4::bigint
join rigstat.series s on s.host_id = r.host_id and s.run_id = r.run_id
join rigstat.metric m on m.metric_id = s.metric_id and m.name = $2::text
join rigstat.hist_chunk t on t.host_id = s.host_id and t.run_id = s.run_id and t.series_no = s.series_no
	and t.t0_ns >= $4::bigint - 3600000000000 and t.t0_ns < $5::bigint
where h.name = $1::text and s.labels @> $3::jsonb
order by t.t0_ns
limit $6::bigint
