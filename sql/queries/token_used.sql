-- Now. Its use ends the token that it replaces. $1 id.
with old as (
	update rigstat.token o set revoked_at = now()
	from rigstat.token t
	where t.token_id = $1::text and o.token_id = t.replaces and o.revoked_at is null
)
update rigstat.token set last_used_at = now() where token_id = $1::text
