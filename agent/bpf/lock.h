/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by lock.bpf.c and lock_probe.c. */
#ifndef RIGSTAT_LOCK_H
#define RIGSTAT_LOCK_H

#define LOCK_STACK    16   /* frames kept of a waiter */
#define LOCK_CALLERS  2048 /* distinct stacks of one interval */
#define LOCK_HIST_LEN 7296 /* HIST_SLOTS of common/hist.h */

struct lock_caller {
	unsigned long long count, sum_ns, max_ns;
};

struct lock_hist {
	unsigned long long n[LOCK_HIST_LEN];
	unsigned long long count;	  /* since the start: never emptied */
	unsigned long long sum, max, min; /* min is stored as ~min, so that 0 is none */
	unsigned long long taken;	  /* by the agent, of count */
};

#endif
