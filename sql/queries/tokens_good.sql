-- Which of these tokens may still read. $1 ids. Columns: token_id.
select t.token_id from rigstat.token t
where t.token_id = any ($1::text[]) and t.revoked_at is null
	and (t.expires_at is null or t.expires_at > now())
	and t.scopes && array['read', 'write', 'admin']
