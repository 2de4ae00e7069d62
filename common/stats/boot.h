/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resampling whole runs. The jackknife gives intervals for statistics of pooled histograms; the
 * bootstrap is a picture beside them (at n = 10 its intervals are too short, docs/STATISTICS.md).
 */
#pragma once

#include "common/stats/stat.h"

/* Delete-one-run jackknife (Efron & Tibshirani 1993): theta of all runs, loo[i] without run i. */
struct boot_jackknife {
	enum stat_state state; /* STAT_NO_VARIANCE: all loo equal (a quantile on a coarse grid) */
	double estimate, bias, se, df;
	struct stat_interval ci;
	double p; /* of theta = 0; NAN when se is 0 */
};
int boot_jackknife(double theta, const double *loo, size_t n, double conf,
		   struct boot_jackknife *ret, struct err *reterr) MUSTCHECK;
/* Two arms: loo_a[i] is theta without run i of A, and so on; df by Satterthwaite. */
int boot_jackknife2(double theta, const double *loo_a, size_t na, const double *loo_b, size_t nb,
		    double conf, struct boot_jackknife *ret, struct err *reterr) MUSTCHECK;

/* The statistic of a resample: indexes of the runs that were drawn. For one arm nb is 0. */
typedef double (*boot_stat_fn)(const size_t *a, size_t na, const size_t *b, size_t nb, void *ctx);

struct boot_options {
	uint32_t draws; /* 0 = 10,000; at most 1,000,000 */
	uint64_t seed;
	double conf; /* 0 = 0.95 */
};
struct boot_result {
	enum stat_state state;
	double theta, se;
	struct stat_interval percentile, bca; /* bca as Davison & Hinkley 1997, ch. 5 */
	double z0, accel;
	uint32_t draws;
	uint64_t seed;
};
/* Resamples each arm on its own (nb = 0: one arm, e.g. pairs). Each arm <= 10,000. */
int boot_run(size_t na, size_t nb, boot_stat_fn stat, void *ctx, const struct boot_options *o,
	     struct boot_result *ret, struct err *reterr) MUSTCHECK;
