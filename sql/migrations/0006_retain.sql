-- Retention: empty staging partitions go after two days; with keep_days, partitions of single intervals and
-- watch runs that are older go too.

create function rigstat.retain(keep_days int) returns int language plpgsql as $$
declare
	part record;
	oldest date := (now() at time zone 'UTC')::date;
	used boolean;
	dropped int := 0;
begin
	perform pg_advisory_xact_lock(7309453, 1);
	for part in
		select p.relname as parent, c.relname as name, to_date(right(c.relname, 8), 'YYYYMMDD') as day
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		join pg_class p on p.oid = i.inhparent
		join pg_namespace n on n.oid = p.relnamespace and n.nspname = 'rigstat'
		where p.relname in ('record_staging', 'chunk', 'hist_chunk')
	loop
		if part.parent = 'record_staging' then
			continue when part.day > oldest - 3;
			execute format('select exists (select from rigstat.%I)', part.name) into used;
			continue when used;	-- not packed yet: never drop what was acknowledged
		else
			continue when keep_days = 0 or part.day >= oldest - keep_days;
		end if;
		execute format('drop table rigstat.%I', part.name);
		dropped := dropped + 1;
	end loop;
	if keep_days > 0 then
		perform rigstat.remove_runs(array(
			select r.run_id from rigstat.run r
			where r.kind = 'watch' and r.state <> 'running'
				and r.created_at < now() - make_interval(days => keep_days)
				and not exists (select from rigstat.pin p where r.run_id = any (p.run_ids))
			order by r.run_id limit 1000));
	end if;
	return dropped;
end
$$;
comment on function rigstat.retain(int) is 'Drops what is older than keep_days (0: keeps everything but empty staging partitions); returns the partitions dropped';
