/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF programs write and blame_bpf.c reads: one ring a CPU in an mmapable array map.
 * Included by both sides, so only fixed-size types and no other header (the includer has them).
 *
 * A writer reserves a slot with an atomic add on `head` (an interrupt may nest inside a program)
 * and writes `seq` = position + 1 last. A reader takes a slot only when its seq is the one that
 * it expects, before and after copying: half-written and overwritten slots are seen. */
#ifndef RIGSTAT_BLAME_RING_H
#define RIGSTAT_BLAME_RING_H

#define BLAME_RING_SLOTS 8192 /* a power of two */
#define BLAME_NAME_LEN	 16
#define BLAME_CPUS_MAX	 1024

enum blame_event_kind {
	BLAME_SWITCH = 1, /* id: previous pid, id2: next pid, name: next comm */
	BLAME_WAKING = 2, /* id2: pid that is being woken */
	BLAME_IRQ_IN = 3, /* id: interrupt number, name: of its handler */
	BLAME_IRQ_OUT = 4,
	BLAME_SOFTIRQ_IN = 5, /* id: vector */
	BLAME_SOFTIRQ_OUT = 6,
	BLAME_VECTOR_IN = 7, /* id: enum blame_vector */
	BLAME_VECTOR_OUT = 8,
};

enum blame_vector {
	BLAME_LOCAL_TIMER,
	BLAME_CALL_FUNCTION,
	BLAME_CALL_FUNCTION_SINGLE,
	BLAME_RESCHEDULE,
	BLAME_VECTORS,
};

struct blame_slot {
	unsigned long long seq;	     /* position in the ring + 1, written last */
	unsigned long long t_ns;     /* CLOCK_MONOTONIC */
	unsigned long long steal_ns; /* BLAME_SWITCH: the run queue's stolen time, 0 unknown */
	unsigned int id, id2;
	short prev_prio, next_prio; /* kernel numbers: lower is more urgent, < 100 is real-time */
	unsigned char kind, prev_state;
	unsigned char pad[2];
	char name[BLAME_NAME_LEN], prev_name[BLAME_NAME_LEN];
};

struct blame_ring {
	unsigned long long head; /* slots reserved since the start */
	unsigned long long pad[7];
	struct blame_slot slot[BLAME_RING_SLOTS];
};

/* Constants of the programs, set before loading. */
struct blame_config {
	int tgid;			      /* wakings of this process are recorded */
	unsigned char cpu_on[BLAME_CPUS_MAX]; /* CPUs to record */
};

#endif
