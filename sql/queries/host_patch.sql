-- $1 name, $2 tags or null, $3 note, $4 set note, $5 retired or null, $6 new name or null, $7 settings
-- or null. The trigger of the table tells every server, which then forgets what it knows of a host that is retired,
-- comes back or has another name. Columns: done; false: its agent is there and goes by the old name. No row: there is
-- no such host.
with t as (
	select h.host_id, $6::text is null or coalesce(greatest(a.last_seen, (select max(s.last_seen)
			from rigstat.ingest_stream s where s.host_id = h.host_id)), '-infinity')
			< now() - interval '10 minutes' as may
	from rigstat.host h left join rigstat.agent a on a.host_id = h.host_id
	where h.name = $1::text
), done as (
	update rigstat.host h
	set tags = coalesce($2::jsonb, tags), note = case when $4::boolean then coalesce($3::text, '') else note end,
		retired_at = case when $5::boolean then coalesce(retired_at, now()) when not $5::boolean then null
			else retired_at end,
		name = coalesce($6::text, name), settings = coalesce($7::jsonb, settings)
	from t where h.host_id = t.host_id and t.may
	returning h.host_id
)
select t.may from t
