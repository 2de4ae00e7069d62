-- Trends whose points changed, with the window of their history that is analysed, in order: more than $2 / 2 and at most
-- $2 points. Its start moves by $2 / 2 at a time, so that one new point does not move it.
-- $1 how many trends at most, $2 the longest window, $3 seconds that they are ours.
with stale as (
	select t.host_id, t.trend_id from rigstat.trend t
	where t.revision > t.computed and (t.claimed_until is null or t.claimed_until < now())
	order by t.trend_id
	limit $1::bigint for update skip locked
), claimed as (
	update rigstat.trend t set claimed_until = now() + make_interval(secs => $3::bigint)
	from stale s where t.host_id = s.host_id and t.trend_id = s.trend_id
	returning t.host_id, t.trend_id, t.revision, t.metric_id, t.n_points
)
select c.trend_id, c.revision, m.name, m.better, m.edited, m.margin_rel, c.n_points, p.run_id, p.value,
	-- a level begins here, as far as is known
	exists (select from rigstat.change_member x join rigstat.change k using (host_id, change_id)
		where x.host_id = c.host_id and x.trend_id = c.trend_id and k.state <> 'withdrawn'
			and p.run_id in (x.at_run_id, x.fixed_run_id))
from claimed c
join rigstat.metric m using (metric_id)
left join lateral (
	select q.run_id, q.value, q.sort_key from rigstat.trend_point q
	where q.host_id = c.host_id and q.trend_id = c.trend_id and q.value is not null and q.pos is not null
	order by q.sort_key desc
	limit case when c.n_points <= $2::bigint then c.n_points
		else c.n_points - (c.n_points - $2::bigint + $2::bigint / 2 - 1) / ($2::bigint / 2) * ($2::bigint / 2) end
	) p on true
order by c.trend_id, p.sort_key
