-- What a person wants of a metric; null leaves a column. $1 name, $2 unit, $3 title, $4 better, $5 description
-- (of the catalogue, for a metric that no run has yet), $6 better, $7 margin, $8 primary, $9 title.
insert into rigstat.metric as m (name, unit, title, better, description, margin_rel, primary_stat, edited)
values ($1::text, $2::text, coalesce($9::text, $3::text), coalesce($6::text, $4::text), $5::text, $7::float8,
	$8::text, true)
on conflict (name) do update
set better = coalesce($6::text, m.better), margin_rel = coalesce($7::float8, m.margin_rel),
	primary_stat = coalesce($8::text, m.primary_stat), title = coalesce($9::text, m.title), edited = true
returning m.metric_id
