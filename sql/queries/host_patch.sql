-- $1 name, $2 tags or null, $3 note, $4 set note.
update rigstat.host h
set tags = coalesce($2::jsonb, tags), note = case when $4::boolean then coalesce($3::text, '') else note end
where h.name = $1::text
returning h.host_id
