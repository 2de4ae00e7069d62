-- Finds or makes host, agent and stream for a post. $1 host name, $2 stream, $3 remote address.
-- Columns: host_id, next_seq, last_crc. No row: the host is retired.
with h as (
	insert into rigstat.host as o (name) values ($1::text)
	on conflict (name) do update set name = excluded.name where o.retired_at is null
	returning host_id
), a as (
	insert into rigstat.agent (host_id, remote_addr, last_seen) select host_id, $3::text, now() from h
	on conflict (host_id) do update set remote_addr = excluded.remote_addr, last_seen = now()
)
insert into rigstat.ingest_stream (host_id, stream_id) select host_id, $2::uuid from h
on conflict (host_id, stream_id) do update set stream_id = excluded.stream_id
returning host_id, next_seq, last_crc
