/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's fixed layout (hist_slot() of common/hist.h) inside the kernel. */
#pragma once

#define HIST_LEN 7296

static __always_inline u32 log2_of(u64 v)
{
	u32 r = 0;

#pragma unroll
	for (u32 bits = 32; bits; bits >>= 1) {
		if (v >> bits) {
			v >>= bits;
			r += bits;
		}
	}
	return r;
}

static __always_inline u32 slot_of(u64 v)
{
	u32 e;

	if (v < 256)
		return v;
	e = log2_of(v);
	return ((e - 7) << 7) + (u32)(v >> (e - 7));
}

static __always_inline void raise_to(u64 *at, u64 v)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		u64 had = *at;

		if (v <= had || __sync_val_compare_and_swap(at, had, v) == had)
			return;
	}
}

/* For struct io_hist and struct lock_hist, which have the same members. `count` only grows and the
 * bucket comes last: the reader looks while they differ from what it has taken. */
#define HIST_ADD(h, ns)                                                                            \
	do {                                                                                       \
		u32 bucket_ = slot_of(ns);                                                         \
		if (bucket_ < HIST_LEN) {                                                          \
			__sync_fetch_and_add(&(h)->count, 1);                                      \
			__sync_fetch_and_add(&(h)->sum, ns);                                       \
			raise_to(&(h)->max, ns);                                                   \
			raise_to(&(h)->min, ~(ns));                                                \
			__sync_fetch_and_add(&(h)->n[bucket_], 1);                                 \
		}                                                                                  \
	} while (0)
