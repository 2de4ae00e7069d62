-- Totals of counters. $1 host, $2 run_id, $3 JSON array of rows.
insert into rigstat.run_total (host_id, run_id, series_no, count, lost, delta, seconds, enabled_ns, running_ns,
	rate_min, rate_max, rate_mean, rate_m2)
select $1::bigint, $2::bigint, x.no, x.count, x.lost, x.delta, x.seconds, x.enabled_ns, x.running_ns, x.rate_min,
	x.rate_max, x.rate_mean, x.rate_m2
from jsonb_to_recordset($3::jsonb) x (no int, count bigint, lost bigint, delta float8, seconds float8,
	enabled_ns bigint, running_ns bigint, rate_min float8, rate_max float8, rate_mean float8, rate_m2 float8)
on conflict (host_id, run_id, series_no) do update
set count = excluded.count, lost = excluded.lost, delta = excluded.delta, seconds = excluded.seconds,
	enabled_ns = excluded.enabled_ns, running_ns = excluded.running_ns, rate_min = excluded.rate_min,
	rate_max = excluded.rate_max, rate_mean = excluded.rate_mean, rate_m2 = excluded.rate_m2
