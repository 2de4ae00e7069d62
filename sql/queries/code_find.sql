-- $1 id. Columns: digest.
select digest from rigstat.enroll_code where code_id = $1::text
