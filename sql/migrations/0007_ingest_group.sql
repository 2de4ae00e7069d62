-- A group of posts in one prepared statement with arrays: one round trip and no parsing; its CPU was within noise of two COPYs
-- around apply_marks() (tests/bench/ingest).

drop function rigstat.apply_marks();

-- SQLSTATE RS404: a stream is not known; RS409: its mark moved (another server, a restored database). The text is
-- the stream id. -1 is no CRC.
create function rigstat.ingest_group(
	hosts bigint[], streams uuid[], expect_seqs bigint[], expect_crcs bigint[], next_seqs bigint[], last_crcs bigint[],
	mark_samples bigint[], gap_samples bigint[],
	part_hosts bigint[], part_streams uuid[], runs bigint[], firsts bigint[], lasts bigint[], first_nss bigint[],
	last_nss bigint[], part_samples bigint[], run_ends bigint[], bodies bytea[]) returns void language plpgsql as $$
declare
	m record;
begin
	-- Sorted, so that two servers cannot deadlock.
	for m in
		select i.host_id, i.stream_id, i.expect_seq, nullif(i.expect_crc, -1) as expect_crc, i.next_seq,
			nullif(i.last_crc, -1) as last_crc, i.samples, i.gap_samples
		from unnest(hosts, streams, expect_seqs, expect_crcs, next_seqs, last_crcs, mark_samples,
			ingest_group.gap_samples)
			i (host_id, stream_id, expect_seq, expect_crc, next_seq, last_crc, samples, gap_samples)
		order by i.host_id, i.stream_id
	loop
		update rigstat.ingest_stream s
		set next_seq = m.next_seq, last_crc = m.last_crc, last_seen = clock_timestamp(),
			samples = s.samples + m.samples, gap_samples = s.gap_samples + m.gap_samples
		where s.host_id = m.host_id and s.stream_id = m.stream_id
			and s.next_seq = m.expect_seq and s.last_crc is not distinct from m.expect_crc;
		if not found then
			perform 1 from rigstat.ingest_stream s
			where s.host_id = m.host_id and s.stream_id = m.stream_id;
			if not found then
				raise exception '%', m.stream_id using errcode = 'RS404';
			end if;
			raise exception '%', m.stream_id using errcode = 'RS409';
		end if;
	end loop;
	insert into rigstat.record_staging (host_id, stream_id, run_no, first_seq, last_seq, first_ns, last_ns, samples,
		run_end, records)
	select p.host_id, p.stream_id, p.run_no, p.first_seq, p.last_seq, p.first_ns, p.last_ns, p.samples,
		p.run_end <> 0, p.records
	from unnest(part_hosts, part_streams, runs, firsts, lasts, first_nss, last_nss, part_samples, run_ends, bodies)
		p (host_id, stream_id, run_no, first_seq, last_seq, first_ns, last_ns, samples, run_end, records);
end
$$;
comment on function rigstat.ingest_group(bigint[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[],
	bigint[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bytea[])
	is 'Moves the marks of a group of posts and stages their records, or raises RS404 / RS409 and does neither';
