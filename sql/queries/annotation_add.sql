-- $1 host or null for the lab, $2 from and $3 to (ns, or null), $4 text, $5 tags, $6 who. No row: there is no such host.
insert into rigstat.annotation as a (host_id, from_ns, to_ns, text, tags, created_by)
select (select h.host_id from rigstat.host h where h.name = $1::text), $2::bigint, $3::bigint, $4::text, $5::text[], $6::text
where $1::text is null or exists (select from rigstat.host h where h.name = $1::text)
returning rigstat.annotation_doc(a)::text
