-- $1 id of the token or null, $2 who it was without one, $3 action, $4 object, $5 detail, $6 remote address, $7 request.
insert into rigstat.audit (token_id, who, action, object, detail, remote, request_id)
values ($1::text, coalesce((select name from rigstat.token where token_id = $1::text), $2::text), $3::text, $4::text,
	$5::text, $6::text, $7::text)
