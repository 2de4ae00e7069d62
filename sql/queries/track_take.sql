-- Runs of the queue into their trends. $1 how many at most. Columns: taken.
select rigstat.track_take($1::bigint::int)
