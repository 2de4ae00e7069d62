-- One compactor at a time for a run of a stream, until the end of the transaction. Columns: locked.
select pg_try_advisory_xact_lock(hashtextextended($1::bigint || '/' || $2::uuid || '/' || $3::bigint, 7309453))
