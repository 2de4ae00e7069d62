-- Runs whose agent has not been heard of for a day after they should have ended.
update rigstat.run r
set state = 'aborted', reason = 'the agent was not heard of any more', ended_ns = coalesce(r.last_data_ns, r.started_ns),
	revision = r.revision + 1, updated_at = now()
where r.state = 'running' and r.stream_id is not null and not exists (
	select from rigstat.ingest_stream s where s.host_id = r.host_id and s.stream_id = r.stream_id
		and s.last_seen > now() - interval '1 day' - make_interval(secs => coalesce(r.duration_ns, 0) / 1e9))
