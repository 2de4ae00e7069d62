-- Runs as list items: first the page's keys, then everything about them. The marked parts are replaced
-- (server/sql_text.h); $1 is the metric of the summary or null.
with keys as materialized (
	select k.*, row_number() over () as place from (
		select r.host_id, r.run_id, ''::text /*key*/ as key
		from rigstat.run r
		join rigstat.host h on h.host_id = r.host_id
		left join rigstat.experiment e on e.experiment_id = r.experiment_id
		where r.deleted_at is null and true /*where*/ and true /*after*/
		order by 1 /*order*/ limit 1) k
)
select r.run_id, r.run_uid, h.name, e.name, e.experiment_id, r.kind, r.state, r.started_ns, r.ended_ns,
	r.measured_ns, r.factors::text, r.tags::text, r.order_no, r.block_no,
	coalesce(r.factors ->> 'kernel', v.facts ->> 'kernel.release'), r.excluded, r.demo,
	jsonb_array_length(r.notes), r.lost, r.missed, r.gap_samples, r.revision,
	(select coalesce(jsonb_agg(m.name order by m.first), '[]') from (
		select mm.name, min(s.series_no) as first from rigstat.series s join rigstat.metric mm using (metric_id)
		where s.host_id = r.host_id and s.run_id = r.run_id group by mm.name) m)::text,
	p.metric, p.unit, p.summary_n, p.summary_avg, x.p50, x.p99, x.max, x.mean, x.value, x.count,
	k.key
from keys k
join rigstat.run r on r.host_id = k.host_id and r.run_id = k.run_id
join rigstat.host h on h.host_id = r.host_id
left join rigstat.experiment e on e.experiment_id = r.experiment_id
left join rigstat.environment v on v.sha256 = r.environment_sha256
left join lateral (
	select s.metric_id, mm.name as metric, s.unit, s.summary_n, s.summary_avg
	from rigstat.series s join rigstat.metric mm using (metric_id)
	where s.host_id = r.host_id and s.run_id = r.run_id and ($1::text is null or mm.name = $1)
	order by s.kind <> 'hist', s.series_no
	limit 1) p on true
left join lateral (
	select max(w.value) filter (where w.stat = 'p50') as p50, max(w.value) filter (where w.stat = 'p99') as p99,
		max(w.value) filter (where w.stat = 'max') as max, max(w.value) filter (where w.stat = 'mean') as mean,
		max(w.value) filter (where w.stat in ('value', 'rate')) as value,
		max(w.n) filter (where w.stat in ('count', 'mean', 'p50', 'rate')) as count
	from rigstat.run_value w
	where w.host_id = r.host_id and w.run_id = r.run_id and w.metric_id = p.metric_id and w.series_no = 0
	) x on true
order by k.place
