/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many late wake-ups of one CPU are read, and which: a token bucket (10 a second, burst 20)
 * over slots of 100 ms, of which only the worst is kept. Pure; time comes from the caller. */
#pragma once

#include "common/base.h"

#define RATION_PER_SECOND 10
#define RATION_BURST	  20
#define RATION_SLOT_NS	  (100 * NS_PER_MS)

struct ration {
	double per_second; /* 0: RATION_PER_SECOND */
	double tokens;
	int64_t refilled_ns;	/* 0: never used, the bucket is full */
	int64_t slot_end_ns;	/* of the slot that is open, 0: none */
	int64_t worst_ns;	/* lateness of its worst so far */
	int64_t stall_until_ns; /* windows that begin before this lie in a stall already read */
};

enum ration_word {
	RATION_READ,  /* read this window: it opens a slot */
	RATION_WORSE, /* read this window: it is worse than the one read for this slot */
	RATION_SAME,  /* part of a stall that is being read: not a second cause */
	RATION_SKIP,  /* smaller than another of its slot, or no token left */
};
/* `run_ns` must not go back. */
enum ration_word ration_ask(struct ration *r, int64_t due_ns, int64_t run_ns);
/* True when the open slot has ended by now: its worst is final. */
bool ration_slot_over(struct ration *r, int64_t now_ns);
