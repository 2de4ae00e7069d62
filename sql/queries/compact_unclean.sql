-- Streams that ended without a last word: their open runs are aborted. $1 host, $2 streams (hex).
update rigstat.run
set state = 'aborted', reason = 'the agent ended before the run did', ended_ns = coalesce(last_data_ns, started_ns),
	revision = revision + 1, updated_at = now()
where host_id = $1::bigint and state = 'running' and stream_id = any ($2::text[]::uuid[])
