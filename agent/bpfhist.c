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

void bpfhist_take(struct bpf_hist *from, struct hist_rec *to)
{
	uint64_t count = 0;
	int64_t min, max;

	if (!from->count)
		return;
	min = (int64_t)~from->min;
	max = (int64_t)from->max;
	for (uint32_t i = 0; i < HIST_SLOTS; i++) {
		to->n[i] += from->n[i];
		count += from->n[i];
	}
	if (!to->count || min < to->min)
		to->min = min;
	if (!to->count || max > to->max)
		to->max = max;
	to->count += count;
	if (__builtin_add_overflow(to->sum, (int64_t)from->sum, &to->sum))
		to->sum_lost = true;
	memset(from, 0, sizeof(*from));
}
