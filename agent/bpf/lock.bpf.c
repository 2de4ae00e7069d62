/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contended locks: how long each waiter waited, as a histogram and per waiting stack. */
#include "types.h"

#include "hist.bpf.h"
#include "lock.h"

/* An entry may outlive its wait (a deletion can fail), so it says itself whether it is in use. */
struct waiting {
	u64 lock; /* its address, 0: the entry is free */
	u64 since_ns;
	s32 stack;
};

/* A wait of this length whose task begins another one has ended unseen. */
#define STALE_NS 1000000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64); /* pid_tgid: a task waits for one lock at a time */
	__type(value, struct waiting);
} waiters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, LOCK_CALLERS);
	__uint(key_size, sizeof(u32));
	__uint(value_size, LOCK_STACK * sizeof(u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOCK_CALLERS);
	__type(key, u32);
	__type(value, struct lock_caller);
} callers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct lock_hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2); /* [0] active set, [1] waits that could not be kept */
	__type(key, u32);
	__type(value, u64);
} control SEC(".maps");

static __always_inline void lose(void)
{
	u32 one = 1;
	u64 *lost = bpf_map_lookup_elem(&control, &one);

	if (lost)
		__sync_fetch_and_add(lost, 1);
}

SEC("tp_btf/contention_begin")
int on_begin(u64 *ctx)
{
	u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	struct waiting *have = bpf_map_lookup_elem(&waiters, &id), fresh = {};
	struct waiting *w = have ? have : &fresh;

	/* An optimistic mutex begins twice: the first time counts. An interrupt of a waiting task
	 * may wait, too: that one is not measured. */
	if (w->lock && (w->lock == ctx[0] || now - w->since_ns < STALE_NS))
		return 0;
	if (w->lock)
		lose();
	w->stack = bpf_get_stackid(ctx, &stacks, 0);
	w->since_ns = now;
	w->lock = ctx[0];
	if (!have && bpf_map_update_elem(&waiters, &id, &fresh, BPF_NOEXIST))
		lose();
	return 0;
}

static __always_inline void add_caller(u32 stack, u64 ns)
{
	struct lock_caller *c = bpf_map_lookup_elem(&callers, &stack), fresh = {};

	if (!c) {
		(void)bpf_map_update_elem(&callers, &stack, &fresh, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&callers, &stack);
		if (!c)
			return;
	}
	__sync_fetch_and_add(&c->count, 1);
	__sync_fetch_and_add(&c->sum_ns, ns);
	raise_to(&c->max_ns, ns);
}

SEC("tp_btf/contention_end")
int on_end(u64 *ctx)
{
	u64 id = bpf_get_current_pid_tgid(), ns;
	struct waiting *w = bpf_map_lookup_elem(&waiters, &id);
	u32 zero = 0, set;
	struct lock_hist *h;
	u64 *active;

	if (!w || w->lock != ctx[0])
		return 0;
	ns = bpf_ktime_get_ns() - w->since_ns;
	w->lock = 0;
	if (w->stack >= 0)
		add_caller((u32)w->stack, ns);
	bpf_map_delete_elem(&waiters, &id);
	active = bpf_map_lookup_elem(&control, &zero);
	if (!active)
		return 0;
	set = *active & 1;
	h = bpf_map_lookup_elem(&hists, &set);
	if (h)
		HIST_ADD(h, ns);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
