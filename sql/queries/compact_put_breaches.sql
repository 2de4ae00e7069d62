-- $1 host, $2 run_id, $3 JSON array of checked BREACH items with `no` and `phase`.
insert into rigstat.breach (host_id, run_id, breach_no, t_ns, cpu, late_ns, due_ns, read, phase, holders)
select $1::bigint, $2::bigint, x.no, x.t_ns, x.cpu, x.late_ns, x.due_ns, coalesce(x.read, false), x.phase,
	coalesce(x.holders, '[]')
from jsonb_to_recordset($3::jsonb) x (no int, t_ns bigint, cpu int, late_ns bigint, due_ns bigint, read boolean,
	phase smallint, holders jsonb)
