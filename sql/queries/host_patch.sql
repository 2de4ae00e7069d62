-- $1 name, $2 tags or null, $3 note, $4 set note, $5 retired or null. The host's trigger tells every server,
-- which then forgets what it knows of a host that is retired or comes back.
with done as (
	update rigstat.host h
	set tags = coalesce($2::jsonb, tags), note = case when $4::boolean then coalesce($3::text, '') else note end,
		retired_at = case when $5::boolean then coalesce(retired_at, now()) when not $5::boolean then null
			else retired_at end
	where h.name = $1::text
	returning h.host_id
)
select host_id from done
