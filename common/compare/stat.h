/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of one run by name: "p50", "p99.9", "min", "max", "mean", "over(47us)", and "sdev",
 * the spread between runs. */
#pragma once

#include "common/err.h"
#include "common/hist.h"

enum stat_kind { STAT_MEAN, STAT_MIN, STAT_MAX, STAT_QUANTILE, STAT_OVER, STAT_SDEV };

struct stat_def {
	enum stat_kind kind;
	double q;	   /* STAT_QUANTILE: 0..1 */
	int64_t threshold; /* STAT_OVER: at or above, in the metric's unit */
	char name[48];	   /* canonical: "avg" and "median" become "mean" and "p50" */
};

/* Durations ("47us") when the metric's unit is ns, plain numbers otherwise. */
int stat_parse(const char *text, bool unit_is_ns, struct stat_def *ret,
	       struct err *reterr) MUSTCHECK;
void stat_make_over(struct stat_def *ret, int64_t threshold, bool unit_is_ns);
bool stat_equal(const struct stat_def *a, const struct stat_def *b);

/* What one histogram says about a statistic. */
struct stat_value {
	double v;      /* NaN when there is none; quantiles are interpolated inside their bucket */
	double lo, hi; /* what is certain; hi may be INFINITY ("at least") */
	double beyond; /* samples beyond the quantile or threshold */
	bool at_least; /* in the overflow: v is the lower bound */
};
/* STAT_OVER gives a share of all samples, STAT_SDEV is not one of a histogram (NaN). */
struct stat_value stat_of_hist(const struct stat_def *s, const struct hist *h);
