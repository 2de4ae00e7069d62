-- Where a stream stands. $1 stream. Columns: next_seq.
select next_seq from rigstat.ingest_stream where stream_id = $1::uuid order by next_seq desc limit 1
