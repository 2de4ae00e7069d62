/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one probe costs in one run, and whether it keeps its budget. Pure; the sampler feeds it.
 *
 * Two parts that are never added up: CPU time of the agent (the loop thread inside the probe's
 * callbacks and the probe's own threads), which is measured and has the budget, and time that the
 * kernel spends for the probe in the programs under test, which is an estimate. */
#pragma once

#include "common/strbuf.h"

#define METER_DIVISOR_MAX 64

struct meter {
	double budget; /* part of one CPU, 0: none */
	/* the run */
	int64_t cpu_ns;	      /* all, the caller adds it */
	unsigned int divisor; /* of the probe's rate: 1, 2, 4, ... */
	/* since the start of the run or the last halving */
	int64_t since_ns, spent_ns;
};

void meter_begin(struct meter *m, int64_t now_ns);
/* Takes CPU time from the budget. True when it is exceeded and the probe must halve its rate:
 * m->divisor has been doubled. A probe has two seconds before it is judged. */
bool meter_spend(struct meter *m, int64_t cpu_ns, int64_t now_ns);

/* An object of cost.probes in RUN_END; kernel_ns -1: not known. */
void meter_put_json(const struct meter *m, const char *probe, int64_t kernel_ns,
		    struct strbuf *out);
