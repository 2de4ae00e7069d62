-- $1 id.
update rigstat.token set last_used_at = now() where token_id = $1::text
