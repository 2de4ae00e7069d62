-- $1 host, $2 run_id, then arrays: $3 series, $4 minute, $5 phase, $6 negative, $7 count, $8 lost, $9 bytes.
insert into rigstat.hist_minute (host_id, run_id, series_no, minute_ns, phase, bucketed, overflow, negative, count, lost, d)
select $1::bigint, $2::bigint, x.series, x.minute, x.phase, x.count - x.negative, 0, x.negative, x.count, x.lost, x.d
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[])
	x (series, minute, phase, negative, count, lost, d)
on conflict (host_id, run_id, series_no, minute_ns, phase) do update
set bucketed = excluded.bucketed, overflow = excluded.overflow, negative = excluded.negative,
	count = excluded.count, lost = excluded.lost, d = excluded.d
