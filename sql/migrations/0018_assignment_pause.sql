-- Experiments pause and go on, and outlive a restart of their agent.

alter table rigstat.assignment
	drop constraint assignment_state_check,
	add constraint assignment_state_check check (state in
		('queued', 'taken', 'running', 'paused', 'done', 'failed', 'refused', 'cancelled')),
	add pause boolean not null default false,	-- a person wants it to pause; between two runs it will
	add made_by text not null default '' check (length(made_by) <= 128),
	add takes int not null default 0,		-- how often an agent began it or went on with it
	add progress jsonb check (jsonb_typeof(progress) = 'object');
comment on column rigstat.assignment.progress is 'How far it is, as the agent says: runs, the present cell, the time left (docs/PROTOCOL.md)';

alter table rigstat.experiment
	add tags jsonb not null default '{}' check (jsonb_typeof(tags) = 'object');

-- e_5 or a name: then the newest of that name.
create function rigstat.experiment_of(id bigint, wanted text) returns bigint language sql stable as $$
	select case when id is null then (select max(e.experiment_id) from rigstat.experiment e where e.name = wanted)
		else (select e.experiment_id from rigstat.experiment e where e.experiment_id = id) end
$$;
comment on function rigstat.experiment_of(bigint, text) is 'The experiment of this id, or else the newest of this name; null when there is none';
