-- $1 annotation.
delete from rigstat.annotation where annotation_id = $1::bigint returning annotation_id
