/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far an experiment is, for the person in front of it: one line that is rewritten on a
 * terminal, a line a run elsewhere. */
#pragma once

#include <stdio.h>

#include "common/base.h"

struct progress {
	FILE *to;
	bool tty;
	uint32_t total; /* runs */
	uint32_t done;
	int64_t run_ns;	  /* planned length of one run, until the first has ended; 0 unknown */
	int64_t spent_ns; /* by the runs that have ended */
	char head[256];	  /* "run 7/20 rq_affinity=0" */
	bool line_open;	  /* a line without its end stands on the terminal */
};

/* `width` of the terminal is asked for each time. `tty` as isatty() says. */
void progress_init(struct progress *p, FILE *to, bool tty, uint32_t total, int64_t run_ns);
void progress_begin(struct progress *p, uint32_t order, const char *cell);
/* `phase` says what is going on: "warming up", "measuring 12 of 30 s". Nothing without a tty. */
void progress_show(struct progress *p, const char *phase);
/* `spent_ns` is the time that the run took with everything around it. */
void progress_end(struct progress *p, int64_t spent_ns, const char *outcome);
/* A line beside the progress. */
void progress_note(struct progress *p, const char *fmt, ...) PRINTF(2, 3);
/* Time that the rest will take; -1 unknown. */
int64_t progress_left_ns(const struct progress *p);
