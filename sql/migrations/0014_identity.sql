-- Boxes enrol themselves with a code that an administrator made; tokens have successors.

alter table rigstat.token drop constraint token_scopes_check;
alter table rigstat.token
	add constraint token_scopes_check check (scopes <@ array['read', 'ingest', 'write', 'admin', 'gate']),
	add replaces text references rigstat.token on delete set null,	-- revoked when this one is first used
	add code_id text;						-- the code that it was made with
create index token_host on rigstat.token (host_id) where host_id is not null;
create index token_replaces on rigstat.token (replaces) where replaces is not null;

alter table rigstat.host add machine uuid;
comment on column rigstat.host.machine is 'The DMI UUID of the machine that this host is, when it enrolled with a code that asks for it';
create unique index host_machine on rigstat.host (machine) where machine is not null;

create table rigstat.enroll_code (
	code_id		text primary key check (code_id ~ '^[a-z0-9]{8}$'),
	digest		bytea not null check (length(digest) = 32),	-- SHA-256 of the secret
	name		text not null default '' check (length(name) <= 128),
	host		text check (length(host) between 1 and 128),	-- only this host; null: the name that the box gives
	uses_max	int not null default 1 check (uses_max between 1 and 100000),
	uses		int not null default 0 check (uses <= uses_max),
	bind_machine	boolean not null default false,
	replace_machine	boolean not null default false,			-- another machine may become the host
	token_days	int check (token_days between 1 and 36500),	-- life of the tokens; null: no end
	created_at	timestamptz not null default now(),
	expires_at	timestamptz not null,
	revoked_at	timestamptz
);
comment on table rigstat.enroll_code is 'Codes with which boxes enrol: rsc_<code_id>_<secret>; only the hash of the secret is kept';

-- The digest of the code has been compared. An answer may get lost: the same token again is the same enrolment.
-- The agent makes its token itself and sends the hash, so that no secret is kept here to answer again.
create function rigstat.enroll(the_code text, the_token text, the_digest bytea, asked text, the_machine uuid)
returns table (outcome text, host text, host_id bigint, expires_at timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
	c rigstat.enroll_code;
	t rigstat.token;
	h rigstat.host;
	in_use boolean;
begin
	select * into c from rigstat.enroll_code e where e.code_id = the_code for update;
	if not found then
		return query select 'unknown', null::text, null::bigint, null::timestamptz;
		return;
	end if;
	select * into t from rigstat.token k where k.token_id = the_token;
	if found then
		return query select 'ok', x.name, x.host_id, t.expires_at from rigstat.host x
		where x.host_id = t.host_id and t.code_id = the_code and t.digest = the_digest and t.revoked_at is null;
		if not found then
			outcome := 'token-taken';
			return next;
		end if;
		return;
	end if;
	outcome := case when c.revoked_at is not null then 'revoked' when c.expires_at <= now() then 'expired'
		when c.uses >= c.uses_max then 'used' when c.bind_machine and the_machine is null then 'machine-needed' end;
	if outcome is not null then
		expires_at := c.expires_at;
		return next;
		return;
	end if;

	-- The same machine gets its host back, whatever it is called now.
	select * into h from rigstat.host x where x.machine = the_machine for update;
	if found and h.name <> c.host then
		if not c.replace_machine then
			outcome := 'other-host';
			host := h.name;
			return next;
			return;
		end if;
		update rigstat.host x set machine = null where x.host_id = h.host_id;
		h := null;
	end if;
	if h.host_id is null then
		insert into rigstat.host (name) values (coalesce(c.host, asked)) on conflict (name) do nothing;
		select * into h from rigstat.host x where x.name = coalesce(c.host, asked) for update;
		in_use := exists (select from rigstat.token k where k.host_id = h.host_id and k.revoked_at is null
			and (k.expires_at is null or k.expires_at > now()));
		outcome := case when h.machine is not null and not c.replace_machine then 'other-machine'
			when in_use and c.host is null then 'taken' end;
		if outcome is not null then
			host := h.name;
			return next;
			return;
		end if;
	end if;

	update rigstat.token k set revoked_at = now()
	where k.host_id = h.host_id and k.revoked_at is null and 'ingest' = any (k.scopes);
	update rigstat.host x set retired_at = null,
		machine = case when c.bind_machine or c.replace_machine then the_machine else x.machine end
	where x.host_id = h.host_id;
	update rigstat.enroll_code e set uses = e.uses + 1 where e.code_id = the_code;
	return query insert into rigstat.token as k (token_id, digest, name, scopes, host_id, code_id, expires_at)
		values (the_token, the_digest, 'agent of ' || h.name, array['ingest'], h.host_id, the_code,
			now() + make_interval(days => c.token_days))
		returning 'ok', h.name, h.host_id, k.expires_at;
end
$$;
