-- Imports, newest first. The marked parts are replaced; $1 an import id or null for all.
select i.import_id, i.format, i.source, encode(i.sha256, 'hex'), octet_length(i.bytes), i.created_at,
	i.options ->> 'experiment',
	(select coalesce(jsonb_agg(jsonb_build_object('id', 'r_' || r.run_id, 'already', false,
			'host', nullif(h.name, 'unknown'), 'factors', r.factors, 'tags', r.tags, 'notes', r.notes,
			'metrics', (select coalesce(jsonb_agg(jsonb_build_object('metric', m.name, 'kind', s.kind,
					'unit', s.unit, 'labels', s.labels, 'count', t.count, 'n', s.summary_n)
					order by s.series_no), '[]')
				from rigstat.series s join rigstat.metric m using (metric_id)
				left join rigstat.run_total t using (host_id, run_id, series_no)
				where s.host_id = r.host_id and s.run_id = r.run_id))
			order by r.import_index), '[]')
		from rigstat.run r join rigstat.host h using (host_id)
		where r.import_id = i.import_id and r.deleted_at is null)::text,
	''::text /*key*/
from rigstat.import i
where ($1::bigint is null or i.import_id = $1) and true /*after*/
order by 1 /*order*/ limit 1
