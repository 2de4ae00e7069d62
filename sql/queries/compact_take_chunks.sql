-- Takes back the last short rows, to be written again longer. $1 host, $2 run_id, $3 not older than (ns).
-- Columns: series_no, t0_ns, dt_ns, phase, n, v.
delete from rigstat.chunk
where host_id = $1::bigint and run_id = $2::bigint and n < 240 and t0_ns >= $3::bigint
returning series_no, t0_ns, dt_ns, phase, n, v
