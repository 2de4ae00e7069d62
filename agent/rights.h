/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the measuring side asks of the kernel, what it got, and what to grant when it was refused.
 * Nothing here fails: a missing right becomes a mark of the run, and measuring goes on. */
#pragma once

#include "common/err.h"

/* A mark of a run: `code` is stable, the text names the right and how to grant it. */
struct mark {
	char code[32];
	char text[400];
};

struct marks {
	struct mark *v;
	size_t len, cap;
};
/* Once per code. */
void marks_add(struct marks *m, const char *code, const char *fmt, ...) PRINTF(3, 4);
void marks_done(struct marks *m);

/* Locks present and future memory as it is touched (MCL_ONFAULT: plain MCL_FUTURE would cost
 * 68 MB of thread stacks and heap that nobody uses). Mark "no-memlock" when refused. */
void rights_lock_memory(struct marks *m);
/* Opens /dev/cpu_dma_latency at 0: no deep idle states as long as the fd is open. Returns the fd
 * or -1 with the mark "no-dma-latency". */
int rights_hold_dma_latency(struct marks *m);
/* Puts the calling thread on one CPU; -1: on all CPUs but the measured ones, if any is left. */
void rights_housekeeping(int cpu, const bool *measured, size_t cap, struct marks *m);
const char *policy_name(int policy); /* "fifo", "rr", "other" ... */
bool policy_parse(const char *s, int *ret_policy) MUSTCHECK;
