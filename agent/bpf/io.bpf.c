/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block requests: latency from issue and from insertion to completion, per device and operation,
 * counted in the kernel so that a million requests a second cost no copy. */
#include "types.h"

#include "hist.bpf.h"
#include "io.h"
#include "io_times.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct gendisk {
	s32 major, first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	u32 cmd_flags;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct io_times);
} inflight SEC(".maps");

/* Filled by the agent: which slot a device's operation has. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u64);
	__type(value, u32);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_SETS *IO_KINDS *IO_SLOTS);
	__type(key, u32);
	__type(value, struct io_hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* [0] active set, [1] requests that found `inflight` full */
	__type(key, u32);
	__type(value, u64);
} control SEC(".maps");

static __always_inline void count(u32 kind, u32 slot, u64 ns)
{
	u32 zero = 0, at;
	u64 *active = bpf_map_lookup_elem(&control, &zero);
	struct io_hist *h;

	if (!active)
		return;
	at = ((*active & 1) * IO_KINDS + kind) * IO_SLOTS + slot;
	h = bpf_map_lookup_elem(&hists, &at);
	if (h)
		HIST_ADD(h, ns);
}

static __always_inline int begin(struct request *rq, bool issued)
{
	u64 key = (u64)rq, now = bpf_ktime_get_ns();
	struct io_times *have = bpf_map_lookup_elem(&inflight, &key), fresh = {};
	struct io_times *t = have ? have : &fresh;
	u32 one = 1;

	if (issued)
		io_times_issue(t, now);
	else
		io_times_insert(t, now);
	if (!have && bpf_map_update_elem(&inflight, &key, &fresh, 0)) {
		u64 *full = bpf_map_lookup_elem(&control, &one);

		if (full)
			__sync_fetch_and_add(full, 1);
	}
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_insert, struct request *rq)
{
	return begin(rq, 0);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	return begin(rq, 1);
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_requeue, struct request *rq)
{
	u64 key = (u64)rq;
	struct io_times *t = bpf_map_lookup_elem(&inflight, &key);

	if (t)
		io_times_requeue(t);
	return 0;
}

/* A request that became part of another: it never completes. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_merge, struct request *rq)
{
	u64 key = (u64)rq;
	struct io_times *t = bpf_map_lookup_elem(&inflight, &key);

	if (t)
		io_times_free(t);
	bpf_map_delete_elem(&inflight, &key);
	return 0;
}

/* A request that completes in parts is counted at its first part. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq)
{
	u64 key = (u64)rq, now = bpf_ktime_get_ns(), dev, ns, total_ns;
	struct io_times *t = bpf_map_lookup_elem(&inflight, &key);
	struct gendisk *disk;
	u32 *slot;

	if (!t)
		return 0;
	if (io_times_complete(t, now, &ns, &total_ns)) {
		disk = BPF_CORE_READ(rq, q, disk);
		dev = io_key(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor),
			     rq->cmd_flags & 255);
		slot = bpf_map_lookup_elem(&slots, &dev);
		if (slot && *slot < IO_SLOTS) {
			count(0, *slot, ns);
			count(IO_QUEUE, *slot, total_ns);
		}
	}
	bpf_map_delete_elem(&inflight, &key);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
