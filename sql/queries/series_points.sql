-- The newest points of a trend, in its order; those without a place last. $1 trend, $2 and $3 from and to (ns) or null,
-- $4 how many at most.
select p.run_id, p.at_ns, p.version, p.value, p.lo, p.hi, p.n, p.answer, p.outlier, p.pos is not null,
	exists (select from rigstat.run r where r.host_id = p.host_id and r.run_id = p.run_id and r.deleted_at is null)
from (
	select q.* from rigstat.trend t join rigstat.trend_point q on q.host_id = t.host_id and q.trend_id = t.trend_id
	where t.trend_id = $1::bigint and q.at_ns >= coalesce($2::bigint, q.at_ns)
		and q.at_ns < coalesce($3::bigint, q.at_ns + 1)
	order by q.sort_key desc nulls first
	limit $4::bigint) p
order by p.sort_key nulls last
