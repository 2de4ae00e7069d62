-- The worst breaches of a run's measured phase. $1 run_id, $2 how many.
select b.t_ns, b.cpu, b.late_ns, b.holders::text
from rigstat.breach b
join rigstat.run r on r.host_id = b.host_id and r.run_id = b.run_id
where r.run_id = $1::bigint and b.phase in (0, 2)
order by b.late_ns desc, b.breach_no
limit $2::bigint
