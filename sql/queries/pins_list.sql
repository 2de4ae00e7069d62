-- Pins, newest first. The marked parts are replaced.
select p.slug, p.title, p.note, (p.params - 'text' - 'csv' - 'markdown')::text, p.method, p.created_at, p.pin_id,
	''::text /*key*/
from rigstat.pin p
where true /*after*/
order by 1 /*order*/ limit 1
