-- The schema of rigstat. Rules: sql/README.md.
--
-- Measurement times are bigint ns since 1970 (suffix _ns), as everywhere in rigstat; the server's own
-- bookkeeping is timestamptz. Tables of measurements have keys that start with host_id, so that a lab can be
-- split by host later. Histograms and deltas are the bytes of common/hist and docs/PROTOCOL.md.

create schema rigstat;
comment on schema rigstat is 'rigstat: latency and efficiency experiments of a lab of test boxes';

create table rigstat.schema_version (
	version		int primary key,
	name		text not null,
	applied_at	timestamptz not null default now()
);
comment on table rigstat.schema_version is 'Migrations that were applied, one row each; a newer one than the program knows makes it refuse to start';

-- ---- boxes and their agents ----

create table rigstat.host (
	host_id		bigint generated always as identity primary key,
	name		text not null unique check (length(name) between 1 and 128),
	tags		jsonb not null default '{}' check (jsonb_typeof(tags) = 'object'),
	note		text not null default '',
	location	text not null default '',
	demo		boolean not null default false,
	retired_at	timestamptz,
	created_at	timestamptz not null default now()
);
comment on table rigstat.host is 'A test box, by the name that its agent gives';

create table rigstat.agent (
	host_id		bigint primary key references rigstat.host on delete cascade,
	version		text,
	boot_id		text,
	remote_addr	text,
	clock_offset_ns	bigint,			-- agent's realtime minus ours at its last post
	quiet_until_ns	bigint,			-- it said that it holds the network back until then
	environment_sha256 bytea,
	last_seen	timestamptz
);
comment on table rigstat.agent is 'The daemon on a box: version, clock offset, when it last posted; last_seen is written every few seconds, ingest_stream has the exact time';

create table rigstat.ingest_stream (
	host_id		bigint not null references rigstat.host on delete cascade,
	stream_id	uuid not null,
	next_seq	bigint not null default 1 check (next_seq >= 1),
	last_crc	bigint,			-- CRC32C in the header of record next_seq - 1
	samples		bigint not null default 0,
	gap_samples	bigint not null default 0,
	forks		int not null default 0,
	first_seen	timestamptz not null default now(),
	last_seen	timestamptz not null default now(),
	primary key (host_id, stream_id)
) with (fillfactor = 50);
comment on table rigstat.ingest_stream is 'High-water mark of each agent process: everything below next_seq is stored or named as a gap. This mark is the de-duplication';
create index ingest_stream_seen on rigstat.ingest_stream (host_id, first_seen);
create index ingest_stream_id on rigstat.ingest_stream (stream_id);

create table rigstat.record_staging (
	host_id		bigint not null,
	stream_id	uuid not null,
	run_no		bigint not null,	-- ordinal of the run in the stream, 0 = none
	first_seq	bigint not null,
	last_seq	bigint not null,
	first_ns	bigint not null,	-- realtime of the first and last record
	last_ns		bigint not null,
	samples		bigint not null,
	run_end		boolean not null,	-- holds the run's end
	received_at	timestamptz not null default now(),
	records		bytea not null,
	check (first_seq <= last_seq)
) partition by range (received_at);
alter table rigstat.record_staging alter column records set storage external;
comment on table rigstat.record_staging is 'Records as the agent sent them, one row a POST and run, until the compactor has packed them; partitioned by the day of receipt';
create index record_staging_run on rigstat.record_staging (host_id, stream_id, run_no, first_seq);

-- ---- catalogue ----

create table rigstat.metric (
	metric_id	int generated always as identity primary key,
	name		text not null unique check (length(name) between 1 and 128),
	unit		text not null default '',
	title		text not null default '',
	better		text not null default 'none' check (better in ('lower', 'higher', 'none')),
	margin_rel	float8 check (margin_rel >= 0),	-- null: the catalogue's
	primary_stat	text,				-- null: the catalogue's
	description	text not null default '',
	edited		boolean not null default false,	-- a person changed it: the catalogue no longer overwrites it
	created_at	timestamptz not null default now()
);
comment on table rigstat.metric is 'Metrics that were ever stored, with unit, direction and the margin that a person set';

create table rigstat.environment (
	sha256		bytea primary key check (length(sha256) = 32),
	facts		jsonb not null check (jsonb_typeof(facts) = 'object'),
	created_at	timestamptz not null default now()
);
comment on table rigstat.environment is 'Facts of a box at a run (kernel, CPU, tunables), content-addressed by the SHA-256 of the bytes that the agent sent';

create table rigstat.experiment (
	experiment_id	bigint generated always as identity primary key,
	uid		uuid unique,
	name		text not null check (length(name) between 1 and 128),
	design		jsonb not null default '{}' check (jsonb_typeof(design) = 'object'),
	note		text not null default '',
	demo		boolean not null default false,
	created_at	timestamptz not null default now()
);
comment on table rigstat.experiment is 'A design: factors with levels, order, runs per cell, seed (in design). Imported ones have no uid';
create index experiment_name on rigstat.experiment (name);

-- ---- imports ----

create table rigstat.import (
	import_id	bigint generated always as identity primary key,
	sha256		bytea not null check (length(sha256) = 32),
	bytes		bytea not null,
	format		text not null,
	source		text,
	options		jsonb not null default '{}' check (jsonb_typeof(options) = 'object'),
	created_at	timestamptz not null default now()
);
alter table rigstat.import alter column bytes set compression lz4;
comment on table rigstat.import is 'Original bytes of imported files';
create index import_sha256 on rigstat.import (sha256);

-- ---- runs ----

create table rigstat.run (
	host_id		bigint not null references rigstat.host,
	run_id		bigint generated always as identity,
	run_uid		uuid not null,
	kind		text not null check (kind in ('measured', 'watch', 'imported')),
	state		text not null check (state in ('running', 'ok', 'failed', 'aborted')),
	reason		text,
	experiment_id	bigint references rigstat.experiment,
	factors		jsonb not null default '{}' check (jsonb_typeof(factors) = 'object'),
	tags		jsonb not null default '{}' check (jsonb_typeof(tags) = 'object'),
	order_no	int,			-- position in the experiment's sequence, from 1
	block_no	int,
	attempt		int,
	boot_id		text,
	agent_version	text,
	environment_sha256 bytea,		-- the row may come a little later than the run
	source		text,			-- file or tool of an import
	import_id	bigint references rigstat.import,
	import_index	int,			-- position in the imported file, from 0
	labels_sha256	bytea,			-- of what an importer was told: same bytes + position + labels = same run
	started_ns	bigint,
	ended_ns	bigint,
	measured_from_ns bigint,
	measured_ns	bigint,
	warmup_ns	bigint,
	duration_ns	bigint,			-- wanted length of the measured window
	quiet_until_ns	bigint,
	window_end	text,			-- what ended the window: workload, duration, stopped
	workload	jsonb,			-- argv, name; after the end also exit_status, times, max_rss_bytes
	cost		jsonb,			-- what the agent itself used
	extra		jsonb,			-- an imported tool's own fields
	notes		jsonb not null default '[]' check (jsonb_typeof(notes) = 'array'),	-- [{code, text}]
	samples		bigint not null default 0,
	lost		bigint not null default 0,
	missed		bigint not null default 0,
	gap_samples	bigint not null default 0,
	breaches	bigint not null default 0,	-- all of them; the table breach keeps the first 10,000
	excluded	text,			-- reason, null when the run counts
	note		text not null default '',
	demo		boolean not null default false,
	stream_id	uuid,			-- where the records came from
	run_no		bigint,
	phase		smallint not null default 0,	-- of the last record packed: 0 none, 1 warm-up, 2 measured, 3 after
	last_data_ns	bigint,			-- realtime of the last record packed
	revision	int not null default 1,	-- for ETags: raised by every change
	created_at	timestamptz not null default now(),
	updated_at	timestamptz not null default now(),
	deleted_at	timestamptz,
	primary key (host_id, run_id)
);
comment on table rigstat.run is 'One execution of one cell on one host in one boot; the unit of comparison';
create unique index run_uid on rigstat.run (host_id, run_uid);
create unique index run_stream on rigstat.run (host_id, stream_id, run_no) where stream_id is not null;
create index run_id on rigstat.run (run_id);
create index run_experiment on rigstat.run (experiment_id, order_no);
create index run_started on rigstat.run (started_ns desc, run_id desc);
create index run_open on rigstat.run (host_id) where state = 'running';
create index run_factors on rigstat.run using gin (factors jsonb_path_ops);
create index run_tags on rigstat.run using gin (tags jsonb_path_ops);
create index run_import on rigstat.run (import_id) where import_id is not null;

create table rigstat.series (
	host_id		bigint not null,
	run_id		bigint not null,
	series_no	int not null check (series_no >= 1),
	metric_id	int not null references rigstat.metric,
	kind		text not null check (kind in ('hist', 'value', 'counter', 'summary', 'absent')),
	labels		jsonb not null default '{}' check (jsonb_typeof(labels) = 'object'),
	unit		text not null,
	method		text,
	omission	text not null default 'unknown'
			check (omission in ('unknown', 'keeps_deadlines', 'skips_missed', 'intended_time')),
	state		text not null default 'exact' check (state in ('exact', 'estimated', 'doubtful')),
	reason		text,			-- why it is absent or doubtful
	interval_ns	bigint not null default 0,
	resolution_ns	bigint not null default 0,
	missed		bigint not null default 0,
	summary_n	bigint,			-- kind summary: n, min, avg, max, sdev over runs that are not known singly
	summary_min	float8,
	summary_avg	float8,
	summary_max	float8,
	summary_sdev	float8,
	primary key (host_id, run_id, series_no),
	foreign key (host_id, run_id) references rigstat.run on delete cascade
);
comment on table rigstat.series is 'One metric of one run with labels; series_no is the agent''s own number';
create index series_metric on rigstat.series (metric_id, host_id, run_id);

-- ---- packed measurements ----

create table rigstat.chunk (
	host_id		bigint not null,
	run_id		bigint not null,
	series_no	int not null,
	t0_ns		bigint not null,
	dt_ns		bigint not null,
	phase		smallint not null,
	n		int not null check (n > 0),
	vmin		float8 not null,	-- of the samples as rates per second
	vmax		float8 not null,
	vsum		float8 not null,
	received_at	timestamptz not null default now(),
	v		bytea not null
) partition by range (received_at);
alter table rigstat.chunk alter column v set storage external;
comment on table rigstat.chunk is 'Counter samples, about 300 a row: encoding byte, then zigzag varints (docs/PROTOCOL.md); partitioned by the day of receipt';
create index chunk_key on rigstat.chunk (host_id, run_id, series_no, t0_ns);

create table rigstat.hist_chunk (
	host_id		bigint not null,
	run_id		bigint not null,
	series_no	int not null,
	t0_ns		bigint not null,
	dt_ns		bigint not null,
	phase		smallint not null,
	n		smallint not null check (n > 0),
	count		bigint not null,
	received_at	timestamptz not null default now(),
	d		bytea not null
) partition by range (received_at);
alter table rigstat.hist_chunk alter column d set compression lz4;
comment on table rigstat.hist_chunk is 'Histograms of single intervals, up to 60 a row: n x (zigzag t0 step, varint dt, varint length, histogram); partitioned by the day of receipt';
create index hist_chunk_key on rigstat.hist_chunk (host_id, run_id, series_no, t0_ns);

create table rigstat.hist_minute (
	host_id		bigint not null,
	run_id		bigint not null,
	series_no	int not null,
	minute_ns	bigint not null,	-- start of the minute
	phase		smallint not null,
	bucketed	bigint not null,
	overflow	bigint not null,
	negative	bigint not null,
	count		bigint not null,
	lost		bigint not null,
	d		bytea not null,
	primary key (host_id, run_id, series_no, minute_ns, phase),
	foreign key (host_id, run_id) references rigstat.run on delete cascade,
	constraint hist_parts check (bucketed >= 0 and overflow >= 0 and negative >= 0 and lost >= 0
		and bucketed + overflow + negative = count)
);
comment on table rigstat.hist_minute is 'Histograms merged by minute, series and phase, for charts over time and minute-aligned windows';

create table rigstat.run_total (
	host_id		bigint not null,
	run_id		bigint not null,
	series_no	int not null,
	bucketed	bigint not null default 0,
	overflow	bigint not null default 0,
	negative	bigint not null default 0,
	count		bigint not null default 0,	-- samples; of a counter: intervals
	lost		bigint not null default 0,
	d		bytea,			-- the histogram; null for a counter
	delta		float8,			-- counters: sum of scaled deltas
	seconds		float8,			-- and the time that they cover
	enabled_ns	bigint,
	running_ns	bigint,
	rate_min	float8,
	rate_max	float8,
	rate_m2		float8,			-- sum of squared differences from the mean rate
	rate_mean	float8,
	primary key (host_id, run_id, series_no),
	foreign key (host_id, run_id) references rigstat.run on delete cascade,
	constraint hist_parts check (bucketed >= 0 and overflow >= 0 and negative >= 0 and lost >= 0
		and (d is null or bucketed + overflow + negative = count))
);
comment on table rigstat.run_total is 'The measured phase of a run, merged per series: what a comparison reads';

create table rigstat.run_value (
	host_id		bigint not null,
	run_id		bigint not null,
	metric_id	int not null references rigstat.metric,
	series_no	int not null,		-- 0: all series of the metric merged
	stat		text not null,		-- p50 p90 p99 p99.9 p99.99 mean min max count, value, rate, running_share
	value		float8,			-- null: not resolvable or unbounded, see answer
	lo		float8,			-- quantiles: the interval that holds the value
	hi		float8,
	answer		text not null default 'value'
			check (answer in ('value', 'at_least', 'negative', 'not_resolvable')),
	n		bigint,			-- samples or intervals behind it
	vmin		float8,			-- rates: spread over the intervals
	vmax		float8,
	sdev		float8,
	primary key (host_id, run_id, metric_id, series_no, stat),
	foreign key (host_id, run_id) references rigstat.run on delete cascade
);
comment on table rigstat.run_value is 'Scalars of one run: quantiles, means, rates, single values';

create table rigstat.breach (
	host_id		bigint not null,
	run_id		bigint not null,
	breach_no	int not null,		-- from 1, in order of arrival
	t_ns		bigint not null,
	cpu		int,
	late_ns		bigint not null,
	due_ns		bigint,
	read		boolean not null,	-- the cause could be read
	phase		smallint not null,
	holders		jsonb not null default '[]' check (jsonb_typeof(holders) = 'array'),
	primary key (host_id, run_id, breach_no),
	foreign key (host_id, run_id) references rigstat.run on delete cascade
);
comment on table rigstat.breach is 'A sample above the threshold, with what held the CPU: [{name, kind, ns, reason}]';

-- ---- what people keep ----

create table rigstat.pin (
	pin_id		bigint generated always as identity primary key,
	slug		text not null unique,
	title		text not null default '',
	note		text not null default '',
	params		jsonb not null,
	document	text not null,		-- the comparison as it was rendered, JSON
	method		int not null,
	run_ids		bigint[] not null,
	created_by	text,
	demo		boolean not null default false,
	revision	int not null default 1,
	created_at	timestamptz not null default now()
);
comment on table rigstat.pin is 'A comparison kept for ever: parameters, result and the runs behind it';

create table rigstat.change (
	change_id	bigint generated always as identity primary key,
	host_id		bigint references rigstat.host on delete cascade,	-- null: pooled over hosts
	metric_id	int not null references rigstat.metric,
	stat		text not null,
	context		jsonb not null default '{}',	-- labels and factors that hold still
	before_run_id	bigint,
	after_run_id	bigint,
	at_ns		bigint not null,
	rel		float8 not null,
	p		float8,
	state		text not null default 'new' check (state in ('new', 'acknowledged', 'wanted', 'fixed', 'noise')),
	note		text not null default '',
	revision	int not null default 1,
	created_at	timestamptz not null default now()
);
comment on table rigstat.change is 'A level shift that was found in a metric over runs';
create index change_host on rigstat.change (host_id, at_ns);

create table rigstat.annotation (
	annotation_id	bigint generated always as identity primary key,
	host_id		bigint references rigstat.host on delete cascade,	-- null: the whole lab
	from_ns		bigint not null,
	to_ns		bigint,
	text		text not null,
	tags		text[] not null default '{}',
	created_by	text,
	created_at	timestamptz not null default now()
);
comment on table rigstat.annotation is 'A remark on an instant or a range, for a host or the lab';
create index annotation_time on rigstat.annotation (from_ns);

create table rigstat.token (
	token_id	text primary key check (token_id ~ '^[a-z0-9]{8}$'),
	digest		bytea not null check (length(digest) = 32),	-- SHA-256 of the secret
	name		text not null default '',
	scopes		text[] not null check (scopes <@ array['read', 'ingest', 'write', 'admin']),
	host_id		bigint references rigstat.host on delete cascade,	-- null: any host
	created_at	timestamptz not null default now(),
	expires_at	timestamptz,
	revoked_at	timestamptz,
	last_used_at	timestamptz
);
comment on table rigstat.token is 'Bearer tokens: rs_<token_id>_<secret>; only the hash of the secret is kept';

-- ---- ingest ----

-- One group of posts: the server copies a row a post into pg_temp.mark_in (made on each ingest
-- connection), calls this, then copies the records. SQLSTATE RS404: the stream is not known; RS409: the
-- mark moved (another server, a restored database). The text is the stream id.
create function rigstat.apply_marks() returns void language plpgsql as $$
declare
	m record;
begin
	-- Sorted, so that two servers cannot deadlock.
	for m in
		select i.host_id, i.stream_id, i.expect_seq, i.expect_crc, i.next_seq, i.last_crc,
			i.samples, i.gap_samples
		from pg_temp.mark_in i order by i.host_id, i.stream_id
	loop
		update rigstat.ingest_stream s
		set next_seq = m.next_seq, last_crc = m.last_crc, last_seen = clock_timestamp(),
			samples = s.samples + m.samples, gap_samples = s.gap_samples + m.gap_samples
		where s.host_id = m.host_id and s.stream_id = m.stream_id
			and s.next_seq = m.expect_seq and s.last_crc is not distinct from m.expect_crc;
		if not found then
			perform 1 from rigstat.ingest_stream s
			where s.host_id = m.host_id and s.stream_id = m.stream_id;
			if not found then
				raise exception '%', m.stream_id using errcode = 'RS404';
			end if;
			raise exception '%', m.stream_id using errcode = 'RS409';
		end if;
	end loop;
end
$$;
comment on function rigstat.apply_marks() is 'Moves the marks of a group of posts, or raises RS404 / RS409 and so undoes the group';

-- Makes the day partitions of the tables that are partitioned by receipt, from today to `ahead` days on
-- (UTC). Each is attached under a short lock; harmless when it exists. Returns how many were made.
create function rigstat.make_partitions(ahead int) returns int language plpgsql as $$
declare
	t text;
	day date;
	part text;
	made int := 0;
begin
	perform pg_advisory_xact_lock(7309453, 1);
	foreach t in array array['record_staging', 'chunk', 'hist_chunk'] loop
		for k in -1 .. ahead loop
			day := (now() at time zone 'UTC')::date + k;
			part := format('%s_%s', t, to_char(day, 'YYYYMMDD'));
			if to_regclass('rigstat.' || part) is null then
				execute format('create table rigstat.%I partition of rigstat.%I for values from (%L) to (%L)',
					part, t, day::timestamp at time zone 'UTC',
					(day + 1)::timestamp at time zone 'UTC');
				made := made + 1;
			end if;
		end loop;
	end loop;
	return made;
end
$$;
comment on function rigstat.make_partitions(int) is 'Creates day partitions ahead of time';

select rigstat.make_partitions(7);
