-- $1 host, $2 stream.
select rigstat.note_gaps($1::bigint, $2::uuid)::text
