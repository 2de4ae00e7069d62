-- $1 import_id.
select i.bytes, i.source from rigstat.import i where i.import_id = $1::bigint
