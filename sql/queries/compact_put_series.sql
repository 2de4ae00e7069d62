-- New series. $1 host, $2 run_id, $3 JSON array of checked SERIES items with `no` and the catalogue's words.
insert into rigstat.series (host_id, run_id, series_no, metric_id, kind, labels, unit, method, omission, state, reason,
	interval_ns, resolution_ns)
select $1::bigint, $2::bigint, (p ->> 'no')::int, rigstat.metric_get(p), p ->> 'kind', coalesce(p -> 'labels', '{}'),
	coalesce(p ->> 'unit', ''), p ->> 'method', coalesce(p ->> 'omission', 'unknown'),
	coalesce(p ->> 'state', 'exact'), p ->> 'reason', coalesce((p ->> 'interval_ns')::bigint, 0),
	coalesce((p ->> 'resolution_ns')::bigint, 0)
from jsonb_array_elements($3::jsonb) p
order by p ->> 'metric'
on conflict (host_id, run_id, series_no) do nothing
