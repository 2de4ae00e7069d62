-- $1 JSON array of {sha256 (hex), facts}.
insert into rigstat.environment (sha256, facts)
select decode(x.sha256, 'hex'), x.facts
from jsonb_to_recordset($1::jsonb) x (sha256 text, facts jsonb)
order by 1
on conflict (sha256) do nothing
