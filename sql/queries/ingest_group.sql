-- A group of posts: a mark a post ($1 to $8), a row a post and run ($9 to $18). See the function.
select rigstat.ingest_group($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
	$8::bigint[], $9::bigint[], $10::uuid[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
	$16::bigint[], $17::bigint[], $18::bytea[])::text
