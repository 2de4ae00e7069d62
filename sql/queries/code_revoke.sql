-- $1 id.
update rigstat.enroll_code set revoked_at = now() where code_id = $1::text and revoked_at is null
