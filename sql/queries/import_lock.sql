-- One import at a time, so that the same bytes cannot be stored twice.
select 1 from pg_advisory_xact_lock(7309453, 2)
