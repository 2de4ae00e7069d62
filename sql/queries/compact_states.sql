-- What a run's end says about its counters: how sure a number is, or why there is none. $1 host, $2 run_id, $3 JSON
-- object {series_no: {state, reason}}.
update rigstat.series s
set state = case when m.v ->> 'state' in ('exact', 'estimated', 'doubtful') then m.v ->> 'state' else s.state end,
	reason = coalesce(m.v ->> 'reason', s.reason)
from jsonb_each($3::jsonb) m (k, v)
where s.host_id = $1::bigint and s.run_id = $2::bigint and m.k = s.series_no::text and jsonb_typeof(m.v) = 'object'
