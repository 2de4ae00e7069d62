-- Environments by the first hex digits of their SHA-256. $1 digits.
select encode(v.sha256, 'hex'), v.facts::text,
	(select count(*) from rigstat.run r where r.environment_sha256 = v.sha256 and r.deleted_at is null),
	(select coalesce(jsonb_agg(distinct h.name), '[]')::text from rigstat.run r
		join rigstat.host h on h.host_id = r.host_id
		where r.environment_sha256 = v.sha256 and r.deleted_at is null and h.name <> 'unknown')
from rigstat.environment v
where encode(v.sha256, 'hex') like $1::text || '%'
order by v.sha256 limit 2
