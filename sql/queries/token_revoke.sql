-- $1 id.
update rigstat.token set revoked_at = now() where token_id = $1::text and revoked_at is null
