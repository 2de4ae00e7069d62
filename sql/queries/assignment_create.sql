-- An experiment for hosts, all or none. $1 uid, $2 name, $3 host names, $4 design, $5 plan, $6 who asks.
-- Columns: problem ('' none, 'unknown', 'retired', 'reserved'), host, holder, reason, experiment_id, assignment_id.
with wanted as (
	select w.name, h.host_id, h.retired_at, h.reserved_reason,
		case when h.reserved_until is null or h.reserved_until > now() then h.reserved_by end as holder
	from unnest($3::text[]) w (name) left join rigstat.host h on h.name = w.name
), judged as (
	select w.*, case when w.host_id is null then 'unknown' when w.retired_at is not null then 'retired'
		when w.holder <> $6::text then 'reserved' else '' end as problem
	from wanted w
), e as (
	insert into rigstat.experiment (uid, name, design)
	select $1::uuid, $2::text, $4::jsonb
	where not exists (select from judged where problem <> '')
	returning experiment_id
), a as (
	insert into rigstat.assignment (host_id, experiment_id, plan, made_by)
	select j.host_id, e.experiment_id, $5::jsonb, $6::text from judged j, e
	returning assignment_id, host_id, experiment_id
)
select j.problem, j.name, coalesce(j.holder, ''), coalesce(j.reserved_reason, ''), a.experiment_id, a.assignment_id
from judged j left join a using (host_id)
order by j.problem desc, j.name
