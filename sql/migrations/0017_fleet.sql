-- What an agent says about itself between its records, hosts that are retired or held by a person.

alter table rigstat.agent
	add report jsonb check (jsonb_typeof(report) = 'object'),
	add reported_at timestamptz;
comment on column rigstat.agent.clock_offset_ns is 'The box''s clock minus ours at its last heartbeat: positive when the box is ahead';
comment on column rigstat.agent.report is 'The members of the last heartbeat, checked (docs/PROTOCOL.md)';

alter table rigstat.host
	add reserved_by text check (length(reserved_by) between 1 and 128),
	add reserved_reason text not null default '' check (length(reserved_reason) <= 400),
	add reserved_at timestamptz,
	add reserved_until timestamptz,		-- null: until it is released
	add settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
	add check ((reserved_by is null) = (reserved_at is null));
comment on column rigstat.host.settings is 'What the server tells the agent to do otherwise than its own file says; a fixed set of keys';

-- A retired host keeps its data and takes no more. SQLSTATE RS403: the text is for people.
create or replace function rigstat.host_for(wanted text, is_demo boolean) returns bigint
language plpgsql as $$
declare
	id bigint;
begin
	insert into rigstat.host as h (name, demo) values (wanted, is_demo)
	on conflict (name) do update set demo = h.demo and excluded.demo where h.retired_at is null
	returning host_id into id;
	if id is null then
		raise exception 'host ''%'' is retired and takes no more runs', wanted using errcode = 'RS403';
	end if;
	return id;
end
$$;
