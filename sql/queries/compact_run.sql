-- The run of these records, locked: by stream and number, or by its uid (a run that another stream began).
-- $1 host, $2 stream, $3 run, $4 uid or null.
-- Columns: run_id, kind, state, phase, breaches, by_uid.
select r.run_id, r.kind, r.state, r.phase, r.breaches, r.stream_id is distinct from $2::uuid or r.run_no <> $3::bigint
from rigstat.run r
where r.host_id = $1::bigint and ((r.stream_id = $2::uuid and r.run_no = $3::bigint) or r.run_uid = $4::uuid)
order by (r.run_uid = $4::uuid) desc nulls last
limit 1
for update
