/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions of one sample: mean, sd (n - 1), quantiles, median, MAD. */
#pragma once

#include "common/stats/stat.h"

struct summary_stats {
	size_t n;
	double min, max, range; /* NAN when n is 0 */
	double mean;
	double var, sd; /* divisor n - 1; NAN when n < 2 */
};
/* Two passes with compensated sums (Kahan-Neumaier): right for NIST NumAcc1-4 and ns timestamps. */
int summary_of(const double *x, size_t n, struct summary_stats *ret, struct err *reterr) MUSTCHECK;

/* n, mean and sd alone: what a published table or a summary-only import gives. */
struct moments {
	double n, mean, sd;
};
struct moments summary_moments(const struct summary_stats *s);

/* Compensated sum and mean; NAN for n = 0. They do not check for NaN. */
double summary_sum(const double *x, size_t n);
double summary_mean(const double *x, size_t n);

/* Hyndman & Fan (1996) numbers. TYPE7 is PostgreSQL's percentile_cont and R's default, TYPE1 is
 * percentile_disc and what hist_quantile answers. */
enum quantile_type {
	QUANTILE_TYPE1 = 1,
	QUANTILE_TYPE6 = 6,
	QUANTILE_TYPE7 = 7,
	QUANTILE_TYPE8 = 8
};
/* `sorted` ascending, 0 <= q <= 1; NAN for n = 0. */
double summary_quantile(const double *sorted, size_t n, double q, enum quantile_type type);
/* Harrell & Davis (1982): weighted mean of all order statistics. */
double summary_quantile_hd(const double *sorted, size_t n, double q);
double summary_median(const double *sorted, size_t n);
/* Median of |x - median|, without the 1.4826 factor. */
double summary_mad(const double *sorted, size_t n);

/* Distribution-free interval of a quantile from ranks, for independent values only: X ~
 * Bin(n, q); lower rank = largest l with P(X <= l-1) <= (1-conf)/2, upper rank = smallest u with
 * P(X >= u) <= (1-conf)/2. 1-based ranks, 0 = unbounded at this n. */
struct quantile_ranks {
	uint64_t lo, hi;
	double coverage;
};
int summary_quantile_ranks(uint64_t n, double q, double conf, struct quantile_ranks *ret,
			   struct err *reterr) MUSTCHECK;
/* Smallest n for which that interval has an upper end. */
uint64_t summary_quantile_min_n(double q, double conf);
