-- Minutes of a run that new intervals may still add to. $1 host, $2 run_id, $3 first and $4 last minute.
-- Columns: series_no, minute_ns, phase, d.
select series_no, minute_ns, phase, d
from rigstat.hist_minute
where host_id = $1::bigint and run_id = $2::bigint and minute_ns between $3::bigint and $4::bigint
order by series_no, minute_ns, phase
