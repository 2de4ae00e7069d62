-- What an agent may know of its host. $1 host name.
-- Columns: reserved_by, reserved_reason, reserved_at, reserved_until, settings, retired. No row: unknown so far.
select case when reserved_until is null or reserved_until > now() then reserved_by end, reserved_reason, reserved_at,
	reserved_until, settings::text, retired_at is not null
from rigstat.host
where name = $1::text
