-- $1 change, $2 who, $3 state or null, $4 reason or null, $5 {note, owner, issue}. Columns: change_id or null.
select rigstat.change_edit($1::bigint, $2::text, $3::text, $4::text, $5::jsonb)
