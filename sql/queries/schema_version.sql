-- Columns: version, name.
select version, name from rigstat.schema_version order by version desc limit 1
