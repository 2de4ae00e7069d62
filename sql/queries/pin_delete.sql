-- $1 slug.
delete from rigstat.pin p where p.slug = $1::text returning p.pin_id
