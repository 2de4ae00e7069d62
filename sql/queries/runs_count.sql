-- How many runs a selector chooses.
select count(*)
from rigstat.run r
join rigstat.host h on h.host_id = r.host_id
left join rigstat.experiment e on e.experiment_id = r.experiment_id
where r.deleted_at is null and true /*where*/
