-- Metrics that were ever stored. $1 name or null for all.
select m.name, m.unit, m.title, m.better, m.margin_rel, m.primary_stat, m.description, m.edited,
	(select count(*) from (
		select distinct s.host_id, s.run_id from rigstat.series s where s.metric_id = m.metric_id
		order by s.host_id, s.run_id limit 10000) x)
from rigstat.metric m
where $1::text is null or m.name = $1
order by m.name
