-- Experiments that are made on the server and picked up by agents.

create table rigstat.assignment (
	host_id		bigint not null references rigstat.host on delete cascade,
	assignment_id	bigint generated always as identity,
	experiment_id	bigint not null references rigstat.experiment on delete cascade,
	plan		jsonb not null check (jsonb_typeof(plan) = 'object'),
	state		text not null default 'queued'
		check (state in ('queued', 'taken', 'running', 'done', 'failed', 'refused', 'cancelled')),
	text		text not null default '' check (length(text) <= 2000),
	cancel		boolean not null default false,	-- a person took it back
	created_at	timestamptz not null default now(),
	taken_at	timestamptz,
	seen_at		timestamptz,			-- last report of the agent
	ended_at	timestamptz,
	primary key (host_id, assignment_id),
	unique (assignment_id),
	unique (experiment_id, host_id)
);
comment on table rigstat.assignment is 'An experiment that a host is asked to carry out; plan names tunables and a workload of the box, never a path or a command';
-- One at a time on a box, also when two of its agents ask at the same moment.
create unique index assignment_one on rigstat.assignment (host_id) where state in ('taken', 'running');
create index assignment_open on rigstat.assignment (host_id, assignment_id) where state in ('queued', 'taken', 'running');
