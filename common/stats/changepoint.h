/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Did this history step, drift, or only have an outlier? E-divisive (V form) with permutation of
 * blocks whose length comes from the autocorrelation of the residuals, so that dependent noise is
 * not called a change. A slow drift is looked for first and is not cut into steps. False-alarm
 * rates are measured: docs/STATISTICS.md. */
#pragma once

#include "common/stats/segment.h"

enum changepoint_reading {
	CHANGEPOINT_NONE,
	CHANGEPOINT_STEPS,
	CHANGEPOINT_DRIFT,
	CHANGEPOINT_SHORT /* history too short for the dependence that it shows */
};
const char *changepoint_reading_name(enum changepoint_reading r);

struct changepoint_options {
	double alpha;	/* 0 = 0.01 */
	uint32_t draws; /* permutations a split; 0 = 499 */
	size_t min_len; /* points of a segment; 0 = 5 */
	double min_rel; /* steps smaller than this share of the level are not reported; 0 = all */
	uint64_t seed;
	/* First points of levels that an earlier analysis of this history found, ascending. They
	 * are cuts from the start and tested again; with them a later step back is seen with few
	 * points, which alone looks like dependence. */
	const size_t *known;
	size_t n_known;
};

#define CHANGEPOINT_MAX 50
struct changepoint_step {
	size_t at;     /* first point of the new level */
	size_t lo, hi; /* plausible first points, inclusive */
	double before, after,
		rel; /* medians of the two levels; rel = after / before - 1, NAN for 0 */
	double q, p; /* p = (b + 1) / (m + 1) */
};
struct changepoint_result {
	enum changepoint_reading reading;
	size_t n;
	size_t block;  /* points a permuted block */
	double lag1;   /* of the residuals */
	size_t needed; /* points that this dependence needs; for CHANGEPOINT_SHORT */
	double drift_per_point, drift_p;
	size_t steps;
	struct changepoint_step step[CHANGEPOINT_MAX];
	size_t outliers; /* single points that return, all in outlier[] up to the bound */
	size_t outlier[CHANGEPOINT_MAX];
	uint64_t seed;
};
/* Values in time order, missing ones left out by the caller; n <= SEGMENT_N_MAX. */
int changepoint_find(const double *x, size_t n, const struct changepoint_options *o,
		     struct changepoint_result *ret, struct err *reterr) MUSTCHECK;
