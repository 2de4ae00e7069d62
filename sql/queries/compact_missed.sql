-- Missed periods by series, from the run's end. $1 host, $2 run_id, $3 JSON object {series_no: n}.
update rigstat.series s
set missed = m.v::bigint
from jsonb_each_text($3::jsonb) m (k, v)
where s.host_id = $1::bigint and s.run_id = $2::bigint and m.k = s.series_no::text and m.v ~ '^[0-9]{1,18}$'
