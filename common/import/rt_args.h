/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command line of an rt-tests program tells that its output does not. */
#pragma once

#include "common/import/formats.h"

struct rt_args {
	struct span program; /* base name of the first word */
	int64_t histogram;   /* -h N, -H N; 0 = not given */
	int64_t interval_us; /* -i N, 0 = not given */
	int64_t buckets;     /* oslat -b N, 0 = not given */
	int64_t priority;    /* -p N, -1 = not given */
	int64_t width_ns;    /* oslat -W N, 0 = not given */
	bool nanoseconds;    /* -N */
};
void rt_args_parse(struct span cmdline, struct rt_args *ret);
/* Priority and the like become tags of the run. */
void rt_args_tags(struct run *r, const struct rt_args *a);
