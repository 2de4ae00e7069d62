-- The stream came with other bytes under a number that is stored: a copied or restored box. $1 host id, $2 stream.
update rigstat.ingest_stream set forks = forks + 1 where host_id = $1::bigint and stream_id = $2::uuid and forks < 1000000
