-- $1 name, $2 tags or null, $3 note, $4 set note, $5 retired or null. Every server forgets what it knows of a host
-- that is retired or comes back.
with done as (
	update rigstat.host h
	set tags = coalesce($2::jsonb, tags), note = case when $4::boolean then coalesce($3::text, '') else note end,
		retired_at = case when $5::boolean then coalesce(retired_at, now()) when not $5::boolean then null
			else retired_at end
	where h.name = $1::text
	returning h.host_id
), told as (
	select pg_notify('rigstat', '{"type":"hosts"}') from done where $5::boolean is not null
)
select host_id from done left join told on true
