-- Changes as documents, a page. $1 with their history. The marked parts are replaced (server/sql_text.h).
select c.change_id, rigstat.change_doc(c, $1::boolean)::text, ''::text /*key*/, rigstat.triage_doc()::text
from rigstat.change c
join rigstat.host h on h.host_id = c.host_id
where true /*where*/ and true /*after*/
order by 1 /*order*/ limit 1
