-- $1 id, $2 digest, $3 name, $4 scopes, $5 host name or null, $6 days or null. No row: no such host.
insert into rigstat.token (token_id, digest, name, scopes, host_id, expires_at)
select $1::text, $2::bytea, $3::text, $4::text[], h.host_id, now() + make_interval(days => $6::bigint::int)
from (select 1) one
left join rigstat.host h on h.name = $5::text
where $5::text is null or h.host_id is not null
returning token_id
