-- What a key did within a day. $1 key.
with old as (delete from rigstat.idempotency where created_at < now() - interval '1 day')
select i.body_sha256, i.run_ids::text
from rigstat.idempotency i
where i.key = $1::text and i.created_at >= now() - interval '1 day'
