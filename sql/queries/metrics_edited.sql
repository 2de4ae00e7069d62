-- Metrics that a person changed.
select m.name, m.better, m.margin_rel, m.primary_stat
from rigstat.metric m where m.edited
order by m.name
