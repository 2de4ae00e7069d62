-- An experiment for hosts, all or none. $1 uid, $2 name, $3 host names, $4 design, $5 plan.
-- Columns: experiment_id, assignment_id, host. No row: a host is unknown.
with hs as (
	select host_id, name from rigstat.host where name = any ($3::text[])
), e as (
	insert into rigstat.experiment (uid, name, design)
	select $1::uuid, $2::text, $4::jsonb
	where (select count(*) from hs) = cardinality($3::text[])
	returning experiment_id
), a as (
	insert into rigstat.assignment (host_id, experiment_id, plan)
	select hs.host_id, e.experiment_id, $5::jsonb from hs, e
	returning assignment_id, host_id, experiment_id
), told as (
	select pg_notify('rigstat', '{"type":"assignment"}') from e
)
select a.experiment_id, a.assignment_id, hs.name
from a join hs using (host_id) left join told on true
order by hs.name
