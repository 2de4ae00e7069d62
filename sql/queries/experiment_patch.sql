-- What people call an experiment and say about it. $1 id or null, $2 its name then, $3 new name or null, $4 note,
-- $5 set note, $6 tags or null. Columns: experiment_id. No row: there is none.
update rigstat.experiment
set name = coalesce($3::text, name), note = case when $5::boolean then coalesce($4::text, '') else note end,
	tags = coalesce($6::jsonb, tags)
where experiment_id = rigstat.experiment_of($1::bigint, $2::text)
returning experiment_id
