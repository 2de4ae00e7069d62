-- What Grafana's PostgreSQL data source reads: documented, stable views and two functions, and a role that sees nothing
-- else (docs/GRAFANA.md). Times are timestamptz, values in the unit that stands beside them.

create schema grafana;
comment on schema grafana is 'Stable views for Grafana; the schema rigstat may change';

create view grafana.runs as
	select to_timestamp(coalesce(r.started_ns, 0) / 1e9) as time, to_timestamp(r.ended_ns / 1e9) as timeend,
		h.name as host, e.name as experiment, r.kind, r.state, 'r_' || r.run_id as run,
		coalesce(r.tags ->> 'commit', r.factors ->> 'commit', r.tags ->> 'version', r.factors ->> 'version',
			r.factors ->> 'kernel', v.facts ->> 'kernel.release') as version,
		v.facts ->> 'kernel.release' as kernel, r.factors::text as factors, r.tags::text as tags,
		r.measured_ns / 1e9 as measured_s, r.samples, r.lost, r.missed, r.gap_samples, r.breaches, r.excluded,
		'/runs/r_' || r.run_id as path
	from rigstat.run r
	join rigstat.host h on h.host_id = r.host_id
	left join rigstat.experiment e on e.experiment_id = r.experiment_id
	left join rigstat.environment v on v.sha256 = r.environment_sha256
	where r.deleted_at is null;
comment on view grafana.runs is 'Runs, also watch runs; path is the page on the rigstat server';

create view grafana.run_quantiles as
	select to_timestamp(coalesce(r.started_ns, 0) / 1e9) as time, h.name as host, e.name as experiment,
		r.factors::text as factors, m.name as metric, m.unit, 'r_' || r.run_id as run,
		max(w.value) filter (where w.stat = 'p50') as p50, max(w.value) filter (where w.stat = 'p90') as p90,
		max(w.value) filter (where w.stat = 'p99') as p99, max(w.value) filter (where w.stat = 'p99.9') as "p99.9",
		max(w.value) filter (where w.stat = 'p99.99') as "p99.99", max(w.value) filter (where w.stat = 'max') as max,
		max(w.value) filter (where w.stat = 'mean') as mean, max(w.n) filter (where w.stat = 'p50') as count
	from rigstat.run r
	join rigstat.host h on h.host_id = r.host_id
	join rigstat.run_value w on w.host_id = r.host_id and w.run_id = r.run_id and w.series_no = 0
	join rigstat.metric m on m.metric_id = w.metric_id
	left join rigstat.experiment e on e.experiment_id = r.experiment_id
	where r.deleted_at is null and w.stat in ('p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max', 'mean')
	group by r.host_id, r.run_id, h.name, e.name, m.name, m.unit;
comment on view grafana.run_quantiles is 'Quantiles of the distributions of a run, all series of the metric merged; null: not resolvable';

create view grafana.series as
	select to_timestamp(p.at_ns / 1e9) as time, h.name as host, m.name as metric, t.stat, t.unit, m.better,
		t.context ->> 'experiment' as experiment, t.context ->> 'branch' as branch,
		(t.context -> 'factors')::text as factors, t.labels::text as labels, p.version, p.value, p.lo, p.hi, p.outlier,
		's_' || t.trend_id as series, 'r_' || p.run_id as run, t.reading
	from rigstat.trend t
	join rigstat.trend_point p on p.host_id = t.host_id and p.trend_id = t.trend_id
	join rigstat.host h on h.host_id = t.host_id
	join rigstat.metric m on m.metric_id = t.metric_id;
comment on view grafana.series is 'Points of the series of regression tracking; never averaged over hosts';

create view grafana.changes as
	select to_timestamp(p.at_ns / 1e9) as time, h.name as host, c.state, c.direction, m.name as metric, t.stat, t.unit,
		x.before, x.after, x.rel, x.p, b.version as from_version, p.version as to_version,
		's_' || t.trend_id as series, 'c_' || c.change_id as change, '/changes/c_' || c.change_id as path
	from rigstat.change c
	join rigstat.change_member x using (host_id, change_id)
	join rigstat.trend t on t.host_id = x.host_id and t.trend_id = x.trend_id
	join rigstat.trend_point p on p.host_id = x.host_id and p.trend_id = x.trend_id and p.run_id = x.at_run_id
	left join rigstat.trend_point b on b.host_id = x.host_id and b.trend_id = x.trend_id and b.run_id = x.before_run_id
	join rigstat.host h on h.host_id = c.host_id
	join rigstat.metric m on m.metric_id = t.metric_id
	where c.state <> 'withdrawn';
comment on view grafana.changes is 'Level shifts, one row a series';

create view grafana.annotations as
	select to_timestamp(a.from_ns / 1e9) as time, to_timestamp(a.to_ns / 1e9) as timeend, a.text,
		array_to_string(a.tags, ',') as tags, h.name as host
	from rigstat.annotation a left join rigstat.host h on h.host_id = a.host_id
	union all
	select min(c.time), null, string_agg(format('%s %s %s %%', c.metric, c.stat, round((100 * c.rel)::numeric, 1)), '; '
			order by c.metric, c.stat), 'change,' || min(c.direction) || ',' || min(c.state), c.host
	from grafana.changes c group by c.change, c.host;
comment on view grafana.annotations is 'Remarks and changes, for annotation queries; host null: the whole lab';

create view grafana.hosts as
	select h.name as host, coalesce(a.last_seen, s.seen) as last_seen,
		extract(epoch from now() - coalesce(a.last_seen, s.seen))::float8 as age_s, a.version as agent,
		v.facts ->> 'kernel.release' as kernel, v.facts ->> 'cpu.model' as cpu, h.location
	from rigstat.host h
	left join rigstat.agent a on a.host_id = h.host_id
	left join rigstat.environment v on v.sha256 = a.environment_sha256
	left join lateral (select max(i.last_seen) as seen from rigstat.ingest_stream i where i.host_id = h.host_id) s on true
	where h.retired_at is null;
comment on view grafana.hosts is 'Boxes and when they were last heard of';

-- All varints from byte `at` (0-based) on (docs/PROTOCOL.md, "Histogram").
create function rigstat.varints(d bytea, at int) returns bigint[] language plpgsql immutable strict parallel safe as $$
declare
	v bigint := 0;
	shift int := 0;
	c int;
	result bigint[] := '{}';
begin
	for i in at .. length(d) - 1 loop
		c := get_byte(d, i);
		v := v | ((c & 127)::bigint << shift);
		if c < 128 then
			result := result || v;
			v := 0;
			shift := 0;
		else
			shift := shift + 7;
		end if;
	end loop;
	return result;
end
$$;
comment on function rigstat.varints(bytea, int) is 'LEB128 numbers of packed bytes';

create function rigstat.unzigzag(v bigint) returns bigint language sql immutable strict parallel safe as $$
	select ((v >> 1) & 9223372036854775807) # -(v & 1)
$$;
comment on function rigstat.unzigzag(bigint) is 'A signed number of its zigzag form';

create function rigstat.slot_lo(slot bigint) returns bigint language sql immutable strict parallel safe as $$
	select case when slot < 256 then slot else (slot % 128 + 128) << (slot / 128 - 1)::int end
$$;
comment on function rigstat.slot_lo(bigint) is 'Lower edge of a slot of the fixed layout: common/hist.h';

create function rigstat.hist_buckets(d bytea) returns table (lo bigint, hi bigint, n bigint)
language plpgsql immutable strict as $$
declare
	scheme int := get_byte(d, 0) & 15;
	flags int := get_byte(d, 0) >> 4;
	v bigint[] := rigstat.varints(d, 1);
	i int := 4;	-- after overflow, negative, lost
	base bigint := 0;
	width bigint := 0;
	last bigint := -1;
	many bigint;
begin
	i := i + (v[1] > 0)::int + (flags & 1) + (flags >> 1 & 1) + (flags >> 2 & 1);
	if scheme = 1 then
		base := rigstat.unzigzag(v[i]);
		width := v[i + 1];
		i := i + 2;
	elsif scheme = 2 then
		last := 0;
	end if;
	many := v[i];
	i := i + 1;
	for k in 1 .. many loop
		if scheme = 2 then
			lo := last + rigstat.unzigzag(v[i]);
			hi := lo + v[i + 1];
			n := v[i + 2];
			last := hi;
			i := i + 3;
		else
			last := last + v[i] + 1;
			n := v[i + 1];
			i := i + 2;
			lo := case when scheme = 1 then base + last * width else rigstat.slot_lo(last) end;
			hi := case when scheme = 1 then lo + width else rigstat.slot_lo(last + 1) end;
		end if;
		return next;
	end loop;
end
$$;
comment on function rigstat.hist_buckets(bytea) is 'The buckets of a packed histogram';

-- le: upper edge of the bucket in the metric's unit, 1-2-5 a decade from 1,000 to 1,000,000,000 (1 us to 1 s); a bucket
-- of the source that an edge cuts counts where it begins.
create function grafana.heatmap_long(wanted_host text, wanted_metric text, from_time timestamptz, to_time timestamptz,
	step interval) returns table ("time" timestamptz, le bigint, count bigint)
language sql stable security definer set search_path = pg_catalog as $$
	with edges as (
		select (d * x)::bigint as le from unnest(array[1, 2, 5]) x, unnest(array[1e3, 1e4, 1e5, 1e6, 1e7, 1e8]) d
		union all select 1000000000
	)
	select date_bin(greatest(step, interval '1 minute'), to_timestamp(q.minute_ns / 1000000000), from_time),
		(select min(e.le) from edges e where e.le > b.lo), sum(b.n)::bigint
	from rigstat.host h
	join rigstat.metric m on m.name = wanted_metric
	join rigstat.series s on s.host_id = h.host_id and s.metric_id = m.metric_id and s.kind = 'hist'
	join rigstat.run r on r.host_id = s.host_id and r.run_id = s.run_id and r.deleted_at is null
		and r.started_ns < (extract(epoch from to_time) * 1000000000)::bigint
		and coalesce(r.ended_ns, r.last_data_ns, 9223372036854775807)
			>= (extract(epoch from from_time) * 1000000000)::bigint
	join rigstat.hist_minute q on q.host_id = s.host_id and q.run_id = s.run_id and q.series_no = s.series_no
		and q.minute_ns >= (extract(epoch from from_time) * 1000000000)::bigint
		and q.minute_ns < (extract(epoch from to_time) * 1000000000)::bigint
	cross join lateral rigstat.hist_buckets(q.d) b
	where h.name = wanted_host
	group by 1, 2
$$;
comment on function grafana.heatmap_long(text, text, timestamptz, timestamptz, interval) is
	'Samples by time and bucket; le null: above the last edge';

-- One column a bucket, ascending and named by its upper edge: the shape that Grafana's heat map sorts right.
create function grafana.heatmap_wide(wanted_host text, wanted_metric text, from_time timestamptz, to_time timestamptz,
	step interval) returns table ("time" timestamptz, "1000" bigint, "2000" bigint, "5000" bigint, "10000" bigint,
	"20000" bigint, "50000" bigint, "100000" bigint, "200000" bigint, "500000" bigint, "1000000" bigint,
	"2000000" bigint, "5000000" bigint, "10000000" bigint, "20000000" bigint, "50000000" bigint, "100000000" bigint,
	"200000000" bigint, "500000000" bigint, "1000000000" bigint, "inf" bigint)
language sql stable security definer set search_path = pg_catalog as $$
	select x."time", sum(x.count) filter (where x.le = 1000)::bigint, sum(x.count) filter (where x.le = 2000)::bigint,
		sum(x.count) filter (where x.le = 5000)::bigint, sum(x.count) filter (where x.le = 10000)::bigint,
		sum(x.count) filter (where x.le = 20000)::bigint, sum(x.count) filter (where x.le = 50000)::bigint,
		sum(x.count) filter (where x.le = 100000)::bigint, sum(x.count) filter (where x.le = 200000)::bigint,
		sum(x.count) filter (where x.le = 500000)::bigint, sum(x.count) filter (where x.le = 1000000)::bigint,
		sum(x.count) filter (where x.le = 2000000)::bigint, sum(x.count) filter (where x.le = 5000000)::bigint,
		sum(x.count) filter (where x.le = 10000000)::bigint, sum(x.count) filter (where x.le = 20000000)::bigint,
		sum(x.count) filter (where x.le = 50000000)::bigint, sum(x.count) filter (where x.le = 100000000)::bigint,
		sum(x.count) filter (where x.le = 200000000)::bigint, sum(x.count) filter (where x.le = 500000000)::bigint,
		sum(x.count) filter (where x.le = 1000000000)::bigint, sum(x.count) filter (where x.le is null)::bigint
	from grafana.heatmap_long(wanted_host, wanted_metric, from_time, to_time, step) x
	group by x."time" order by x."time"
$$;
comment on function grafana.heatmap_wide(text, text, timestamptz, timestamptz, interval) is
	'Samples by time, one column a bucket';

-- Without the right to make roles (a shared PostgreSQL) an administrator makes it: docs/GRAFANA.md.
do $$
begin
	if not exists (select from pg_roles where rolname = 'rigstat_grafana') then
		create role rigstat_grafana nologin;
	end if;
	grant usage on schema grafana to rigstat_grafana;
	grant select on all tables in schema grafana to rigstat_grafana;
	revoke execute on all functions in schema grafana from public;
	grant execute on all functions in schema grafana to rigstat_grafana;
exception when insufficient_privilege then
	raise notice 'the role rigstat_grafana was not made: no right to make roles';
end
$$;
