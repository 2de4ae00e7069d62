-- Regression tracking: statistics of runs over time or versions, what changed, and what people said about it.
-- docs/TRACKING.md explains; server/track.c does the arithmetic.

drop table rigstat.change;	-- was never written

create table rigstat.version_order (
	key		text primary key check (length(key) between 1 and 128),
	kind		text not null check (kind in ('time', 'semver', 'list')),
	priority	int not null default 50,
	versions	text[] not null default '{}',	-- of a list, oldest first
	updated_at	timestamptz not null default now()
);
comment on table rigstat.version_order is 'Factors or tags that name the version of a run, and how versions follow one another: by the time of the run, by number, or as a list says';
insert into rigstat.version_order (key, kind, priority) values ('commit', 'time', 10), ('version', 'semver', 20),
	('kernel', 'semver', 30);

create table rigstat.trend (
	host_id		bigint not null references rigstat.host on delete cascade,
	trend_id	bigint generated always as identity,
	metric_id	int not null references rigstat.metric,
	stat		text not null,
	unit		text not null,
	context		jsonb not null,		-- experiment, branch, factors, method, workload: what holds still
	labels		jsonb not null,		-- of the metric's series; {}: all of them merged
	environment	jsonb not null,		-- the facts that forbid a comparison when they differ
	order_by	text,			-- key of version_order; null: the time of the runs
	key_md5		text not null,
	revision	bigint not null default 1,	-- raised whenever a point changes
	computed	bigint not null default 0,	-- the revision that was analysed last
	claimed_until	timestamptz,
	n_points	bigint not null default 0,	-- with a value and a place
	reading		text check (reading in ('none', 'steps', 'drift', 'history_too_short')),
	result		jsonb not null default '{}',	-- of the analysis
	computed_at	timestamptz,
	primary key (host_id, trend_id),
	unique (trend_id),
	unique (host_id, metric_id, stat, key_md5)
);
comment on table rigstat.trend is 'One statistic of one metric on one host in one class of environments over its runs; never mixed over hosts';
create index trend_stale on rigstat.trend (trend_id) where revision > computed;

create table rigstat.trend_point (
	host_id		bigint not null,
	trend_id	bigint not null,
	run_id		bigint not null,
	version		text,
	pos		text collate "C",	-- place by version, '' by time, null: not in the declared list
	at_ns		bigint not null,
	value		float8,			-- null: not resolvable, see answer
	lo		float8,
	hi		float8,
	n		bigint,
	answer		text not null,
	outlier		boolean not null default false,
	sort_key	text collate "C" generated always as
			(pos || e'\x01' || lpad(at_ns::text, 20, '0') || e'\x01' || lpad(run_id::text, 20, '0')) stored,
	primary key (host_id, trend_id, run_id),
	foreign key (host_id, trend_id) references rigstat.trend on delete cascade
);
comment on table rigstat.trend_point is 'One run in a trend. It outlives the run when retention takes that';
create index trend_point_order on rigstat.trend_point (host_id, trend_id, sort_key);
create index trend_point_run on rigstat.trend_point (host_id, run_id);

create table rigstat.track_queue (
	host_id		bigint not null,
	run_id		bigint not null,
	queued_at	timestamptz not null default now(),
	primary key (host_id, run_id)
);
comment on table rigstat.track_queue is 'Runs that ended, changed or went, whose points must follow';

-- ---- changes ----

create table rigstat.change (
	host_id		bigint not null references rigstat.host on delete cascade,
	change_id	bigint generated always as identity,
	context		jsonb not null,		-- experiment and branch
	order_by	text,
	origin		text not null check (origin in ('found', 'hand')),
	direction	text not null check (direction in ('worse', 'better', 'none')),	-- of its worst series
	state		text not null default 'new' check (state in
			('new', 'confirmed', 'accepted', 'ignored', 'fixed', 'reopened', 'withdrawn')),
	reason		text not null default '',	-- why ignored
	note		text not null default '',
	owner		text not null default '',
	issue		text not null default '',
	lo_key		text collate "C" not null,	-- the range in which it happened, over its series
	hi_key		text collate "C" not null,
	evidence	jsonb,			-- of fixed: where and to what level
	revision	int not null default 1,
	created_at	timestamptz not null default now(),
	updated_at	timestamptz not null default now(),
	primary key (host_id, change_id),
	unique (change_id)
);
comment on table rigstat.change is 'A level shift of one host, grouped over metrics and statistics, with what people decided';
create index change_range on rigstat.change (host_id, lo_key);
create index change_state on rigstat.change (state, change_id);

create table rigstat.change_member (
	host_id		bigint not null,
	change_id	bigint not null,
	trend_id	bigint not null,
	before_run_id	bigint,			-- last run of the old level
	at_run_id	bigint not null,	-- first run of the new level
	lo_run_id	bigint not null,	-- plausible first runs
	hi_run_id	bigint not null,
	before		float8 not null,
	after		float8 not null,
	rel		float8,			-- null: before is 0
	p		float8,
	direction	text not null check (direction in ('worse', 'better', 'none')),
	seen		boolean not null default true,	-- the last analysis found it
	fixed_run_id	bigint,			-- first run back at the old level
	primary key (host_id, change_id, trend_id),
	foreign key (host_id, change_id) references rigstat.change on delete cascade,
	foreign key (host_id, trend_id) references rigstat.trend on delete cascade
);
comment on table rigstat.change_member is 'A change in one trend: where, from and to which level';
create index change_member_trend on rigstat.change_member (host_id, trend_id);

create table rigstat.change_span (
	host_id		bigint not null,
	change_id	bigint not null,
	trend_id	bigint not null,
	kind		text not null check (kind in ('start', 'end')),
	lo_key		text collate "C" not null,
	hi_key		text collate "C" not null,
	foreign key (host_id, change_id, trend_id) references rigstat.change_member on delete cascade
);
comment on table rigstat.change_span is 'Where a change began or ended in a trend: a step that is found there is known already';
create index change_span_trend on rigstat.change_span (host_id, trend_id);

create table rigstat.change_event (
	change_id	bigint not null references rigstat.change (change_id) on delete cascade,
	at		timestamptz not null default clock_timestamp(),
	who		text not null,		-- token name, or rigstat
	from_state	text,
	to_state	text not null,
	text		text not null default ''
);
comment on table rigstat.change_event is 'The history of a change: every state, who set it and why';
create index change_event_change on rigstat.change_event (change_id, at);

create table rigstat.notification (
	notification_id	bigint generated always as identity primary key,
	change_id	bigint references rigstat.change (change_id) on delete cascade,	-- null: a test
	event		text not null check (event in ('new', 'reopened', 'test')),
	created_at	timestamptz not null default now()
);
comment on table rigstat.notification is 'What is to be told: one row a change that appeared or returned';

-- ---- points ----

create function rigstat.is_blocking_fact(key text) returns boolean language sql immutable parallel safe as $$
	select key in ('cpu.model', 'cpu.count', 'cpu.online', 'kernel.preempt', 'kernel.realtime', 'clock.source',
		'measure.period_ns') or key like 'measurement.%'
$$;
comment on function rigstat.is_blocking_fact(text) is 'Facts whose difference forbids a comparison: common/compare/environment.c has the same';

create function rigstat.version_pos(o rigstat.version_order, version text) returns text
language sql immutable as $$
	select case o.kind when 'time' then '' when 'semver' then rigstat.version_key(version)
		else lpad(coalesce(array_position(o.versions, version), (select min(v.i) from unnest(o.versions)
			with ordinality v (name, i) where length(version) >= 7 and length(v.name) >= 7
				and (starts_with(v.name, version) or starts_with(version, v.name))))::text, 8, '0') end
$$;
comment on function rigstat.version_pos(rigstat.version_order, text) is 'Where a version stands, as text in byte order; null when a list does not have it. Short commit ids match long ones';

create function rigstat.trend_count(host bigint, trend bigint) returns void language plpgsql as $$
begin
	update rigstat.trend t
	set revision = t.revision + 1, n_points = (select count(*) from rigstat.trend_point p
		where p.host_id = host and p.trend_id = trend and p.value is not null and p.pos is not null)
	where t.host_id = host and t.trend_id = trend;
	delete from rigstat.trend t
	where t.host_id = host and t.trend_id = trend
		and not exists (select from rigstat.trend_point p where p.host_id = host and p.trend_id = trend);
end
$$;
comment on function rigstat.trend_count(bigint, bigint) is 'After points changed other than by a new one: counts again; an empty trend goes';

create function rigstat.untrack_run(host bigint, run bigint) returns void language plpgsql as $$
declare
	trend bigint;
begin
	for trend in delete from rigstat.trend_point p where p.host_id = host and p.run_id = run returning p.trend_id loop
		perform rigstat.trend_count(host, trend);
	end loop;
end
$$;
comment on function rigstat.untrack_run(bigint, bigint) is 'Takes a run out of all trends';

-- What changed on the box since its run before: one annotation a fact.
create function rigstat.annotate_box(host bigint, run bigint, started bigint, facts jsonb, agent text)
returns void language plpgsql as $$
declare
	old record;
begin
	select v.facts, r.agent_version as agent into old from rigstat.run r
	left join rigstat.environment v on v.sha256 = r.environment_sha256
	where r.host_id = host and r.run_id <> run and r.started_ns < started and r.kind <> 'watch'
		and r.environment_sha256 is not null and r.deleted_at is null
	order by r.started_ns desc limit 1;
	if not found then
		return;
	end if;
	insert into rigstat.annotation (host_id, from_ns, text, tags, created_by)
	select host, started, format('%s: %s -> %s', w.name, coalesce(w.before, 'not set'), w.after),
		array['auto', w.name], 'rigstat'
	from (select f.name, old.facts ->> f.key as before, facts ->> f.key as after
		from (values ('kernel', 'kernel.release'), ('microcode', 'cpu.microcode'), ('firmware', 'dmi.bios_version'),
			('firmware', 'dmi.firmware')) f (name, key)
		union all select 'agent', old.agent, agent) w
	where w.after is not null and w.after is distinct from w.before
		and not exists (select from rigstat.annotation a where a.host_id = host and a.from_ns = started
			and a.tags @> array['auto', w.name]);
end
$$;
comment on function rigstat.annotate_box(bigint, bigint, bigint, jsonb, text) is 'Annotations for a new kernel, microcode, firmware or agent on a host';

-- The values of one run that are followed: of all series of a metric merged, else of each series.
create function rigstat.run_tracked(host bigint, run bigint) returns table (metric_id int, stat text, labels jsonb,
	unit text, method text, value float8, lo float8, hi float8, n bigint, answer text) language sql stable as $$
	with v as (
		select w.*, m.primary_stat,
			bool_or(w.series_no = 0) over (partition by w.metric_id) as merged
		from rigstat.run_value w join rigstat.metric m using (metric_id)
		where w.host_id = host and w.run_id = run
	)
	select v.metric_id, v.stat, case when v.series_no = 0 then '{}' else s.labels end,
		case when v.stat like 'ppm_over_%' then 'ppm' when v.stat = 'rate' then f.unit || '/s' else f.unit end, f.method,
		v.value, coalesce(v.lo, v.vmin), coalesce(v.hi, v.vmax), v.n, v.answer
	from v
	cross join lateral (select x.unit, x.method from rigstat.series x where x.host_id = host and x.run_id = run
		and x.metric_id = v.metric_id order by x.series_no limit 1) f
	left join rigstat.series s on s.host_id = host and s.run_id = run and s.series_no = v.series_no
	where (v.series_no = 0 or not v.merged and s.series_no is not null)
		and (v.stat in ('p50', 'p99', 'p99.9', 'value', 'rate') or v.stat = v.primary_stat
			or v.stat like 'ppm_over_%' and f.unit = 'ns')
$$;
comment on function rigstat.run_tracked(bigint, bigint) is 'The statistics of a run that trends follow';

-- Exceedance is followed at one threshold, fixed when the trend begins: the one with the most samples above among
-- those that at most 1 % of the samples exceed.
create function rigstat.threshold_of(host bigint, metric int, key text, run bigint) returns text language sql stable as $$
	select coalesce(
		(select t.stat from rigstat.trend t where t.host_id = host and t.metric_id = metric and t.key_md5 = key
			and t.stat like 'ppm_over_%' order by t.trend_id limit 1),
		(select v.stat from rigstat.run_value v where v.host_id = host and v.run_id = run and v.metric_id = metric
			and v.series_no = 0 and v.stat like 'ppm_over_%' and v.value > 0 and v.value <= 10000
		order by v.value desc limit 1))
$$;
comment on function rigstat.threshold_of(bigint, int, text, bigint) is 'The threshold at which exceedance is followed, as its statistic';

create function rigstat.track_run(host bigint, run bigint) returns void language plpgsql as $$
declare
	r record;
	o rigstat.version_order;
	v record;
	held jsonb;
	facts jsonb;
	key text;
	trend bigint;
	known boolean;
	counts int;
begin
	select q.*, e.name as experiment, coalesce(x.facts, '{}') as facts into r
	from rigstat.run q
	left join rigstat.experiment e on e.experiment_id = q.experiment_id
	left join rigstat.environment x on x.sha256 = q.environment_sha256
	where q.host_id = host and q.run_id = run and q.kind <> 'watch' and q.state = 'ok' and q.excluded is null
		and q.deleted_at is null;
	if not found then
		perform rigstat.untrack_run(host, run);
		return;
	end if;
	if r.started_ns is not null then
		perform rigstat.annotate_box(host, run, r.started_ns, r.facts, r.agent_version);
	end if;
	select y.* into o from rigstat.version_order y where r.factors ? y.key or r.tags ? y.key
	order by y.priority, y.key limit 1;
	held := jsonb_strip_nulls(jsonb_build_object('experiment', r.experiment, 'branch', r.tags -> 'branch', 'workload',
		r.workload -> 'name', 'factors', nullif(r.factors - coalesce(o.key, ''), '{}')));
	select coalesce(jsonb_object_agg(f.key, f.value), '{}') into facts from jsonb_each(r.facts) f
	where rigstat.is_blocking_fact(f.key) and not (o.key is not null and starts_with(f.key, o.key || '.'));
	for v in select * from rigstat.run_tracked(host, run) loop
		key := md5(concat_ws(e'\x01', held::text, v.labels::text, facts::text, coalesce(o.key, ''), v.method));
		continue when v.stat like 'ppm_over_%'
			and v.stat is distinct from rigstat.threshold_of(host, v.metric_id, key, run);
		select t.trend_id into trend from rigstat.trend t
		where t.host_id = host and t.metric_id = v.metric_id and t.stat = v.stat and t.key_md5 = key;
		if trend is null then
			insert into rigstat.trend (host_id, metric_id, stat, unit, context, labels, environment, order_by, key_md5)
			values (host, v.metric_id, v.stat, v.unit, held || jsonb_strip_nulls(jsonb_build_object('method', v.method)),
				v.labels, facts, o.key, key)
			returning trend_id into trend;
		end if;
		select true into known from rigstat.trend_point p
		where p.host_id = host and p.trend_id = trend and p.run_id = run;
		insert into rigstat.trend_point (host_id, trend_id, run_id, version, pos, at_ns, value, lo, hi, n, answer)
		values (host, trend, run, coalesce(r.factors ->> o.key, r.tags ->> o.key, r.facts ->> 'kernel.release'),
			case when o.key is null then '' else rigstat.version_pos(o, coalesce(r.factors ->> o.key, r.tags ->> o.key)) end,
			coalesce(r.started_ns, (extract(epoch from r.created_at) * 1e9)::bigint), v.value, v.lo, v.hi, v.n, v.answer)
		on conflict (host_id, trend_id, run_id) do update set version = excluded.version, pos = excluded.pos,
			at_ns = excluded.at_ns, value = excluded.value, lo = excluded.lo, hi = excluded.hi, n = excluded.n,
			answer = excluded.answer;
		if known then
			perform rigstat.trend_count(host, trend);
		else
			update rigstat.trend t set revision = t.revision + 1, n_points = t.n_points
				+ (select count(*) from rigstat.trend_point p where p.host_id = host and p.trend_id = trend
					and p.run_id = run and p.value is not null and p.pos is not null)
			where t.host_id = host and t.trend_id = trend;
		end if;
	end loop;
	-- labels changed: the run belongs elsewhere now
	for trend in
		delete from rigstat.trend_point p using rigstat.trend t
		where p.host_id = host and p.run_id = run and t.host_id = host and t.trend_id = p.trend_id
			and not exists (select from rigstat.run_tracked(host, run) w where w.metric_id = t.metric_id
				and w.stat = t.stat and t.key_md5 = md5(concat_ws(e'\x01', held::text, w.labels::text, facts::text,
					coalesce(o.key, ''), w.method)))
		returning p.trend_id
	loop
		perform rigstat.trend_count(host, trend);
	end loop;
end
$$;
comment on function rigstat.track_run(bigint, bigint) is 'Brings the points of a run up to date in all its trends';

-- One server at a time. How many runs were taken.
create function rigstat.track_take(most int) returns int language plpgsql as $$
declare
	q record;
	n int := 0;
begin
	if not pg_try_advisory_xact_lock(7309453, 3) then
		return 0;
	end if;
	for q in
		delete from rigstat.track_queue d using
			(select host_id, run_id from rigstat.track_queue order by queued_at, run_id limit most for update) x
		where d.host_id = x.host_id and d.run_id = x.run_id
		returning d.host_id, d.run_id
	loop
		perform rigstat.track_run(q.host_id, q.run_id);
		n := n + 1;
	end loop;
	return n;
end
$$;
comment on function rigstat.track_take(int) is 'Takes runs from the queue into the trends';

create function rigstat.queue_run() returns trigger language plpgsql as $$
begin
	if tg_op = 'DELETE' then
		if current_setting('rigstat.retaining', true) = 'on' then
			return null;	-- the values stay in the trends
		end if;
		insert into rigstat.track_queue (host_id, run_id)
		select old.host_id, old.run_id where exists (select from rigstat.trend_point p
			where p.host_id = old.host_id and p.run_id = old.run_id)
		on conflict do nothing;
	else
		insert into rigstat.track_queue (host_id, run_id) values (new.host_id, new.run_id) on conflict do nothing;
	end if;
	return null;
end
$$;
comment on function rigstat.queue_run() is 'Queues a run whose points must follow';

create trigger track_ended after insert or update of state, excluded, deleted_at, tags, factors, experiment_id,
	environment_sha256 on rigstat.run
	for each row when (new.state <> 'running' and new.kind <> 'watch') execute function rigstat.queue_run();
create trigger track_gone after delete on rigstat.run
	for each row when (old.kind <> 'watch') execute function rigstat.queue_run();

-- As in 0002, but retention leaves hosts alone: their trends stay.
create or replace function rigstat.remove_runs(ids bigint[]) returns bigint
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
	if current_setting('rigstat.retaining', true) = 'on' then
		return n;
	end if;
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

insert into rigstat.track_queue (host_id, run_id)
select r.host_id, r.run_id from rigstat.run r where r.state <> 'running' and r.kind <> 'watch';
