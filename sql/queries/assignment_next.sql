-- The experiment for a host to carry out now, which is taken by the asking agent: first one that it, or an agent of
-- this host that has fallen silent, was at. $1 host name, $2 host that the token is bound to, or '', $3 the assignment
-- that the agent knows it was at, or 0. Columns: assignment_id, experiment, uid, design, plan, known (orders of runs
-- that are here, such as 1-7,9).
with h as (
	select host_id, case when reserved_until is null or reserved_until > now() then reserved_by end as holder
	from rigstat.host
	where name = $1::text and ($2::text = '' or name = $2::text) and retired_at is null
), begun as (
	select a.assignment_id, a.cancel, a.pause, a.takes >= 20 as hopeless
	from rigstat.assignment a join h using (host_id) left join rigstat.agent g on g.host_id = a.host_id
	where a.state in ('taken', 'running') and (a.assignment_id = $3::bigint
		or (a.seen_at < now() - interval '60 seconds'
			and coalesce(g.quiet_until_ns, 0) < extract(epoch from now())::float8 * 1e9))
	for update of a skip locked
), closed as (
	update rigstat.assignment a
	set state = case when b.cancel then 'cancelled' when b.pause then 'paused' else 'failed' end, pause = false,
		text = case when b.cancel or b.pause then a.text
			else 'it was begun ' || a.takes || ' times and never came to its end' end,
		ended_at = case when b.pause and not b.cancel then null else now() end
	from begun b
	where a.assignment_id = b.assignment_id and (b.cancel or b.pause or b.hopeless)
	returning a.assignment_id
), queued as (
	select a.assignment_id
	from rigstat.assignment a join h using (host_id)
	where a.state = 'queued' and (h.holder is null or h.holder = a.made_by) and not exists (
		select from rigstat.assignment b
		where b.host_id = a.host_id and b.state in ('taken', 'running')
			and b.assignment_id not in (select assignment_id from closed))
	order by a.assignment_id
	limit 1
	for update of a skip locked
), picked as (
	select assignment_id from begun where assignment_id not in (select assignment_id from closed)
	union all
	select assignment_id from queued
	limit 1
)
update rigstat.assignment a
set state = 'taken', taken_at = coalesce(taken_at, now()), seen_at = now(), takes = takes + 1
from picked, rigstat.experiment e
where a.assignment_id = picked.assignment_id and e.experiment_id = a.experiment_id
returning a.assignment_id, e.name, e.uid::text, e.design::text, a.plan::text,
	coalesce((select string_agg(case when i.lo = i.hi then i.lo::text else i.lo || '-' || i.hi end, ',' order by i.lo)
		from (select min(o.no) as lo, max(o.no) as hi
			from (select d.no, d.no - row_number() over (order by d.no) as island
				from (select distinct r.order_no as no from rigstat.run r
					where r.host_id = a.host_id and r.experiment_id = a.experiment_id and r.state = 'ok'
						and r.deleted_at is null and r.order_no >= 1) d) o
			group by o.island) i), '')
