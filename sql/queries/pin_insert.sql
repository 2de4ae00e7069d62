-- Pins a comparison, or finds the pin that is the same. $1 slug, $2 title, $3 note, $4 params (with sha256),
-- $5 document, $6 method, $7 run ids, $8 demo.
with old as (
	select p.slug, p.title, p.note, p.params, p.method, p.created_at, p.pin_id, false as made
	from rigstat.pin p
	where p.params ->> 'sha256' = $4::jsonb ->> 'sha256'
	order by p.pin_id limit 1
), made as (
	insert into rigstat.pin (slug, title, note, params, document, method, run_ids, demo)
	select $1::text, $2::text, $3::text, $4::jsonb, $5::text, $6::bigint, $7::bigint[], $8::boolean
	where not exists (select from old)
	returning slug, title, note, params, method, created_at, pin_id, true as made
)
select x.slug, x.title, x.note, (x.params - 'text' - 'csv' - 'markdown')::text, x.method, x.created_at, x.pin_id, x.made
from (select * from old union all select * from made) x
