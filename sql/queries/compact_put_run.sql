-- A run begins. $1 host, $2 stream, $3 run_no, $4 the checked RUN_START. Columns: run_id.
with p as (
	select $4::jsonb as j
), e as (
	insert into rigstat.experiment (uid, name, design)
	select (j -> 'experiment' ->> 'uid')::uuid, j -> 'experiment' ->> 'name',
		(j -> 'experiment') - 'uid' - 'name'
	from p where j ? 'experiment'
	on conflict (uid) do update set uid = excluded.uid
	returning experiment_id
), a as (
	insert into rigstat.agent (host_id, version, boot_id, quiet_until_ns, environment_sha256)
	select $1::bigint, j ->> 'agent_version', j ->> 'boot_id', (j ->> 'quiet_until_ns')::bigint,
		decode(j ->> 'environment_sha256', 'hex')
	from p
	on conflict (host_id) do update set version = excluded.version, boot_id = excluded.boot_id,
		quiet_until_ns = excluded.quiet_until_ns, environment_sha256 = excluded.environment_sha256
)
insert into rigstat.run (host_id, run_uid, kind, state, experiment_id, factors, tags, order_no, block_no, attempt,
	boot_id, agent_version, environment_sha256, started_ns, warmup_ns, duration_ns, quiet_until_ns, workload,
	stream_id, run_no)
select $1::bigint, (j ->> 'run_uid')::uuid, j ->> 'kind', 'running', (select experiment_id from e),
	coalesce(j -> 'factors', '{}'), coalesce(j -> 'tags', '{}'), (j ->> 'order')::bigint::int,
	(j ->> 'block')::bigint::int, (j ->> 'attempt')::bigint::int, j ->> 'boot_id', j ->> 'agent_version',
	decode(j ->> 'environment_sha256', 'hex'), (j ->> 'started_ns')::bigint, (j ->> 'warmup_ns')::bigint,
	(j ->> 'duration_ns')::bigint, (j ->> 'quiet_until_ns')::bigint, j -> 'workload', $2::uuid, $3::bigint
from p
on conflict (host_id, run_uid) do update set stream_id = excluded.stream_id, run_no = excluded.run_no
returning run_id
