/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/bpfhist.h"

#include <unistd.h>

#define SETTLE_US 200 /* a program takes less than 1 us, with preemption off */

unsigned int bpfhist_flip(uint64_t *control)
{
	uint64_t old = __atomic_load_n(&control[0], __ATOMIC_RELAXED) & 1;

	__atomic_store_n(&control[0], old ^ 1, __ATOMIC_SEQ_CST);
	usleep(SETTLE_US);
	return (unsigned int)old;
}

static uint64_t empty(unsigned long long *at)
{
	return __atomic_exchange_n(at, 0, __ATOMIC_RELAXED);
}

/* Exchanges, not reads and a clear: a program whose CPU the host took in the middle may still add
 * to the old set, and what it adds must wait there for the next turn instead of vanishing. */
void bpfhist_take(struct bpf_hist *from, struct hist_rec *to)
{
	uint64_t count = 0, sum, n;
	int64_t min, max;

	if (!from->count)
		return;
	for (uint32_t i = 0; i < HIST_SLOTS; i++) {
		if (!from->n[i])
			continue;
		n = empty(&from->n[i]);
		to->n[i] += n;
		count += n;
	}
	(void)empty(&from->count);
	sum = empty(&from->sum);
	min = (int64_t)~empty(&from->min);
	max = (int64_t)empty(&from->max);
	if (!count)
		return;
	if (!to->count || min < to->min)
		to->min = min;
	if (!to->count || max > to->max)
		to->max = max;
	to->count += count;
	if (__builtin_add_overflow(to->sum, (int64_t)sum, &to->sum))
		to->sum_lost = true;
}
