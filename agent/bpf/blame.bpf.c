/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flight recorder's programs: each writes one slot into its CPU's ring. tp_btf only (fentry
 * and kprobes are refused or absent on kernels that we met). Own minimal struct definitions,
 * relocated by libbpf against the running kernel's BTF, so no vmlinux.h is needed to build. */
#include "types.h"

#include "blame_ring.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct rq {
	u64 prev_steal_time_rq;
};
struct cfs_rq {
	struct rq *rq;
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
};
struct task_struct {
	s32 pid, tgid, prio;
	struct sched_entity se;
	char comm[16];
};
struct irqaction {
	const char *name;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set to the number of CPUs before loading */
	__type(key, u32);
	__type(value, struct blame_ring);
} rings SEC(".maps");

/* A section of its own is a map of its own: blame_bpf.c fills it before loading. */
const volatile struct blame_config config SEC(".rodata.config") = {0};

static __always_inline struct blame_slot *reserve(u64 *ret_seq)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct blame_ring *ring;
	u64 at;

	if (cpu >= BLAME_CPUS_MAX || !config.cpu_on[cpu])
		return 0;
	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return 0;
	at = __sync_fetch_and_add(&ring->head, 1);
	*ret_seq = at + 1;
	return &ring->slot[at & (BLAME_RING_SLOTS - 1)];
}

static __always_inline struct blame_slot *begin(u8 kind, u32 id, u64 *ret_seq)
{
	struct blame_slot *s = reserve(ret_seq);

	if (!s)
		return 0;
	*(volatile u64 *)&s->seq = 0;
	s->t_ns = bpf_ktime_get_ns();
	s->kind = kind;
	s->id = id;
	return s;
}

static __always_inline void commit(struct blame_slot *s, u64 seq)
{
	asm volatile("" ::: "memory");
	*(volatile u64 *)&s->seq = seq;
}

static __always_inline int simple(u8 kind, u32 id)
{
	u64 seq;
	struct blame_slot *s = begin(kind, id, &seq);

	if (s)
		commit(s, seq);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	u64 seq;
	struct blame_slot *s = begin(BLAME_SWITCH, prev->pid, &seq);

	if (!s)
		return 0;
	s->id2 = next->pid;
	s->prev_prio = prev->prio;
	s->next_prio = next->prio;
	s->prev_state = prev_state;
	s->steal_ns = 0;
	if (bpf_core_field_exists(struct rq, prev_steal_time_rq) &&
	    bpf_core_field_exists(struct sched_entity, cfs_rq))
		s->steal_ns = BPF_CORE_READ(next, se.cfs_rq, rq, prev_steal_time_rq);
	bpf_probe_read_kernel(s->name, sizeof(s->name), next->comm);
	bpf_probe_read_kernel(s->prev_name, sizeof(s->prev_name), prev->comm);
	commit(s, seq);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	u64 seq;
	struct blame_slot *s;

	if (p->tgid != config.tgid)
		return 0;
	s = begin(BLAME_WAKING, 0, &seq);
	if (!s)
		return 0;
	s->id2 = p->pid;
	commit(s, seq);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_in, int irq, struct irqaction *action)
{
	u64 seq;
	struct blame_slot *s = begin(BLAME_IRQ_IN, irq, &seq);

	if (!s)
		return 0;
	bpf_probe_read_kernel_str(s->name, sizeof(s->name), action->name);
	commit(s, seq);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_out, int irq)
{
	return simple(BLAME_IRQ_OUT, irq);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_in, unsigned int vec)
{
	return simple(BLAME_SOFTIRQ_IN, vec);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_out, unsigned int vec)
{
	return simple(BLAME_SOFTIRQ_OUT, vec);
}

/* The interrupt vectors of x86; other machines lack these tracepoints and show their timer as an
 * ordinary interrupt. blame_bpf.c does not load what the kernel does not have. */
#define VECTOR(tp, id)                                                                             \
	SEC("tp_btf/" #tp "_entry")                                                                \
	int BPF_PROG(on_##tp##_in)                                                                 \
	{                                                                                          \
		return simple(BLAME_VECTOR_IN, id);                                                \
	}                                                                                          \
	SEC("tp_btf/" #tp "_exit")                                                                 \
	int BPF_PROG(on_##tp##_out)                                                                \
	{                                                                                          \
		return simple(BLAME_VECTOR_OUT, id);                                               \
	}

VECTOR(local_timer, BLAME_LOCAL_TIMER)
VECTOR(call_function, BLAME_CALL_FUNCTION)
VECTOR(call_function_single, BLAME_CALL_FUNCTION_SINGLE)
VECTOR(reschedule, BLAME_RESCHEDULE)

char LICENSE[] SEC("license") = "GPL";
