/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metric catalogue: unit, kind, direction and defaults of the metrics that we know by name.
 * An unknown metric gets `better` none and the default margin until a person says more. */
#pragma once

#include "common/base.h"

enum better { BETTER_NONE, BETTER_LOWER, BETTER_HIGHER };

struct metric {
	const char *name, *unit, *title; /* "wakeup_latency", "ns", "wake-up latency" */
	enum better better;
	double margin_rel;   /* "worth caring about", relative; 0.01 = 1 % */
	const char *primary; /* statistic that sets the word: "p99" for distributions, "mean" */
	const char *description;
};

#define METRIC_MARGIN_DEFAULT 0.01

/* The catalogue entry or, for an unknown name, a default (never NULL). Not allocated. */
const struct metric *metric_find(const char *name);
/* The table, ended by an entry whose name is NULL. */
const struct metric *metric_all(void);
const char *better_name(enum better b);
