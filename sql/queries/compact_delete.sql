-- The records that were packed. $1 host, $2 stream, $3 run, $4 first and $5 last record.
delete from rigstat.record_staging
where host_id = $1::bigint and stream_id = $2::uuid and run_no = $3::bigint and first_seq between $4::bigint and $5::bigint
