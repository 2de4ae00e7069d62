-- Columns: id, name, host, uses, uses_max, bind, replace, token days, created, expires, revoked.
select code_id, name, host, uses, uses_max, bind_machine, replace_machine, token_days, created_at, expires_at, revoked_at
from rigstat.enroll_code
order by created_at desc
limit 1000
