/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all of common/stats shares. Every function here is pure, keeps no global state and may run
 * on several threads at once; inputs are never changed unless the name says so.
 *
 * Two kinds of "no". A wrong input (NaN, infinity, a confidence outside (0,1), a size above the
 * stated bound) is an error: ERR_INVALID or ERR_LIMIT. Data that cannot answer (one run, no
 * variation, logs of zero) is not: the call succeeds, `state` says why and every number that is
 * not defined is NAN. An unbounded end of an interval is -INFINITY or INFINITY.
 *
 * Differences are B minus A, ratios B over A. Tests are two-sided; `p_less` is the one-sided p for
 * "B is lower than A", `p_greater` for "B is higher". Expected numbers of all methods:
 * tests/data/stat-cases.json. */
#pragma once

#include "common/err.h"

enum stat_state {
	STAT_OK = 0,
	STAT_TOO_FEW,	  /* fewer values than the method needs; estimates are still filled */
	STAT_NO_VARIANCE, /* no variation at all: exact answer where one exists, else NAN */
	STAT_UNDEFINED	  /* ratio to a base of 0, logarithm of a value <= 0 */
};
/* "ok", "too_few", "no_variance", "undefined": stable, for documents. */
const char *stat_state_name(enum stat_state s);

struct stat_interval {
	double lo, hi;
};

/* Refuses NaN and infinity: "b[3] is not a number: leave the run out, do not fill it in". */
int stat_check(const char *name, const double *x, size_t n, struct err *reterr) MUSTCHECK;
/* Refuses a confidence outside (0, 1). */
int stat_check_conf(double conf, struct err *reterr) MUSTCHECK;
/* Sorts in place, ascending. */
void stat_sort(double *x, size_t n);
