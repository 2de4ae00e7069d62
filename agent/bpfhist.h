/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking histograms that BPF programs fill (agent/bpf/hist.bpf.h): two sets, the programs write
 * to the one that control[0] names. */
#pragma once

#include "common/hist.h"

/* The members of struct io_hist and struct lock_hist. */
struct bpf_hist {
	unsigned long long n[HIST_SLOTS];
	unsigned long long count, sum, max, min; /* min is stored as ~min */
};

/* Turns the programs to the other set and waits until none can be inside the old one. Returns
 * the index of the old set. */
unsigned int bpfhist_flip(uint64_t *control);
/* Adds `from` to `to` and empties it. */
void bpfhist_take(struct bpf_hist *from, struct hist_rec *to);
