-- Totals of histograms. $1 host, $2 run_id, then arrays: $3 series, $4 negative, $5 count, $6 lost, $7 overflow,
-- $8 bytes.
insert into rigstat.run_total (host_id, run_id, series_no, bucketed, overflow, negative, count, lost, d)
select $1::bigint, $2::bigint, x.series, x.count - x.negative - x.overflow, x.overflow, x.negative, x.count, x.lost, x.d
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[])
	x (series, negative, count, lost, overflow, d)
on conflict (host_id, run_id, series_no) do update
set bucketed = excluded.bucketed, overflow = excluded.overflow, negative = excluded.negative,
	count = excluded.count, lost = excluded.lost, d = excluded.d
