-- The successor of a token, with its rights and its length of life; another one that was not used yet is over.
-- $1 the token, $2 id of the successor, $3 its digest. Columns: expires_at. No row: the id is taken, or the token is over.
with old as (
	select * from rigstat.token
	where token_id = $1::text and revoked_at is null and (expires_at is null or expires_at > now())
), earlier as (
	update rigstat.token t set revoked_at = now()
	from old
	where t.replaces = old.token_id and t.token_id <> $2::text and t.revoked_at is null
)
insert into rigstat.token as n (token_id, digest, name, scopes, host_id, code_id, replaces, expires_at)
select $2::text, $3::bytea, name, scopes, host_id, code_id, token_id, now() + (expires_at - created_at)
from old
on conflict (token_id) do update set replaces = excluded.replaces
	where n.digest = excluded.digest and n.replaces = excluded.replaces and n.revoked_at is null
returning expires_at
