-- Sizes and counts for the status page.
select current_setting('server_version'), pg_database_size(current_database()),
	(select max(version) from rigstat.schema_version)::bigint,
	(select count(*) from rigstat.host where retired_at is null and name <> 'unknown'),
	(select count(*) from rigstat.experiment), (select count(*) from rigstat.run where deleted_at is null),
	(select count(*) from rigstat.import), (select count(*) from rigstat.pin),
	(select count(*) from rigstat.run where deleted_at is null and demo),
	(select count(*) from rigstat.record_staging),
	(select coalesce(sum(octet_length(records)), 0)::bigint from rigstat.record_staging),
	(select min(received_at) from rigstat.record_staging)
