-- $1 host, $2 JSON array of checked GAP items.
insert into rigstat.gap (host_id, stream_id, from_seq, to_seq, samples, reason, text)
select $1::bigint, x.stream::uuid, x.from_seq, x.to_seq, coalesce(x.samples, 0), x.reason, coalesce(x.text, '')
from jsonb_to_recordset($2::jsonb) x (stream text, from_seq bigint, to_seq bigint, samples bigint, reason text, text text)
on conflict (host_id, stream_id, from_seq) do nothing
