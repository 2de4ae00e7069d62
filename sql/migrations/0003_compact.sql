-- What the compactor needs beside the tables of 0001.

alter table rigstat.run add column first_seq bigint, add column last_seq bigint;
comment on column rigstat.run.first_seq is 'First and last record of the run in its stream, as far as they are packed';

create table rigstat.gap (
	host_id		bigint not null references rigstat.host on delete cascade,
	stream_id	uuid not null,
	from_seq	bigint not null,
	to_seq		bigint not null,
	samples		bigint not null default 0,
	reason		text not null,
	text		text not null default '',
	received_at	timestamptz not null default now(),
	primary key (host_id, stream_id, from_seq)
);
comment on table rigstat.gap is 'Records that an agent declared lost, by stream and number; shown at the runs that they touch';

-- The id of a metric, made from the catalogue's words when it is new. Unlike an upsert it locks no row that
-- exists, so that two compactors cannot deadlock.
create function rigstat.metric_get(p jsonb) returns int language plpgsql as $$
declare
	id int;
begin
	loop
		select m.metric_id into id from rigstat.metric m where m.name = p ->> 'metric';
		if id is not null then
			return id;
		end if;
		insert into rigstat.metric (name, unit, title, better, description)
		values (p ->> 'metric', coalesce(p ->> 'unit', ''), coalesce(p ->> 'title', ''),
			coalesce(p ->> 'better', 'none'), coalesce(p ->> 'description', ''))
		on conflict (name) do nothing;
	end loop;
end
$$;
comment on function rigstat.metric_get(jsonb) is 'The id of a metric by name, made when it is new';

-- Brings gap_samples and the gap notes of the runs of a stream up to date.
create function rigstat.note_gaps(host bigint, stream uuid) returns void language sql as $$
	update rigstat.run r
	set gap_samples = g.samples, revision = r.revision + 1, updated_at = now(),
		notes = coalesce((select jsonb_agg(n) from jsonb_array_elements(r.notes) n
			where n ->> 'code' <> 'gap'), '[]') || g.notes
	from (
		select q.run_id, sum(x.samples)::bigint as samples, jsonb_agg(jsonb_build_object('code', 'gap', 'text',
			format('records %s to %s are missing (%s%s): %s', x.from_seq, x.to_seq,
				case when x.samples > 0 then x.samples || ' samples, ' else '' end, x.reason, x.text))
			order by x.from_seq) as notes
		from rigstat.run q
		join rigstat.gap x on x.host_id = q.host_id and x.stream_id = q.stream_id
			and x.to_seq >= q.first_seq and x.from_seq <= q.last_seq
		where q.host_id = host and q.stream_id = stream
		group by q.run_id
	) g
	where r.host_id = host and r.run_id = g.run_id
		and (r.gap_samples <> g.samples or not r.notes @> g.notes)
$$;
comment on function rigstat.note_gaps(bigint, uuid) is 'Counts and names the gaps of a stream at the runs that they touch';
