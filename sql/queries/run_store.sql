-- $1 the run (server/run_store.h).
select run_id, already from rigstat.store_run($1::jsonb)
