-- How versions follow one another, by key. $1 key or null.
select jsonb_build_object('key', o.key, 'kind', o.kind, 'versions', cardinality(o.versions),
	'first', o.versions[1], 'last', o.versions[cardinality(o.versions)], 'updated', rigstat.iso_time(o.updated_at),
	'series', (select count(*) from rigstat.trend t where t.order_by = o.key))::text
from rigstat.version_order o
where $1::text is null or o.key = $1
order by o.priority, o.key
