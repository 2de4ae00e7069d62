-- Tells live pages, at COMMIT. $1 JSON.
select pg_notify('rigstat', $1::text)::text
