-- $1 host, $2 run_id, then arrays: $3 series, $4 t0, $5 dt, $6 phase, $7 n, $8 min, $9 max, $10 sum, $11 bytes.
insert into rigstat.chunk (host_id, run_id, series_no, t0_ns, dt_ns, phase, n, vmin, vmax, vsum, v)
select $1::bigint, $2::bigint, x.series, x.t0, x.dt, x.phase, x.n, x.vmin, x.vmax, x.vsum, x.v
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::float8[], $9::float8[],
	$10::float8[], $11::bytea[]) x (series, t0, dt, phase, n, vmin, vmax, vsum, v)
