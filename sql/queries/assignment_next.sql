-- The next experiment for a host, which is taken by the asking agent. One that was taken before and is no longer
-- reported has failed. $1 host name, $2 host that the token is bound to, or ''.
-- Columns: assignment_id, experiment, uid, design, plan.
with h as (
	select host_id from rigstat.host where name = $1::text and ($2::text = '' or name = $2::text)
), lost as (
	update rigstat.assignment a
	set state = 'failed', text = 'the agent stopped reporting', ended_at = now()
	from h
	where a.host_id = h.host_id and a.state in ('taken', 'running') and a.seen_at < now() - interval '60 seconds'
	returning a.assignment_id
), picked as (
	select a.assignment_id
	from rigstat.assignment a join h using (host_id)
	where a.state = 'queued' and not exists (
		select from rigstat.assignment b
		where b.host_id = a.host_id and b.state in ('taken', 'running')
			and b.assignment_id not in (select assignment_id from lost))
	order by a.assignment_id
	limit 1
	for update of a skip locked
)
update rigstat.assignment a
set state = 'taken', taken_at = now(), seen_at = now()
from picked, rigstat.experiment e
where a.assignment_id = picked.assignment_id and e.experiment_id = a.experiment_id
returning a.assignment_id, e.name, e.uid::text, e.design::text, a.plan::text
