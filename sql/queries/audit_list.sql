-- What was changed, newest first. The marked parts are replaced. $1 action, $2 id of a token, $3 part of an object: null
-- for all. Columns: id, at, token, who, action, object, detail, remote, request, key.
select a.audit_id, a.at, a.token_id, a.who, a.action, a.object, a.detail, a.remote, a.request_id,
	''::text /*key*/
from rigstat.audit a
where ($1::text is null or a.action = $1::text) and ($2::text is null or a.token_id = $2::text)
	and ($3::text is null or strpos(a.object, $3::text) > 0) and true /*after*/
order by 1 /*order*/ limit 1
