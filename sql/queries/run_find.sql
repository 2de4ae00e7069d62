-- The run of an id or uid ($2, null when it is an id): id, kind, revision, host.
select r.run_id, r.kind, r.revision, h.name
from rigstat.run r join rigstat.host h on h.host_id = r.host_id
where r.deleted_at is null and (r.run_id = $1::bigint or r.run_uid = $2::uuid)
order by r.run_id desc limit 1
