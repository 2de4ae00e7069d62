-- $1 id, $2 digest, $3 name, $4 host or null, $5 uses, $6 bind to the machine, $7 another machine may take the host,
-- $8 days of the tokens or null, $9 seconds of the code. Columns: expires_at. No row: no administrator's token exists,
-- so the first box to enrol would close the server for everybody.
insert into rigstat.enroll_code (code_id, digest, name, host, uses_max, bind_machine, replace_machine, token_days, expires_at)
select $1::text, $2::bytea, $3::text, $4::text, $5::bigint::int, $6::boolean, $7::boolean, $8::bigint::int,
	now() + make_interval(secs => $9::bigint)
where exists (select from rigstat.token where 'admin' = any (scopes) and revoked_at is null
	and (expires_at is null or expires_at > now()))
returning expires_at
