/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking histograms that BPF programs fill (agent/bpf/hist.bpf.h): two sets, the programs write
 * to the one that control[0] names. */
#pragma once

#include "common/hist.h"

/* The members of struct io_hist and struct lock_hist. */
struct bpf_hist {
	unsigned long long n[HIST_SLOTS];
	unsigned long long count;	  /* since the start: never emptied */
	unsigned long long sum, max, min; /* min is stored as ~min, so that 0 is none */
	unsigned long long taken;	  /* by us, of count */
};

/* Turns the programs to the other set and waits until none can be inside the old one, but for one
 * whose CPU the host has taken away. Returns the index of the old set. */
unsigned int bpfhist_flip(uint64_t *control);
/* The set that no program begins to write to now. */
unsigned int bpfhist_idle(const uint64_t *control);
/* Adds what is in `from` to `to` and empties it; returns how many samples. What a program in the
 * middle of adding has not written yet waits for the next call. */
uint64_t bpfhist_take(struct bpf_hist *from, struct hist_rec *to);
/* Is something to be taken, or about to come? */
bool bpfhist_open(const struct bpf_hist *from);
/* Waits a little, before a last look at a set. */
void bpfhist_settle(void);
