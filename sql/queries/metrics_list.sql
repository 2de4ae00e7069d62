-- Metrics that were ever stored. $1 name or null for all.
select m.name, m.unit, m.title, m.better, m.margin_rel, m.primary_stat, m.description, m.edited,
	(select count(distinct (s.host_id, s.run_id)) from rigstat.series s
		join rigstat.run r on r.host_id = s.host_id and r.run_id = s.run_id
		where s.metric_id = m.metric_id and r.deleted_at is null)
from rigstat.metric m
where $1::text is null or m.name = $1
order by m.name
