-- What an analysis of a trend means for the changes that are known. A step is, in this order: where a known change
-- began or ended; the end of an open one (the level is back); the return of a fixed one; a change of another metric of
-- the host at the same place; a new change.

create function rigstat.change_say(change bigint, who text, before text, after text, what text) returns void
language sql as $$
	insert into rigstat.change_event (change_id, who, from_state, to_state, text)
	values (change, who, before, after, what)
$$;
comment on function rigstat.change_say(bigint, text, text, text, text) is 'A line in the history of a change';

-- Sets a state, with its line of history. false: it had that state.
create function rigstat.change_set(change bigint, who text, wanted text, what text) returns boolean
language plpgsql as $$
declare
	old text;
begin
	select c.state into old from rigstat.change c where c.change_id = change for update;
	if old = wanted then
		return false;
	end if;
	update rigstat.change c set state = wanted, revision = c.revision + 1, updated_at = now()
	where c.change_id = change;
	perform rigstat.change_say(change, who, old, wanted, what);
	return true;
end
$$;
comment on function rigstat.change_set(bigint, text, text, text) is 'Moves a change to a state';

create function rigstat.change_range(change bigint) returns void language sql as $$
	update rigstat.change c
	set lo_key = x.lo, hi_key = x.hi, direction = x.direction, revision = c.revision + 1, updated_at = now()
	from (select max(s.lo_key) as lo, min(s.hi_key) as hi,
			case when bool_or(m.direction = 'worse') then 'worse' when bool_or(m.direction = 'better') then 'better'
				else 'none' end as direction
		from rigstat.change_span s join rigstat.change_member m using (host_id, change_id, trend_id)
		where s.change_id = change and s.kind = 'start') x
	where c.change_id = change and x.lo is not null
		and (c.lo_key, c.hi_key, c.direction) is distinct from (x.lo, x.hi, x.direction)
$$;
comment on function rigstat.change_range(bigint) is 'Range and direction of a change from its members';

create function rigstat.change_tell(change bigint, what text) returns void language sql as $$
	insert into rigstat.notification (change_id, event)
	select c.change_id, what from rigstat.change c where c.change_id = change and c.direction <> 'better'
		and (what = 'reopened' or not exists (select from rigstat.notification n
			where n.change_id = change and n.event = what))
$$;
comment on function rigstat.change_tell(bigint, text) is 'Queues one message; an improvement is shown and not told';

create function rigstat.change_join(t rigstat.trend, change bigint, step jsonb, lo text, hi text) returns void
language sql as $$
	insert into rigstat.change_member (host_id, change_id, trend_id, before_run_id, at_run_id, lo_run_id, hi_run_id,
		before, after, rel, p, direction)
	values (t.host_id, change, t.trend_id, (step ->> 'prev')::bigint, (step ->> 'at')::bigint, (step ->> 'lo')::bigint,
		(step ->> 'hi')::bigint, (step ->> 'before')::float8, (step ->> 'after')::float8, (step ->> 'rel')::float8,
		(step ->> 'p')::float8, step ->> 'direction')
	on conflict (host_id, change_id, trend_id) do update set before_run_id = excluded.before_run_id,
		at_run_id = excluded.at_run_id, lo_run_id = excluded.lo_run_id, hi_run_id = excluded.hi_run_id,
		before = excluded.before, after = excluded.after, rel = excluded.rel, p = excluded.p,
		direction = excluded.direction, seen = true, fixed_run_id = null;
	insert into rigstat.change_span (host_id, change_id, trend_id, kind, lo_key, hi_key)
	values (t.host_id, change, t.trend_id, 'start', lo, hi);
	select rigstat.change_range(change);
$$;
comment on function rigstat.change_join(rigstat.trend, bigint, jsonb, text, text) is 'A step of a trend becomes part of a change';

-- The place is known: the figures follow what later points say.
create function rigstat.step_known(t rigstat.trend, step jsonb, lo text, hi text) returns boolean language plpgsql as $$
declare
	s record;
	up boolean := (step ->> 'after')::float8 > (step ->> 'before')::float8;
begin
	select x.ctid as place, x.change_id, x.kind, c.state into s
	from rigstat.change_span x
	join rigstat.change_member m using (host_id, change_id, trend_id)
	join rigstat.change c using (host_id, change_id)
	where x.host_id = t.host_id and x.trend_id = t.trend_id and x.lo_key <= hi and x.hi_key >= lo
		and ((m.after > m.before) = up) = (x.kind = 'start')
	order by x.kind = 'end', x.change_id limit 1;
	if not found then
		return false;
	end if;
	update rigstat.change_span x set lo_key = lo, hi_key = hi where x.ctid = s.place;
	if s.kind = 'start' then
		update rigstat.change_member m
		set seen = true, before_run_id = (step ->> 'prev')::bigint, at_run_id = (step ->> 'at')::bigint,
			lo_run_id = (step ->> 'lo')::bigint, hi_run_id = (step ->> 'hi')::bigint,
			before = (step ->> 'before')::float8, after = (step ->> 'after')::float8,
			rel = (step ->> 'rel')::float8, p = (step ->> 'p')::float8, direction = step ->> 'direction'
		where m.host_id = t.host_id and m.change_id = s.change_id and m.trend_id = t.trend_id
			and m.fixed_run_id is null;
		perform rigstat.change_range(s.change_id);
		if s.state = 'withdrawn' then
			perform rigstat.change_set(s.change_id, 'rigstat', 'new', 'found again');
		end if;
	end if;
	return true;
end
$$;
comment on function rigstat.step_known(rigstat.trend, jsonb, text, text) is 'Is this where a known change began or ended?';

-- Back to within half of the jump of the old level: fixed, once that holds for half of the members.
create function rigstat.step_recovers(t rigstat.trend, step jsonb, lo text, hi text) returns boolean
language plpgsql as $$
declare
	m record;
begin
	if step ->> 'direction' = 'worse' then
		return false;
	end if;
	select x.* into m from rigstat.change_member x
	join rigstat.change c using (host_id, change_id)
	join rigstat.change_span s on s.host_id = x.host_id and s.change_id = x.change_id and s.trend_id = x.trend_id
		and s.kind = 'start' and s.lo_key < lo
	where x.host_id = t.host_id and x.trend_id = t.trend_id and x.fixed_run_id is null and x.direction <> 'better'
		and c.state in ('new', 'confirmed', 'accepted', 'reopened', 'fixed')
		and (x.after > x.before) <> ((step ->> 'after')::float8 > (step ->> 'before')::float8)
		and abs((step ->> 'after')::float8 - x.before) <= 0.5 * abs(x.after - x.before)
	order by s.lo_key desc limit 1;
	if not found then
		return false;
	end if;
	update rigstat.change_member x set fixed_run_id = (step ->> 'at')::bigint, seen = true
	where x.host_id = m.host_id and x.change_id = m.change_id and x.trend_id = m.trend_id;
	insert into rigstat.change_span (host_id, change_id, trend_id, kind, lo_key, hi_key)
	values (t.host_id, m.change_id, t.trend_id, 'end', lo, hi);
	if (select 2 * count(x.fixed_run_id) >= count(*) from rigstat.change_member x where x.change_id = m.change_id) then
		update rigstat.change c set evidence = jsonb_build_object('run_id', (step ->> 'at')::bigint, 'level',
			(step ->> 'after')::float8, 'before', m.before, 'trend_id', t.trend_id, 'p', (step ->> 'p')::float8)
		where c.change_id = m.change_id and c.state <> 'fixed';
		perform rigstat.change_set(m.change_id, 'rigstat', 'fixed', 'the level is back');
	end if;
	return true;
end
$$;
comment on function rigstat.step_recovers(rigstat.trend, jsonb, text, text) is 'Does this step end an open change?';

create function rigstat.step_returns(t rigstat.trend, step jsonb, lo text, hi text) returns boolean
language plpgsql as $$
declare
	m record;
begin
	select x.* into m from rigstat.change_member x
	join rigstat.change c using (host_id, change_id)
	where x.host_id = t.host_id and x.trend_id = t.trend_id and x.fixed_run_id is not null
		and c.state in ('fixed', 'reopened') and x.direction = step ->> 'direction'
		and (x.after > x.before) = ((step ->> 'after')::float8 > (step ->> 'before')::float8)
		and abs((step ->> 'after')::float8 - x.after) <= 0.5 * abs(x.after - x.before)
	order by x.change_id desc limit 1;
	if not found then
		return false;
	end if;
	perform rigstat.change_join(t, m.change_id, step, lo, hi);
	if rigstat.change_set(m.change_id, 'rigstat', 'reopened', 'the level of before the fix returned') then
		perform rigstat.change_tell(m.change_id, 'reopened');
	end if;
	return true;
end
$$;
comment on function rigstat.step_returns(rigstat.trend, jsonb, text, text) is 'Does a fixed change return here?';

create function rigstat.step_is_new(t rigstat.trend, step jsonb, lo text, hi text) returns void language plpgsql as $$
declare
	held jsonb := jsonb_strip_nulls(jsonb_build_object('branch', t.context -> 'branch'));
	change bigint;
begin
	-- one change of the box, seen in another metric or statistic
	select c.change_id into change from rigstat.change c
	join rigstat.change_span s using (host_id, change_id)
	where c.host_id = t.host_id and c.context = held and c.order_by is not distinct from t.order_by
		and c.state <> 'withdrawn' and s.kind = 'start' and s.lo_key <= hi and s.hi_key >= lo
		and not exists (select from rigstat.change_member m where m.host_id = c.host_id
			and m.change_id = c.change_id and m.trend_id = t.trend_id)
	order by c.change_id limit 1;
	if not found then
		insert into rigstat.change (host_id, context, order_by, origin, direction, lo_key, hi_key)
		values (t.host_id, held, t.order_by, 'found', step ->> 'direction', lo, hi)
		returning change_id into change;
		perform rigstat.change_say(change, 'rigstat', null, 'new', 'found');
	end if;
	perform rigstat.change_join(t, change, step, lo, hi);
	perform rigstat.change_tell(change, 'new') from rigstat.change c where c.change_id = change and c.state = 'new';
end
$$;
comment on function rigstat.step_is_new(rigstat.trend, jsonb, text, text) is 'A change that was not known, grouped by host and range';

create function rigstat.point_key(t rigstat.trend, run bigint) returns text language sql stable as $$
	select p.sort_key from rigstat.trend_point p
	where p.host_id = t.host_id and p.trend_id = t.trend_id and p.run_id = run
$$;
comment on function rigstat.point_key(rigstat.trend, bigint) is 'Where a run stands in a trend';

-- Stores what the analysis of revision `rev` found (server/track.c writes res). Changes nothing twice.
create function rigstat.track_store(trend bigint, rev bigint, res jsonb) returns void language plpgsql as $$
declare
	t rigstat.trend;
	step jsonb;
	lo text;
	hi text;
	from_key text;
	gone bigint;
begin
	perform pg_advisory_xact_lock(7309453, 4);	-- changes are grouped over trends
	select x.* into t from rigstat.trend x where x.trend_id = trend for update;
	if not found or t.computed >= rev then
		return;
	end if;
	from_key := rigstat.point_key(t, (res ->> 'from_run')::bigint);
	update rigstat.trend x
	set reading = res ->> 'reading', result = res - 'steps' - 'outliers', computed = rev, computed_at = now(),
		claimed_until = null
	where x.host_id = t.host_id and x.trend_id = t.trend_id;
	update rigstat.trend_point p set outlier = not p.outlier
	where p.host_id = t.host_id and p.trend_id = t.trend_id and p.sort_key >= from_key
		and p.outlier <> (res -> 'outliers' @> to_jsonb(p.run_id));
	if res ->> 'reading' = 'history_too_short' then
		return;
	end if;
	update rigstat.change_member m set seen = false
	from rigstat.change c, rigstat.change_span s
	where m.host_id = t.host_id and m.trend_id = t.trend_id and c.host_id = m.host_id
		and c.change_id = m.change_id and c.origin = 'found' and s.host_id = m.host_id
		and s.change_id = m.change_id and s.trend_id = m.trend_id and s.kind = 'start' and s.lo_key > from_key;
	for step in select * from jsonb_array_elements(res -> 'steps') loop
		lo := rigstat.point_key(t, (step ->> 'near_lo')::bigint);
		hi := rigstat.point_key(t, (step ->> 'near_hi')::bigint);
		continue when lo is null or hi is null;	-- the run went meanwhile: the next revision sees it
		if not (rigstat.step_known(t, step, lo, hi) or rigstat.step_recovers(t, step, lo, hi)
			or rigstat.step_returns(t, step, lo, hi)) then
			perform rigstat.step_is_new(t, step, lo, hi);
		end if;
	end loop;
	for gone in
		select c.change_id from rigstat.change c join rigstat.change_member m using (host_id, change_id)
		where m.host_id = t.host_id and m.trend_id = t.trend_id and c.state = 'new' and c.origin = 'found'
			and not exists (select from rigstat.change_member x where x.change_id = c.change_id and x.seen)
	loop
		perform rigstat.change_set(gone, 'rigstat', 'withdrawn', 'more runs do not bear it out');
	end loop;
end
$$;
comment on function rigstat.track_store(bigint, bigint, jsonb) is 'Stores an analysis and what it means for the changes';

-- A new order of versions: all points with this key move.
create function rigstat.order_set(wanted_key text, wanted_kind text, names text[]) returns bigint
language plpgsql as $$
declare
	o rigstat.version_order;
	n bigint;
begin
	insert into rigstat.version_order as y (key, kind, versions) values (wanted_key, wanted_kind, names)
	on conflict (key) do update set kind = excluded.kind, versions = excluded.versions, updated_at = now()
	returning y.* into o;
	update rigstat.trend_point p set pos = rigstat.version_pos(o, p.version)
	from rigstat.trend t
	where t.host_id = p.host_id and t.trend_id = p.trend_id and t.order_by = o.key
		and p.pos is distinct from rigstat.version_pos(o, p.version);
	perform rigstat.trend_count(t.host_id, t.trend_id) from rigstat.trend t where t.order_by = o.key;
	-- runs that have the key but were ordered otherwise
	insert into rigstat.track_queue (host_id, run_id)
	select r.host_id, r.run_id from rigstat.run r
	where (r.factors ? o.key or r.tags ? o.key) and r.state <> 'running' and r.kind <> 'watch'
		and not exists (select from rigstat.trend_point p join rigstat.trend t using (host_id, trend_id)
			where p.host_id = r.host_id and p.run_id = r.run_id and t.order_by = o.key)
	on conflict do nothing;
	update rigstat.change_span s
	set lo_key = rigstat.point_key(t, m.lo_run_id), hi_key = rigstat.point_key(t, m.hi_run_id)
	from rigstat.change_member m, rigstat.trend t
	where t.order_by = o.key and m.host_id = t.host_id and m.trend_id = t.trend_id and s.host_id = m.host_id
		and s.change_id = m.change_id and s.trend_id = m.trend_id and s.kind = 'start'
		and rigstat.point_key(t, m.lo_run_id) is not null and rigstat.point_key(t, m.hi_run_id) is not null;
	select count(*) into n from rigstat.trend t where t.order_by = o.key;
	return n;
end
$$;
comment on function rigstat.order_set(text, text, text[]) is 'Declares how versions of a key follow one another; how many trends use it';
