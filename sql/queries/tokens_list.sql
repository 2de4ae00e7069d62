-- $1 an id, or null for all. Columns: id, name, scopes, host, created, expires, revoked, last used.
select t.token_id, t.name, to_json(t.scopes), h.name, t.created_at, t.expires_at, t.revoked_at, t.last_used_at
from rigstat.token t
left join rigstat.host h on h.host_id = t.host_id
where $1::text is null or t.token_id = $1::text
order by t.created_at desc
limit 1000
