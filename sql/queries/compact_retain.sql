-- $1 days to keep, 0 = for ever. Columns: dropped.
select rigstat.retain($1::bigint::int)
