/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What BPF programs take of the CPUs that they measure, as an estimate: nanoseconds per event,
 * measured by the kernel (BPF_ENABLE_STATS) while a run warms up, times the events of the run. The
 * kernel's own accounting costs two clock reads a call (3 % of a context-switch ping-pong with the
 * flight recorder on, Linux 6.18) and concerns every BPF program of the box,
 * so it is off in the measured window, but for runs without a warm-up (their first seconds).
 *
 * The time is that inside the programs; the few nanoseconds of entering them are not in it. */
#pragma once

#include "agent/bpfload.h"

struct bpfcost {
	int stats_fd; /* > 0: the kernel accounts */
	int64_t since_ns;
	uint64_t run_ns, events; /* when it began */
	double ns_per_event;	 /* of the last measurement, 0: none yet */
	bool refused;		 /* no right to switch accounting on */
};

/* A run begins; `events` so far. */
void bpfcost_begin(struct bpfcost *c, struct bpfload *b, uint64_t events);
/* Each interval; `last`: the warm-up ends here. */
void bpfcost_tick(struct bpfcost *c, struct bpfload *b, uint64_t events, bool last);
/* -1: not known. */
int64_t bpfcost_ns(const struct bpfcost *c, uint64_t events);
void bpfcost_done(struct bpfcost *c);
