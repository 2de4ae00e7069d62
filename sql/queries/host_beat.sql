-- A heartbeat. $1 host name, $2 remote address, $3 the checked report.
-- Columns: reserved_by, reserved_reason, reserved_at, reserved_until, settings. No row: the host is retired.
with h as (
	insert into rigstat.host as o (name) values ($1::text)
	on conflict (name) do update set name = excluded.name where o.retired_at is null
	returning host_id, reserved_by, reserved_reason, reserved_at, reserved_until, settings
), a as (
	insert into rigstat.agent (host_id, remote_addr, version, boot_id, clock_offset_ns, report, last_seen, reported_at)
	select host_id, $2::text, $3::jsonb ->> 'version', $3::jsonb ->> 'boot_id',
		($3::jsonb ->> 'clock_offset_ns')::bigint, $3::jsonb, now(), now()
	from h
	on conflict (host_id) do update set remote_addr = excluded.remote_addr,
		version = coalesce(excluded.version, agent.version), boot_id = coalesce(excluded.boot_id, agent.boot_id),
		clock_offset_ns = excluded.clock_offset_ns, report = excluded.report, last_seen = now(), reported_at = now()
)
select case when reserved_until is null or reserved_until > now() then reserved_by end, reserved_reason, reserved_at,
	reserved_until, settings::text
from h
