-- Who changed what.

create table rigstat.audit (
	audit_id	bigint generated always as identity primary key,
	at		timestamptz not null default now(),
	token_id	text,			-- null: no token (an open server, an enrolment, the command line)
	who		text not null,		-- name of the token at that time, or what it was without one
	action		text not null,
	object		text not null,
	detail		text,			-- the request's body where that says what was changed
	remote		text,
	request_id	text
);
comment on table rigstat.audit is 'Every change that a person, an agent or a script made through REST or the command line; kept until somebody deletes rows';
