-- What an analysis found. $1 trend, $2 revision, $3 the result (server/track_find.c).
select rigstat.track_store($1::bigint, $2::bigint, $3::jsonb)::text
