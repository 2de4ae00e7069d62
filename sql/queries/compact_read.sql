-- Staged records in order, at most about 8 MiB and 2000 rows. $1 host, $2 stream, $3 run.
-- Columns: first_seq, last_seq, samples, received_at, records.
select s.first_seq, s.last_seq, s.samples, s.received_at, s.records
from (
	select t.*, sum(length(t.records)) over (order by t.first_seq) as upto,
		row_number() over (order by t.first_seq) as n
	from rigstat.record_staging t
	where t.host_id = $1::bigint and t.stream_id = $2::uuid and t.run_no = $3::bigint
) s
where s.n = 1 or (s.upto <= 8388608 and s.n <= 2000)
order by s.first_seq
