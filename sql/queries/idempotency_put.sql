-- $1 key, $2 SHA-256 of the body, $3 run ids.
insert into rigstat.idempotency (key, body_sha256, run_ids) values ($1::text, $2::bytea, $3::bigint[])
