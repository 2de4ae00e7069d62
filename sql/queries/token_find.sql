-- A token that is not revoked. $1 id. Columns: digest, read, ingest, write, admin, gate, host, expires_at, name.
select t.digest, 'read' = any (t.scopes), 'ingest' = any (t.scopes), 'write' = any (t.scopes), 'admin' = any (t.scopes),
	'gate' = any (t.scopes), h.name, t.expires_at, t.name
from rigstat.token t
left join rigstat.host h on h.host_id = t.host_id
where t.token_id = $1::text and t.revoked_at is null
