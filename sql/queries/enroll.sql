-- $1 code, $2 id of the token, $3 its digest, $4 name that the box gives itself, $5 its DMI UUID or null.
-- Columns: outcome, host, host_id, expires_at.
select outcome, host, host_id, expires_at
from rigstat.enroll($1::text, $2::text, $3::bytea, $4::text, $5::text::uuid)
