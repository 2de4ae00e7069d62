-- Where a stream stands. $1 stream, $2 host or null for any. Columns: next_seq.
select s.next_seq
from rigstat.ingest_stream s join rigstat.host h using (host_id)
where s.stream_id = $1::uuid and ($2::text is null or h.name = $2::text)
order by s.next_seq desc
limit 1
