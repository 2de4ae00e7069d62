/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pure half of blame: who held the CPU between a wake-up's due time and the moment its thread
 * ran. Events of one CPU in, named parts out; the parts always sum to the lateness. No I/O, no
 * allocation that outlives the call; any recorder may feed it.
 *
 * How: the events are replayed into a stack (interrupts over softirqs over the task), and each
 * stretch between two events goes to its top. Where in the wake-up it lies decides what may be
 * said of it: before our timer's interrupt, between that and our waking, between waking and
 * switch-in, after switch-in. Stolen time comes from a counter and is taken out of the largest
 * event-free stretches. What the events cannot show is `unattributed`, with a reason. */
#pragma once

#include "agent/bpf/blame_ring.h"
#include "common/base.h"

#define BLAME_STOPPED_BITS (4 | 8) /* __TASK_STOPPED, __TASK_TRACED */

struct blame_event {
	int64_t t_ns;
	uint64_t steal_ns; /* BLAME_SWITCH, when has_steal */
	uint32_t id, id2;
	int16_t prev_prio, next_prio;
	uint8_t kind, prev_state; /* task states, see BLAME_STOPPED_BITS */
	char name[BLAME_NAME_LEN], prev_name[BLAME_NAME_LEN]; /* need not end in NUL */
};

struct blame_window {
	const struct blame_event
		*events; /* any order; from well before due to a little after run */
	size_t n;
	int64_t due_ns, run_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;		/* the measuring thread */
	bool has_steal;		/* switches carry the run queue's stolen time */
	bool lost;		/* events were lost or the read was raced */
	bool truncated;	 /* the oldest event of the ring is in `events`: earlier ones are gone */
	bool blind_idle; /* the self-test found that events in the idle task are missing */
};

enum blame_holder_kind {
	HOLDER_IRQ,
	HOLDER_SOFTIRQ,
	HOLDER_TASK,
	HOLDER_IDLE,
	HOLDER_SELF,
	HOLDER_STOPPED,
	HOLDER_STEAL,
	HOLDER_UNATTRIBUTED,
};

struct blame_holder {
	enum blame_holder_kind kind;
	char name[40];	    /* "irq vda", "softirq NET_RX", "task hog", "idle" ... */
	const char *reason; /* how it held, or why unattributed; static, may be NULL */
	int64_t ns;
};

#define BLAME_HOLDERS_MAX 12

struct blame_split {
	struct blame_holder holders[BLAME_HOLDERS_MAX]; /* largest first */
	size_t n;
	/* Points found in the window, 0 = not seen: timer interrupt, waking, switch-in. */
	int64_t timer_ns, waking_ns, switch_in_ns;
};

/* run < due (a clock that differs by some ns) gives an empty split. */
void blame_split(const struct blame_window *w, struct blame_split *ret);

const char *blame_holder_kind_name(enum blame_holder_kind k);
/* One cause, one name: "irq/24-vda" (a threaded handler) and the interrupt "vda" are both
 * "irq vda"; per-CPU and per-instance numbers of kernel threads go; control bytes become '?'. */
void blame_task_name(const char comm[BLAME_NAME_LEN], uint32_t pid, char *ret, size_t cap,
		     enum blame_holder_kind *ret_kind, const char **ret_reason);
