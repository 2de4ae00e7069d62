-- Trends and changes as the documents of the REST API (docs/openapi.yaml: Trend, Change).

create function rigstat.iso_time(ns bigint) returns text language sql immutable strict parallel safe as $$
	select to_char(to_timestamp(ns / 1000000000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
		|| case when ns % 1000000000 = 0 then '' else rtrim('.' || lpad((ns % 1000000000)::text, 9, '0'), '0') end || 'Z'
$$;
comment on function rigstat.iso_time(bigint) is 'ns since 1970 as RFC 3339 UTC';

create function rigstat.iso_time(t timestamptz) returns text language sql stable strict parallel safe as $$
	select to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function rigstat.iso_time(timestamptz) is 'RFC 3339 UTC to the millisecond';

create function rigstat.trend_doc(t rigstat.trend) returns jsonb language sql stable as $$
	select jsonb_build_object('id', 's_' || t.trend_id, 'host', h.name, 'metric', m.name,
		'title', coalesce(nullif(m.title, ''), m.name), 'stat', t.stat, 'unit', t.unit, 'better', m.better,
		'context', t.context, 'labels', t.labels, 'environment', t.environment, 'order_by', t.order_by,
		'points', t.n_points, 'reading', t.reading, 'stale', t.revision > t.computed,
		'analysed', rigstat.iso_time(t.computed_at),
		'level', t.result -> 'level', 'level_from', 'r_' || (t.result ->> 'level_from_run'),
		'needed', t.result -> 'needed', 'lag1', t.result -> 'lag1', 'min_rel', t.result -> 'min_rel',
		'window', t.result -> 'points', 'error', t.result -> 'error',
		'drift', case when t.reading = 'drift' then jsonb_build_object('per_point', t.result -> 'drift_per_point',
			'p', t.result -> 'drift_p') end,
		'last', (select jsonb_build_object('run', 'r_' || p.run_id, 'started', rigstat.iso_time(p.at_ns),
				'version', p.version, 'value', p.value)
			from rigstat.trend_point p
			where p.host_id = t.host_id and p.trend_id = t.trend_id and p.sort_key is not null
			order by p.sort_key desc limit 1),
		'open_changes', (select count(*) from rigstat.change_member x join rigstat.change c using (host_id, change_id)
			where x.host_id = t.host_id and x.trend_id = t.trend_id and c.state in ('new', 'confirmed', 'reopened')),
		'links', jsonb_build_object('ui', '/trends/s_' || t.trend_id,
			'points', '/api/v1/series/s_' || t.trend_id || '/points'))
	from rigstat.host h, rigstat.metric m
	where h.host_id = t.host_id and m.metric_id = t.metric_id
$$;
comment on function rigstat.trend_doc(rigstat.trend) is 'A trend without its points, as JSON';

create function rigstat.version_at(t rigstat.trend, run bigint) returns text language sql stable as $$
	select p.version from rigstat.trend_point p
	where p.host_id = t.host_id and p.trend_id = t.trend_id and p.run_id = run
$$;
comment on function rigstat.version_at(rigstat.trend, bigint) is 'The version of a run in a trend';

create function rigstat.member_doc(x rigstat.change_member) returns jsonb language sql stable as $$
	select jsonb_build_object('series', 's_' || x.trend_id, 'metric', m.name,
		'title', coalesce(nullif(m.title, ''), m.name), 'stat', t.stat, 'unit', t.unit, 'better', m.better,
		'context', t.context, 'labels', t.labels, 'before', x.before, 'after', x.after, 'rel', x.rel, 'p', x.p,
		'direction', x.direction, 'found', x.seen,
		'last_before', 'r_' || x.before_run_id, 'first_after', 'r_' || x.at_run_id,
		'plausible', jsonb_build_array('r_' || x.lo_run_id, 'r_' || x.hi_run_id),
		'from_version', rigstat.version_at(t, x.before_run_id), 'to_version', rigstat.version_at(t, x.at_run_id),
		'plausible_versions', jsonb_build_array(rigstat.version_at(t, x.lo_run_id), rigstat.version_at(t, x.hi_run_id)),
		'at', (select rigstat.iso_time(p.at_ns) from rigstat.trend_point p
			where p.host_id = x.host_id and p.trend_id = x.trend_id and p.run_id = x.at_run_id),
		'fixed', 'r_' || x.fixed_run_id, 'fixed_version', rigstat.version_at(t, x.fixed_run_id))
	from rigstat.trend t join rigstat.metric m using (metric_id)
	where t.host_id = x.host_id and t.trend_id = x.trend_id
$$;
comment on function rigstat.member_doc(rigstat.change_member) is 'A change in one trend, as JSON';

-- Runs on one side of a change, at most ten, as a selector.
create function rigstat.side_of(x rigstat.change_member, old boolean) returns text language sql stable as $$
	select 'run in (' || string_agg('r_' || y.run_id, ',' order by y.sort_key) || ')' from (
		select p.run_id, p.sort_key from rigstat.trend_point p, rigstat.trend_point a
		where a.host_id = x.host_id and a.trend_id = x.trend_id and a.run_id = x.at_run_id
			and p.host_id = x.host_id and p.trend_id = x.trend_id and not p.outlier and p.value is not null
			and (p.sort_key < a.sort_key) = old
		order by case when old then p.sort_key end desc, p.sort_key limit 10) y
$$;
comment on function rigstat.side_of(rigstat.change_member, boolean) is 'The runs next to a change on one side';

create function rigstat.annotation_doc(a rigstat.annotation) returns jsonb language sql stable as $$
	select jsonb_build_object('id', 'n_' || a.annotation_id, 'host', (select h.name from rigstat.host h
			where h.host_id = a.host_id), 'from', rigstat.iso_time(a.from_ns), 'to', rigstat.iso_time(a.to_ns),
		'text', a.text, 'tags', a.tags, 'by', a.created_by, 'created', rigstat.iso_time(a.created_at))
$$;
comment on function rigstat.annotation_doc(rigstat.annotation) is 'An annotation as JSON';

create function rigstat.change_doc(c rigstat.change, whole boolean) returns jsonb language sql stable as $$
	with members as materialized (
		select x, rigstat.member_doc(x) as doc, row_number() over (order by x.direction <> c.direction,
			t.stat is distinct from coalesce(m.primary_stat, case when t.stat like 'p%' then 'p99' else t.stat end),
			abs(x.rel) desc nulls last, x.trend_id) as place
		from rigstat.change_member x
		join rigstat.trend t on t.host_id = x.host_id and t.trend_id = x.trend_id
		join rigstat.metric m using (metric_id)
		where x.host_id = c.host_id and x.change_id = c.change_id
	)
	select jsonb_build_object('id', 'c_' || c.change_id, 'host', h.name, 'state', c.state, 'direction', c.direction,
			'origin', c.origin, 'reason', nullif(c.reason, ''), 'note', nullif(c.note, ''),
			'owner', nullif(c.owner, ''), 'issue', nullif(c.issue, ''), 'context', c.context, 'order_by', c.order_by,
			'revision', c.revision, 'created', rigstat.iso_time(c.created_at), 'updated', rigstat.iso_time(c.updated_at),
			'evidence', case when c.evidence is not null then c.evidence - 'run_id' - 'trend_id' || jsonb_build_object(
				'run', 'r_' || (c.evidence ->> 'run_id'), 'series', 's_' || (c.evidence ->> 'trend_id')) end,
			'members', (select coalesce(jsonb_agg(m.doc order by m.place), '[]') from members m),
			'notified', (select rigstat.iso_time(min(n.created_at)) from rigstat.notification n
				where n.change_id = c.change_id))
		|| coalesce((select jsonb_build_object('range', jsonb_build_object('from_version', m.doc -> 'from_version',
				'to_version', m.doc -> 'to_version', 'last_before', m.doc -> 'last_before',
				'first_after', m.doc -> 'first_after', 'plausible', m.doc -> 'plausible',
				'plausible_versions', m.doc -> 'plausible_versions'), 'at', m.doc -> 'at',
				'a', rigstat.side_of(m.x, true), 'b', rigstat.side_of(m.x, false))
			from members m where m.place = 1), jsonb_build_object('range', null, 'at', null, 'a', null, 'b', null))
		|| case when whole then jsonb_build_object('events', (select coalesce(jsonb_agg(jsonb_build_object(
				'at', rigstat.iso_time(e.at), 'who', e.who, 'from', e.from_state, 'to', e.to_state, 'text', e.text)
				order by e.at), '[]') from rigstat.change_event e where e.change_id = c.change_id),
			'annotations', (select coalesce(jsonb_agg(rigstat.annotation_doc(a) order by a.from_ns), '[]')
				from rigstat.annotation a, members m
				cross join lateral (select p.at_ns from rigstat.trend_point p where p.host_id = c.host_id
					and p.trend_id = (m.x).trend_id and p.run_id = (m.x).before_run_id) b
				cross join lateral (select p.at_ns from rigstat.trend_point p where p.host_id = c.host_id
					and p.trend_id = (m.x).trend_id and p.run_id = (m.x).hi_run_id) f
				where m.place = 1 and (a.host_id = c.host_id or a.host_id is null) and a.from_ns > b.at_ns
					and a.from_ns <= f.at_ns)) else '{}' end
	from rigstat.host h where h.host_id = c.host_id
$$;
comment on function rigstat.change_doc(rigstat.change, boolean) is 'A change as JSON; whole: with its history and what was annotated in its range';

-- How many alerts were real, by what people said: ignored as noise is a false one.
create function rigstat.triage_doc() returns jsonb language sql stable as $$
	select jsonb_build_object('real', x.real, 'noise', x.noise, 'open', x.open,
		'precision', case when x.real + x.noise > 0 then x.real::float8 / (x.real + x.noise) end)
	from (select count(*) filter (where c.state in ('confirmed', 'accepted', 'fixed', 'reopened')) as real,
			count(*) filter (where c.state = 'ignored' and c.reason = 'noise') as noise,
			count(*) filter (where c.state = 'new') as open
		from rigstat.change c where c.origin = 'found') x
$$;
comment on function rigstat.triage_doc() is 'Precision of the alerts from triage';

-- A change by hand: levels are the medians of up to five runs on each side. null: no such point, or nothing before it.
create function rigstat.change_mark(trend bigint, run bigint, who text, what text) returns bigint language plpgsql as $$
declare
	t rigstat.trend;
	key text;
	change bigint;
	old record;
	new record;
	better text;
	way text;
begin
	perform pg_advisory_xact_lock(7309453, 4);
	select x.* into t from rigstat.trend x where x.trend_id = trend;
	key := rigstat.point_key(t, run);
	select percentile_cont(0.5) within group (order by p.value) as level, max(p.sort_key) as last into old
	from (select q.value, q.sort_key from rigstat.trend_point q where q.host_id = t.host_id and q.trend_id = trend
		and q.value is not null and q.sort_key < key order by q.sort_key desc limit 5) p;
	select percentile_cont(0.5) within group (order by p.value) as level into new
	from (select q.value from rigstat.trend_point q where q.host_id = t.host_id and q.trend_id = trend
		and q.value is not null and q.sort_key >= key order by q.sort_key limit 5) p;
	if old.level is null or new.level is null then
		return null;
	end if;
	select m.better into better from rigstat.metric m where m.metric_id = t.metric_id;
	way := case when better = 'none' or new.level = old.level then 'none'
		when (new.level > old.level) = (better = 'lower') then 'worse' else 'better' end;
	insert into rigstat.change (host_id, context, order_by, origin, direction, state, note, lo_key, hi_key)
	values (t.host_id, jsonb_strip_nulls(jsonb_build_object('branch', t.context -> 'branch')), t.order_by, 'hand', way,
		'confirmed', what, key, key)
	returning change_id into change;
	perform rigstat.change_say(change, who, null, 'confirmed', 'marked by hand');
	perform rigstat.change_join(t, change, jsonb_build_object('prev', (select p.run_id from rigstat.trend_point p
			where p.host_id = t.host_id and p.trend_id = trend and p.sort_key = old.last),
		'at', run, 'lo', run, 'hi', run, 'before', old.level, 'after', new.level, 'direction', way,
		'rel', case when old.level <> 0 then new.level / old.level - 1 end), key, key);
	return change;
end
$$;
comment on function rigstat.change_mark(bigint, bigint, text, text) is 'A change marked by hand at a run';

-- What a person says. null leaves a field. Returns null when there is no such change.
create function rigstat.change_edit(change bigint, who text, wanted text, why text, p jsonb) returns bigint
language plpgsql as $$
begin
	perform pg_advisory_xact_lock(7309453, 4);
	update rigstat.change c
	set reason = case when wanted is null then c.reason when wanted = 'ignored' then coalesce(why, '') else '' end,
		note = coalesce(p ->> 'note', c.note), owner = coalesce(p ->> 'owner', c.owner),
		issue = coalesce(p ->> 'issue', c.issue), revision = c.revision + 1, updated_at = now()
	where c.change_id = change;
	if not found then
		return null;
	end if;
	if wanted is not null then
		perform rigstat.change_set(change, who, wanted, concat_ws(': ', why, p ->> 'note'));
	end if;
	return change;
end
$$;
comment on function rigstat.change_edit(bigint, text, text, text, jsonb) is 'State, note, owner and issue of a change, with its history';
