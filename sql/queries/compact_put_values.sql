-- $1 host, $2 run_id, $3 JSON array of rows; `no` 0 is all series of the metric merged.
insert into rigstat.run_value (host_id, run_id, metric_id, series_no, stat, value, lo, hi, answer, n, vmin, vmax, sdev)
select $1::bigint, $2::bigint, m.metric_id, x.no, x.stat, x.value, x.lo, x.hi, coalesce(x.answer, 'value'), x.n, x.vmin,
	x.vmax, x.sdev
from jsonb_to_recordset($3::jsonb) x (metric text, no int, stat text, value float8, lo float8, hi float8, answer text,
	n bigint, vmin float8, vmax float8, sdev float8)
join rigstat.metric m on m.name = x.metric
on conflict (host_id, run_id, metric_id, series_no, stat) do update
set value = excluded.value, lo = excluded.lo, hi = excluded.hi, answer = excluded.answer, n = excluded.n,
	vmin = excluded.vmin, vmax = excluded.vmax, sdev = excluded.sdev
