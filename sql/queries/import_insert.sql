-- $1 SHA-256, $2 bytes, $3 format, $4 source, $5 options.
insert into rigstat.import (sha256, bytes, format, source, options)
values ($1::bytea, $2::bytea, $3::text, $4::text, $5::jsonb)
returning import_id, created_at
