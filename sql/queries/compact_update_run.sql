-- What the packed records say about the run itself. $1 host, $2 run_id, $3 phase, $4 last data ns, $5 first and
-- $6 last record, $7 samples, $8 breaches, $9 notes (JSON array), $10 the checked RUN_END or null, $11 start of the
-- measured phase or null, $12 end of it or null, $13 time of the last record.
update rigstat.run r
set phase = $3::bigint, last_data_ns = greatest(r.last_data_ns, $4::bigint),
	first_seq = least(r.first_seq, $5::bigint), last_seq = greatest(r.last_seq, $6::bigint),
	samples = r.samples + $7::bigint, breaches = r.breaches + $8::bigint,
	notes = (select coalesce(jsonb_agg(n order by i), '[]') from (
		select n, i from jsonb_array_elements(r.notes || $9::jsonb || coalesce($10::jsonb -> 'marks', '[]'))
			with ordinality x (n, i) limit 200) y),
	measured_from_ns = coalesce(r.measured_from_ns, $11::bigint),
	measured_ns = coalesce(($10::jsonb ->> 'measured_ns')::bigint,
		$12::bigint - coalesce(r.measured_from_ns, $11::bigint), r.measured_ns),
	state = coalesce($10::jsonb ->> 'state', r.state),
	reason = coalesce($10::jsonb ->> 'reason', r.reason),
	window_end = coalesce($10::jsonb ->> 'window_end', r.window_end),
	ended_ns = coalesce(($10::jsonb ->> 'ended_ns')::bigint, case when $10::jsonb is null then r.ended_ns
		else $13::bigint end),
	workload = case when jsonb_typeof($10::jsonb -> 'workload') = 'object'
		then coalesce(r.workload, '{}') || ($10::jsonb -> 'workload') else r.workload end,
	cost = coalesce($10::jsonb -> 'cost', r.cost),
	lost = r.lost + coalesce(($10::jsonb ->> 'lost')::bigint, 0),
	missed = coalesce((select sum(v::float8)::bigint from jsonb_each_text($10::jsonb -> 'missed') m (k, v)
		where v ~ '^[0-9]{1,18}$'), r.missed),
	quiet_until_ns = case when $10::jsonb is null then r.quiet_until_ns end,
	revision = r.revision + 1, updated_at = now()
where r.host_id = $1::bigint and r.run_id = $2::bigint
