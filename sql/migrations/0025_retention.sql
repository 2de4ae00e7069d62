-- Retention by kind of data, each with an age of its own in days, 0 = for ever:
--   samples  chunk and hist_chunk, by the day of receipt      minutes  hist_minute, by the age of the run
--   watch    watch runs                                       runs     measured and imported runs with their totals
-- Nothing of a run that a pinned comparison names is dropped; its samples move to the partition `_kept`.

drop function rigstat.retain(int);

-- received_at of a kept row is 'epoch'.
create table rigstat.chunk_kept partition of rigstat.chunk for values from (minvalue) to ('2000-01-01 00:00+00');
create table rigstat.hist_chunk_kept partition of rigstat.hist_chunk
	for values from (minvalue) to ('2000-01-01 00:00+00');

create view rigstat.pinned_run as select distinct unnest(p.run_ids) as run_id from rigstat.pin p;
comment on view rigstat.pinned_run is 'Runs that a pinned comparison names: retention leaves them alone';

create view rigstat.day_partition as
	select p.relname::text as parent, c.relname::text as name, to_date(right(c.relname, 8), 'YYYYMMDD') as day,
		(now() at time zone 'UTC')::date - to_date(right(c.relname, 8), 'YYYYMMDD') as age, c.oid
	from pg_inherits i
	join pg_class c on c.oid = i.inhrelid
	join pg_class p on p.oid = i.inhparent
	join pg_namespace n on n.oid = p.relnamespace and n.nspname = 'rigstat'
	where p.relname in ('record_staging', 'chunk', 'hist_chunk') and c.relname ~ '_[0-9]{8}$';
comment on view rigstat.day_partition is 'The partitions by day of receipt, with their age in days';

-- Rule 1 of the design: what is gone is said beside what is left.
create function rigstat.note_retention(host bigint, run bigint, what text) returns void language sql as $$
	update rigstat.run r
	set notes = r.notes || jsonb_build_object('code', 'retention', 'text', what), revision = r.revision + 1,
		updated_at = now()
	where r.host_id = host and r.run_id = run and not r.notes @> jsonb_build_array(jsonb_build_object('text', what))
$$;
comment on function rigstat.note_retention(bigint, bigint, text) is 'A note at a run about what retention took';

-- One day of samples: the rows of pinned runs move, the others go with the partition.
create function rigstat.drop_samples(parent text, part text) returns void language plpgsql as $$
declare
	columns text;
begin
	select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into columns
	from pg_attribute a
	where a.attrelid = format('rigstat.%I', parent)::regclass and a.attnum > 0 and not a.attisdropped
		and a.attname <> 'received_at';
	execute format('insert into rigstat.%I (%s, received_at) select %s, ''epoch'' from rigstat.%I x where exists '
		'(select from rigstat.pinned_run p where p.run_id = x.run_id)', parent, columns, columns, part);
	execute format('select rigstat.note_retention(x.host_id, x.run_id, ''single intervals were dropped by age; '
		'minutes, totals and values are whole'') from (select distinct host_id, run_id from rigstat.%I) x '
		'where not exists (select from rigstat.pinned_run p where p.run_id = x.run_id)', part);
	execute format('alter table rigstat.%I detach partition rigstat.%I', parent, part);
	execute format('drop table rigstat.%I', part);
end
$$;
comment on function rigstat.drop_samples(text, text) is 'Drops a day of samples but keeps those of pinned runs';

create function rigstat.is_dropped(parent text, name text, age int, samples_days int) returns boolean
language plpgsql as $$
declare
	used boolean;
begin
	if parent <> 'record_staging' then
		return samples_days > 0 and age > samples_days;
	end if;
	if age < 3 then
		return false;
	end if;
	execute format('select exists (select from rigstat.%I)', name) into used;
	return not used;	-- not packed yet: never drop what was acknowledged
end
$$;
comment on function rigstat.is_dropped(text, text, int, int) is 'Whether a day partition is due';

-- Runs that are due, oldest first. kinds: watch, or the others.
create function rigstat.runs_due(watch boolean, days int) returns setof bigint language sql stable as $$
	select r.run_id from rigstat.run r
	where days > 0 and (r.kind = 'watch') = watch and r.state <> 'running'
		and r.created_at < now() - make_interval(days => days)
		and not exists (select from rigstat.pinned_run p where p.run_id = r.run_id)
	order by r.run_id
$$;
comment on function rigstat.runs_due(boolean, int) is 'Watch or other runs older than so many days that no pin names';

create function rigstat.minutes_due(days int) returns table (host_id bigint, run_id bigint) language sql stable as $$
	select r.host_id, r.run_id from rigstat.run r
	where days > 0 and r.state <> 'running' and r.created_at < now() - make_interval(days => days)
		and exists (select from rigstat.hist_minute m where m.host_id = r.host_id and m.run_id = r.run_id)
		and not exists (select from rigstat.pinned_run p where p.run_id = r.run_id)
	order by r.run_id
$$;
comment on function rigstat.minutes_due(int) is 'Runs whose minutes are older than so many days';

-- One piece of work a call, so that locks are short: 0 = nothing was due. A partition that somebody holds for more
-- than two seconds waits for the next round.
create function rigstat.retain(samples_days int, minutes_days int, watch_days int, runs_days int) returns int
language plpgsql as $$
declare
	part record;
	due record;
	ids bigint[];
	n int := 0;
begin
	perform pg_advisory_xact_lock(7309453, 1);
	perform set_config('lock_timeout', '2s', true);
	for part in
		select d.* from rigstat.day_partition d where rigstat.is_dropped(d.parent, d.name, d.age, samples_days)
		order by d.day
	loop
		begin
			if part.parent = 'record_staging' then
				execute format('drop table rigstat.%I', part.name);
			else
				perform rigstat.drop_samples(part.parent, part.name);
			end if;
			return 1;
		exception when lock_not_available then
			raise log 'retention: % is in use; it goes later', part.name;
		end;
	end loop;
	-- kept for a pin that is gone
	if samples_days > 0 then
		delete from rigstat.chunk_kept c where not exists (select from rigstat.pinned_run p where p.run_id = c.run_id);
		delete from rigstat.hist_chunk_kept c
		where not exists (select from rigstat.pinned_run p where p.run_id = c.run_id);
	end if;
	for due in select * from rigstat.minutes_due(minutes_days) limit 100 loop
		delete from rigstat.hist_minute m where m.host_id = due.host_id and m.run_id = due.run_id;
		perform rigstat.note_retention(due.host_id, due.run_id,
			'minutes were dropped by age; totals and values are whole');
		n := n + 1;
	end loop;
	perform set_config('rigstat.retaining', 'on', true);
	ids := array(select * from rigstat.runs_due(true, watch_days) limit 500)
		|| array(select * from rigstat.runs_due(false, runs_days) limit 500);
	if cardinality(ids) > 0 then
		n := n + rigstat.remove_runs(ids);
	end if;
	perform set_config('rigstat.retaining', '', true);
	return n;
end
$$;
comment on function rigstat.retain(int, int, int, int) is
	'One piece of retention by age in days, 0 = for ever: samples, minutes, watch runs, runs; how much was done, 0 = nothing is due';

-- The same without doing it.
create function rigstat.retention_due(samples_days int, minutes_days int, watch_days int, runs_days int)
returns table (what text, name text, rows bigint, bytes bigint) language sql stable as $$
	select case d.parent when 'record_staging' then 'staging' else 'samples' end, d.name,
		greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid)
	from rigstat.day_partition d join pg_class c on c.oid = d.oid
	where rigstat.is_dropped(d.parent, d.name, d.age, samples_days)
	union all
	select 'minutes', 'of ' || count(distinct (m.host_id, m.run_id)) || ' runs', count(*),
		coalesce(sum(pg_column_size(m)), 0)
	from rigstat.minutes_due(minutes_days) x join rigstat.hist_minute m using (host_id, run_id)
	having count(*) > 0
	union all
	select 'watch', count(*) || ' watch runs', count(*), null from rigstat.runs_due(true, watch_days) having count(*) > 0
	union all
	select 'runs', count(*) || ' runs', count(*), null from rigstat.runs_due(false, runs_days) having count(*) > 0
$$;
comment on function rigstat.retention_due(int, int, int, int) is 'What retain() would drop, without doing it';

-- What each kind takes now, what a day adds (mean of the last seven full days), and where that leads: the size when
-- as much goes as comes, or the size in a year when nothing goes.
create function rigstat.storage_forecast(samples_days int, minutes_days int, runs_days int)
returns table (what text, bytes bigint, bytes_per_day float8, keep_days int, forecast_bytes float8) language sql stable as $$
	with days as (
		select d.parent, d.age, pg_total_relation_size(d.oid) as bytes from rigstat.day_partition d
	), sizes as (
		select 'samples' as what, coalesce(sum(d.bytes), 0)::bigint as bytes,
			coalesce(sum(d.bytes) filter (where d.age between 1 and 7), 0) / 7.0 as day, samples_days as keep
		from days d where d.parent <> 'record_staging'
		union all
		select x.what, x.bytes, case when n.total > 0 then x.bytes / n.total::float8 * n.week / 7.0 else 0 end, x.keep
		from (values ('minutes', pg_total_relation_size('rigstat.hist_minute'), minutes_days),
			('runs', pg_total_relation_size('rigstat.run') + pg_total_relation_size('rigstat.run_total')
				+ pg_total_relation_size('rigstat.run_value') + pg_total_relation_size('rigstat.series')
				+ pg_total_relation_size('rigstat.breach'), runs_days)) x (what, bytes, keep),
			(select count(*) as total, count(*) filter (where r.created_at > now() - interval '7 days') as week
			from rigstat.run r) n
	)
	select s.what, s.bytes, s.day::float8, s.keep,
		(case when s.keep > 0 then s.day * s.keep else s.bytes + s.day * 365 end)::float8
	from sizes s
$$;
comment on function rigstat.storage_forecast(int, int, int) is 'Bytes now, bytes a day, and the size that this leads to';
