-- A trend and the changes in it. $1 trend.
select rigstat.trend_doc(t)::text,
	(select coalesce(jsonb_agg(rigstat.member_doc(x) || jsonb_build_object('change', 'c_' || c.change_id, 'state', c.state)
		order by c.lo_key), '[]')
	from rigstat.change_member x join rigstat.change c using (host_id, change_id)
	where x.host_id = t.host_id and x.trend_id = t.trend_id and c.state <> 'withdrawn')::text,
	(select coalesce(jsonb_agg(rigstat.annotation_doc(a) order by a.from_ns), '[]') from rigstat.annotation a,
		(select min(p.at_ns) as first, max(p.at_ns) as last from rigstat.trend_point p
		where p.host_id = t.host_id and p.trend_id = t.trend_id) span
	where (a.host_id = t.host_id or a.host_id is null) and a.from_ns between span.first and span.last)::text
from rigstat.trend t
where t.trend_id = $1::bigint
