-- Trends as documents, a page. The marked parts are replaced (server/sql_text.h).
select t.trend_id, rigstat.trend_doc(t)::text, ''::text /*key*/
from rigstat.trend t
join rigstat.host h on h.host_id = t.host_id
join rigstat.metric m on m.metric_id = t.metric_id
where true /*where*/ and true /*after*/
order by 1 /*order*/ limit 1
