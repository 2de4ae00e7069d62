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

unsigned int bpfhist_idle(const uint64_t *control)
{
	return (unsigned int)(__atomic_load_n(&control[0], __ATOMIC_RELAXED) & 1) ^ 1;
}

void bpfhist_settle(void)
{
	usleep(10 * SETTLE_US);
}

bool bpfhist_open(const struct bpf_hist *from)
{
	return __atomic_load_n(&from->count, __ATOMIC_ACQUIRE) != from->taken;
}

static uint64_t empty(unsigned long long *at)
{
	return __atomic_exchange_n(at, 0, __ATOMIC_RELAXED);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* A program's extremes can come an interval before its bucket; they must lie in the outermost ones
 * of this interval. */
static void take_extremes(struct bpf_hist *from, struct hist_rec *to, uint32_t first, uint32_t last)
{
	int64_t min = (int64_t)~empty(&from->min), max = (int64_t)empty(&from->max);

	min = clamp(min, hist_slot_lo(first), hist_slot_hi(first) - 1);
	max = clamp(max, hist_slot_lo(last), hist_slot_hi(last) - 1);
	if (!to->count || min < to->min)
		to->min = min;
	if (!to->count || max > to->max)
		to->max = max;
}

/* Exchanges, not reads and a clear: a program whose CPU the host took in the middle may still add
 * to the old set, and what it adds must wait there for the next turn instead of vanishing. */
uint64_t bpfhist_take(struct bpf_hist *from, struct hist_rec *to)
{
	uint32_t first = HIST_SLOTS, last = 0;
	uint64_t count = 0, n;

	if (!bpfhist_open(from))
		return 0;
	for (uint32_t i = 0; i < HIST_SLOTS; i++) {
		if (!from->n[i])
			continue;
		n = empty(&from->n[i]);
		to->n[i] += n;
		count += n;
		first = first < i ? first : i;
		last = i;
	}
	if (!count)
		return 0;
	from->taken += count;
	take_extremes(from, to, first, last);
	to->count += count;
	if (__builtin_add_overflow(to->sum, (int64_t)empty(&from->sum), &to->sum))
		to->sum_lost = true;
	return count;
}
