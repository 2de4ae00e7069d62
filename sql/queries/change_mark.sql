-- $1 trend, $2 run, $3 who, $4 note. Columns: change_id, or null when the trend has no such point or nothing before it.
select rigstat.change_mark($1::bigint, $2::bigint, $3::text, $4::text)
