-- What an experiment would do on its boxes, asked of the boxes themselves. Kept for a day.

create table rigstat.dry_run (
	dry_run_id	bigint generated always as identity primary key,
	name		text not null,
	design		jsonb not null check (jsonb_typeof(design) = 'object'),
	plan		jsonb not null check (jsonb_typeof(plan) = 'object'),
	created_at	timestamptz not null default now()
);
comment on table rigstat.dry_run is 'A question: what would this experiment change, and what of it is refused?';

create table rigstat.dry_run_host (
	dry_run_id	bigint not null references rigstat.dry_run on delete cascade,
	name		text not null,			-- as it was asked for; there may be no such host
	host_id		bigint references rigstat.host on delete cascade,
	state		text not null check (state in ('asked', 'taken', 'answered', 'not_asked')),
	ok		boolean,			-- it would be carried out; null: not known
	text		text not null default '' check (length(text) <= 2000),
	answer		jsonb check (jsonb_typeof(answer) = 'object'),
	primary key (dry_run_id, name)
);
comment on table rigstat.dry_run_host is 'One host''s answer to a dry run, or why it was not asked';
create index dry_run_asked on rigstat.dry_run_host (host_id, dry_run_id) where state = 'asked';
