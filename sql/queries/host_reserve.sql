-- A person takes a host. $1 host name, $2 by whom, $3 reason, $4 for how many seconds (null: until released).
-- Columns: got, reserved_by, reserved_reason, reserved_at, reserved_until. No row: there is no such host; got is
-- false when somebody else holds it.
with h as (
	select host_id, reserved_by, reserved_reason, reserved_at, reserved_until,
		reserved_by is null or reserved_by = $2::text or reserved_until <= now() as free
	from rigstat.host where name = $1::text and retired_at is null
	for update
), got as (
	update rigstat.host o
	set reserved_by = $2::text, reserved_reason = $3::text, reserved_at = now(),
		reserved_until = now() + make_interval(secs => $4::float8)
	from h where o.host_id = h.host_id and h.free
	returning o.reserved_by, o.reserved_reason, o.reserved_at, o.reserved_until
)
select true, reserved_by, reserved_reason, reserved_at, reserved_until from got
union all
select false, reserved_by, reserved_reason, reserved_at, reserved_until from h where not free
