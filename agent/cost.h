/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent itself costs: CPU, memory, context switches of this process. */
#pragma once

#include "common/base.h"

struct cost {
	int64_t cpu_ns;		/* of all threads */
	int64_t measure_cpu_ns; /* of the measuring threads among them */
	int64_t rss_bytes, rss_anon_bytes;
	int64_t ctx_switches;
	int64_t elapsed_ns; /* boot time; cost_since: what cpu_ns is a part of */
};

/* Present totals; memory is the present size. measure_cpu_ns is the caller's. */
void cost_read(struct cost *ret);
/* Time and switches as differences; memory of `now`. */
void cost_since(const struct cost *begin, struct cost *now);
