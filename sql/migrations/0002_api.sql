-- What the REST API needs beside the tables of 0001.

-- Text order of the result (collate "C") is version order: 6.9 < 6.12. common/model/selector.h has the same.
create function rigstat.version_key(t text) returns text
language sql immutable strict parallel safe as $$
	select coalesce(string_agg(case when m[1] ~ '^[0-9]' then lpad(ltrim(m[1], '0'), 24, '0') else m[1] end,
		'' order by o), '')
	from regexp_matches(t, '[0-9]+|[^0-9]+', 'g') with ordinality x (m, o)
$$;
comment on function rigstat.version_key(text) is 'A key whose byte order is version order';

-- The pages of GET /runs, newest first.
create index run_list on rigstat.run ((coalesce(started_ns, 0)) desc, run_id desc) where deleted_at is null;

create table rigstat.idempotency (
	key		text primary key check (length(key) between 1 and 100),
	body_sha256	bytea not null check (length(body_sha256) = 32),
	run_ids		bigint[] not null,
	created_at	timestamptz not null default now()
);
comment on table rigstat.idempotency is 'Idempotency-Key of POST /runs with the runs that it made; kept for a day';

create index pin_sha256 on rigstat.pin ((params ->> 'sha256'));

create function rigstat.host_for(wanted text, is_demo boolean) returns bigint
language sql as $$
	insert into rigstat.host as h (name, demo) values (wanted, is_demo)
	on conflict (name) do update set demo = h.demo and excluded.demo
	returning host_id
$$;
comment on function rigstat.host_for(text, boolean) is 'The host of this name, made when it is new';

-- The newest experiment of the name; demo and real ones are kept apart.
create function rigstat.experiment_for(wanted text, is_demo boolean) returns bigint
language plpgsql as $$
declare
	id bigint;
begin
	select e.experiment_id into id from rigstat.experiment e
	where e.name = wanted and e.demo = is_demo
	order by e.experiment_id desc limit 1;
	if id is null then
		insert into rigstat.experiment (name, demo) values (wanted, is_demo)
		returning experiment_id into id;
	end if;
	return id;
end
$$;
comment on function rigstat.experiment_for(text, boolean) is 'The newest experiment of this name, made when there is none';

-- A metric as the catalogue describes it; what a person edited stays.
create function rigstat.metric_for(p jsonb) returns int
language sql as $$
	insert into rigstat.metric as m (name, unit, title, better, description)
	values (p ->> 'metric', p ->> 'unit', p ->> 'title', p ->> 'better', p ->> 'description')
	on conflict (name) do update set unit = case when m.unit = '' then excluded.unit else m.unit end
	returning metric_id
$$;
comment on function rigstat.metric_for(jsonb) is 'The metric of this name, made when it is new';

create function rigstat.store_values(host bigint, run bigint, metric int, series int, vs jsonb) returns void
language sql as $$
	insert into rigstat.run_value (host_id, run_id, metric_id, series_no, stat, value, lo, hi, answer, n)
	select host, run, metric, series, v.stat, v.value, v.lo, v.hi, coalesce(v.answer, 'value'), v.n
	from jsonb_to_recordset(vs) v (stat text, value float8, lo float8, hi float8, answer text, n bigint)
$$;
comment on function rigstat.store_values(bigint, bigint, int, int, jsonb) is 'run_value rows from JSON';

create function rigstat.store_series(host bigint, run bigint, p jsonb) returns void
language plpgsql as $$
declare
	metric int := rigstat.metric_for(p);
	series int := (p ->> 'no')::int;
	t jsonb := p -> 'total';
begin
	insert into rigstat.series (host_id, run_id, series_no, metric_id, kind, labels, unit, method, omission, state,
		reason, interval_ns, resolution_ns, missed, summary_n, summary_min, summary_avg, summary_max, summary_sdev)
	values (host, run, series, metric, p ->> 'kind', p -> 'labels', p ->> 'unit', p ->> 'method', p ->> 'omission',
		p ->> 'state', p ->> 'reason', (p ->> 'interval_ns')::bigint, (p ->> 'resolution_ns')::bigint,
		(p ->> 'missed')::bigint, (p ->> 'summary_n')::bigint, (p ->> 'summary_min')::float8,
		(p ->> 'summary_avg')::float8, (p ->> 'summary_max')::float8, (p ->> 'summary_sdev')::float8);
	if t is not null then
		insert into rigstat.run_total (host_id, run_id, series_no, bucketed, overflow, negative, count, lost, d)
		values (host, run, series, (t ->> 'bucketed')::bigint, (t ->> 'overflow')::bigint,
			(t ->> 'negative')::bigint, (t ->> 'count')::bigint, (t ->> 'lost')::bigint,
			decode(t ->> 'd', 'hex'));
	end if;
	if p ? 'values' then
		perform rigstat.store_values(host, run, metric, series, p -> 'values');
	end if;
end
$$;
comment on function rigstat.store_series(bigint, bigint, jsonb) is 'One series of a run with its total and values, from JSON';

-- A whole run from JSON (server/run_store.c writes it). A run that is there already (its uid) is left alone.
create function rigstat.store_run(p jsonb, out run_id bigint, out already boolean)
language plpgsql as $$
declare
	is_demo boolean := (p ->> 'demo')::boolean;
	host bigint := rigstat.host_for(p ->> 'host', is_demo);
	experiment bigint;
	env jsonb := p -> 'environment';
	env_sha256 bytea;
	s jsonb;
begin
	if p ->> 'experiment' is not null then
		experiment := rigstat.experiment_for(p ->> 'experiment', is_demo);
	end if;
	if env is not null then
		env_sha256 := decode(env ->> 'sha256', 'hex');
		insert into rigstat.environment (sha256, facts) values (env_sha256, env -> 'facts')
		on conflict do nothing;
	end if;
	insert into rigstat.run as r (host_id, run_uid, kind, state, experiment_id, factors, tags, order_no, block_no,
		boot_id, environment_sha256, source, import_id, import_index, labels_sha256, started_ns, ended_ns,
		measured_ns, extra, notes, samples, lost, missed, excluded, demo)
	values (host, (p ->> 'uid')::uuid, p ->> 'kind', p ->> 'state', experiment, p -> 'factors', p -> 'tags',
		(p ->> 'order')::int, (p ->> 'block')::int, p ->> 'boot_id', env_sha256, p ->> 'source',
		(p ->> 'import_id')::bigint, (p ->> 'import_index')::int, decode(p ->> 'labels_sha256', 'hex'),
		(p ->> 'started_ns')::bigint, (p ->> 'ended_ns')::bigint, (p ->> 'measured_ns')::bigint,
		p -> 'extra', p -> 'notes', (p ->> 'samples')::bigint, (p ->> 'lost')::bigint,
		(p ->> 'missed')::bigint, p ->> 'excluded', is_demo)
	on conflict (host_id, run_uid) do nothing
	returning r.run_id into run_id;
	already := run_id is null;
	if already then
		select r.run_id into run_id from rigstat.run r
		where r.host_id = host and r.run_uid = (p ->> 'uid')::uuid;
		return;
	end if;
	for s in select jsonb_array_elements(p -> 'series') loop
		perform rigstat.store_series(host, run_id, s);
	end loop;
	for s in select jsonb_array_elements(p -> 'merged') loop
		perform rigstat.store_values(host, run_id, rigstat.metric_for(s), 0, s -> 'values');
	end loop;
end
$$;
comment on function rigstat.store_run(jsonb) is 'Stores one run from JSON; already: it was there';

-- Removes runs and whatever exists only for them. Pins keep their result.
create function rigstat.remove_runs(ids bigint[]) returns bigint
language plpgsql as $$
declare
	n bigint;
begin
	delete from rigstat.chunk c using rigstat.run r
	where r.run_id = any (ids) and c.host_id = r.host_id and c.run_id = r.run_id;
	delete from rigstat.hist_chunk c using rigstat.run r
	where r.run_id = any (ids) and c.host_id = r.host_id and c.run_id = r.run_id;
	delete from rigstat.run r where r.run_id = any (ids);
	get diagnostics n = row_count;
	delete from rigstat.experiment e
	where e.uid is null and not exists (select from rigstat.run r where r.experiment_id = e.experiment_id);
	delete from rigstat.host h
	where not exists (select from rigstat.run r where r.host_id = h.host_id)
		and not exists (select from rigstat.agent a where a.host_id = h.host_id)
		and not exists (select from rigstat.ingest_stream s where s.host_id = h.host_id)
		and not exists (select from rigstat.token t where t.host_id = h.host_id)
		and not exists (select from rigstat.annotation a where a.host_id = h.host_id)
		and h.tags = '{}' and h.note = '';
	return n;
end
$$;
comment on function rigstat.remove_runs(bigint[]) is 'Removes runs, then experiments and hosts that only they had';
