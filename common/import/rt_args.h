/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command line of an rt-tests program tells that its output does not. */
#pragma once

#include "common/import/formats.h"

struct rt_args {
	struct span program; /* base name of the first word */
	int64_t histogram;   /* -h N, -H N; 0 = not given */
	int64_t interval_us; /* -i N, 0 = not given */
	int64_t distance_us; /* -d N (cyclicdeadline: -s N), -1 = not given */
	int64_t buckets;     /* oslat -b N, 0 = not given */
	int64_t priority;    /* -p N, -1 = not given */
	int64_t width_ns;    /* oslat -W N, 0 = not given */
	bool nanoseconds;    /* -N */
	bool one_a_cpu;	     /* -S */
};
void rt_args_parse(struct span cmdline, struct rt_args *ret);
/* Period of the n-th thread of cyclictest or cyclicdeadline in ns, 0 = not known: threads wait
 * interval + n * distance, unless a histogram or -S is asked for. */
int64_t rt_args_interval(const struct rt_args *a, uint64_t thread);
/* Priority and the like become tags of the run. */
void rt_args_tags(struct run *r, const struct rt_args *a);
