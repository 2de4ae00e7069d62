-- Runs that were imported from the same bytes. $1 SHA-256, $2 demo.
select r.import_index, r.run_id, r.import_id, encode(r.labels_sha256, 'hex'), h.name, e.name, r.factors::text,
	i.created_at
from rigstat.import i
join rigstat.run r on r.import_id = i.import_id
join rigstat.host h on h.host_id = r.host_id
left join rigstat.experiment e on e.experiment_id = r.experiment_id
where i.sha256 = $1::bytea and r.deleted_at is null and r.demo = $2::boolean
order by r.import_index, r.run_id
