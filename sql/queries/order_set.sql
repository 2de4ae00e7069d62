-- $1 key, $2 kind, $3 versions, oldest first. Columns: trends that use it.
select rigstat.order_set($1::text, $2::text, $3::text[])
