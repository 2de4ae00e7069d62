-- Lists that stay fast with many runs.

create index run_host_started on rigstat.run (host_id, (coalesce(started_ns, 0)) desc, run_id desc)
	where deleted_at is null;
create index run_host_data on rigstat.run (host_id, last_data_ns) where last_data_ns is not null;
