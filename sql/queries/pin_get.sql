-- $1 slug, $2 the rendering wanted (text, csv, markdown) or null.
select p.slug, p.title, p.note, (p.params - 'text' - 'csv' - 'markdown')::text, p.method, p.created_at, p.pin_id,
	p.document, p.params ->> $2::text
from rigstat.pin p where p.slug = $1::text
