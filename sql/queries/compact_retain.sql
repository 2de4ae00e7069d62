-- $1 days to keep samples, $2 minutes, $3 watch runs, $4 runs; 0 = for ever. Columns: done, 0 = nothing is due.
select rigstat.retain($1::bigint::int, $2::bigint::int, $3::bigint::int, $4::bigint::int)
