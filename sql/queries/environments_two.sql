-- Two environments, each by hex digits or by a run. $1 and $3 digits or null, $2 and $4 run ids or null.
select w.side, encode(v.sha256, 'hex'), v.facts::text
from (values ('a', $1::text, $2::bigint), ('b', $3::text, $4::bigint)) w (side, digits, run_id)
join lateral (
	select x.sha256, x.facts from rigstat.environment x
	where encode(x.sha256, 'hex') like w.digits || '%'
		or x.sha256 = (select r.environment_sha256 from rigstat.run r where r.run_id = w.run_id)
	order by x.sha256 limit 1) v on true
order by w.side
