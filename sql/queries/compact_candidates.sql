-- Runs with staged records that can be packed now: new ones, ended ones, those with a closed minute, much
-- data or old data. $1 most rows. Columns: host_id, stream_id, run_no, received_at of the oldest.
select s.host_id, s.stream_id, s.run_no, min(s.received_at)
from rigstat.record_staging s
left join rigstat.run r on r.host_id = s.host_id and r.stream_id = s.stream_id and r.run_no = s.run_no
group by s.host_id, s.stream_id, s.run_no
having s.run_no = 0 or bool_and(r.run_id is null) or bool_or(s.run_end) or bool_or(r.state <> 'running')
	or max(s.last_ns) / 60000000000 > min(s.first_ns) / 60000000000
	or sum(length(s.records)) > 4194304 or min(s.received_at) < now() - interval '90 seconds'
order by min(s.received_at)
limit $1::bigint
