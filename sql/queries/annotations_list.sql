-- Annotations, newest first. $1 host or null, $2 and $3 from and to (ns) or null, $4 how many at most.
select rigstat.annotation_doc(a)::text
from rigstat.annotation a
left join rigstat.host h on h.host_id = a.host_id
where ($1::text is null or h.name = $1 or a.host_id is null) and a.from_ns >= coalesce($2::bigint, a.from_ns)
	and a.from_ns < coalesce($3::bigint, a.from_ns + 1)
order by a.from_ns desc, a.annotation_id desc
limit $4::bigint
