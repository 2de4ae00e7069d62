-- Ends a reservation. $1 host name, $2 who asks, $3 also that of somebody else.
-- Columns: released, reserved_by, reserved_reason, reserved_at, reserved_until, as it was. No row: nobody holds it.
with h as (
	select host_id, reserved_by, reserved_reason, reserved_at, reserved_until, reserved_by = $2::text or $3::boolean as may
	from rigstat.host
	where name = $1::text and reserved_by is not null and (reserved_until is null or reserved_until > now())
	for update
), done as (
	update rigstat.host o
	set reserved_by = null, reserved_reason = '', reserved_at = null, reserved_until = null
	from h where o.host_id = h.host_id and h.may
)
select h.may, h.reserved_by, h.reserved_reason, h.reserved_at, h.reserved_until
from h
