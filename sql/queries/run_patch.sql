-- Changes what people say about a run; null leaves a column, $3 and $7 say that null was meant.
-- $1 run_id, $2 excluded, $3 set excluded, $4 tags, $5 factors, $6 note, $7 set note.
update rigstat.run r
set excluded = case when $3::boolean then $2::text else excluded end,
	tags = coalesce($4::jsonb, tags),
	factors = coalesce($5::jsonb, factors),
	note = case when $7::boolean then coalesce($6::text, '') else note end,
	revision = revision + 1, updated_at = now()
where r.run_id = $1::bigint and r.deleted_at is null
	and ($5::jsonb is null or r.kind = 'imported' or r.factors = $5::jsonb)
returning r.run_id
