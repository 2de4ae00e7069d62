-- Asks hosts what an experiment would do; those that cannot be asked get the reason at once. $1 name, $2 host names,
-- $3 design, $4 plan, $5 who asks. Columns: dry_run_id.
with old as (
	delete from rigstat.dry_run where created_at < now() - interval '1 day'
), d as (
	insert into rigstat.dry_run (name, design, plan) values ($1::text, $3::jsonb, $4::jsonb)
	returning dry_run_id
), judged as (
	select w.name, h.host_id, case
		when h.host_id is null then 'refused: the box has never reported'
		when h.retired_at is not null then 'refused: the box is retired'
		when h.reserved_by <> $5::text and (h.reserved_until is null or h.reserved_until > now())
			then 'refused: the box is reserved by ' || h.reserved_by
				|| case when h.reserved_reason = '' then '' else ': ' || h.reserved_reason end
		when coalesce(greatest(a.last_seen, (select max(s.last_seen) from rigstat.ingest_stream s
				where s.host_id = h.host_id)), '-infinity') < now() - interval '30 seconds'
			then 'not asked: the box is not online'
		else (select 'not asked: the box is busy with experiment ' || e.name || ', this one would wait its turn'
			from rigstat.assignment q join rigstat.experiment e on e.experiment_id = q.experiment_id
			where q.host_id = h.host_id and q.state in ('taken', 'running') limit 1) end as reason
	from unnest($2::text[]) w (name)
	left join rigstat.host h on h.name = w.name
	left join rigstat.agent a on a.host_id = h.host_id
), hs as (
	insert into rigstat.dry_run_host (dry_run_id, name, host_id, state, ok, text)
	select d.dry_run_id, j.name, j.host_id, case when j.reason is null then 'asked' else 'not_asked' end,
		case when j.reason like 'refused:%' then false end, coalesce(j.reason, '')
	from judged j, d
), told as (
	select rigstat.tell('assignment', 'new', null, null, null) from d limit 1
)
select dry_run_id from d left join told on true
