-- Live pages: every change that a page may show is told on the channel `rigstat`, in one format
-- (server/live_note.h reads it). Triggers do it, so that no statement, of today or tomorrow, can forget.

create function rigstat.tell(kind text, what text, host_id bigint, experiment_id bigint, run_id bigint)
returns void language sql as $$
	select pg_notify('rigstat', json_strip_nulls(json_build_object('kind', kind, 'what', what,
		'host', host_id, 'experiment', experiment_id, 'run', run_id))::text)
$$;
comment on function rigstat.tell(text, text, bigint, bigint, bigint) is
	'Notifies every server on commit. kind: run, assignment, experiment, host, token; what: new, progress, end, changed';

-- A statement that touches more rows than this tells only that much has changed: an import of a
-- lab's past must not flood every open page.
create function rigstat.tell_runs() returns trigger language plpgsql as $$
begin
	if (select count(*) from (select 1 from now_rows limit 65) x) > 64 then
		perform rigstat.tell('run', 'changed', null, null, null);
	elsif tg_op = 'INSERT' then
		perform rigstat.tell('run', 'new', n.host_id, n.experiment_id, n.run_id) from now_rows n;
	else
		perform rigstat.tell('run', case
			when o.state = 'running' and n.state <> 'running' then 'end'
			when (o.excluded, o.note, o.tags, o.deleted_at) is distinct from
				(n.excluded, n.note, n.tags, n.deleted_at) then 'changed'
			else 'progress' end, n.host_id, n.experiment_id, n.run_id)
		from now_rows n join old_rows o using (host_id, run_id);
	end if;
	return null;
end
$$;
create trigger tell_new after insert on rigstat.run
	referencing new table as now_rows for each statement execute function rigstat.tell_runs();
create trigger tell_changed after update on rigstat.run
	referencing old table as old_rows new table as now_rows
	for each statement execute function rigstat.tell_runs();

-- Small tables: one note a row. A queued assignment is always new: agents that wait look again.
create function rigstat.tell_row() returns trigger language plpgsql as $$
begin
	perform rigstat.tell(tg_argv[0], case when tg_op = 'INSERT' or to_jsonb(new) ->> 'state' = 'queued' then 'new' else 'changed' end,
		(to_jsonb(new) ->> 'host_id')::bigint, (to_jsonb(new) ->> 'experiment_id')::bigint, null);
	return null;
end
$$;
create trigger tell after insert or update on rigstat.assignment
	for each row execute function rigstat.tell_row('assignment');
create trigger tell after insert or update on rigstat.experiment
	for each row execute function rigstat.tell_row('experiment');
-- An upsert that changes nothing (a heartbeat's) is no news.
create trigger tell_new after insert on rigstat.host
	for each row execute function rigstat.tell_row('host');
create trigger tell_changed after update on rigstat.host
	for each row when (old is distinct from new) execute function rigstat.tell_row('host');
create trigger tell after insert or update of revoked_at, expires_at, scopes on rigstat.token
	for each row execute function rigstat.tell_row('token');
