-- $1 host, $2 run_id, then arrays: $3 series, $4 t0, $5 dt, $6 phase, $7 n, $8 count, $9 bytes.
insert into rigstat.hist_chunk (host_id, run_id, series_no, t0_ns, dt_ns, phase, n, count, d)
select $1::bigint, $2::bigint, x.series, x.t0, x.dt, x.phase, x.n, x.count, x.d
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[])
	x (series, t0, dt, phase, n, count, d)
