/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Least squares, drift and trend. */
#pragma once

#include "common/stats/stat.h"

#define REGRESS_K_MAX 8

/* y = X b + e by Householder QR; X has n rows of k columns, row by row. STAT_UNDEFINED: columns are
 * dependent (confounded). STAT_TOO_FEW: n <= k. */
struct regress_fit {
	enum stat_state state;
	size_t k;
	double df, sigma;
	double coef[REGRESS_K_MAX], se[REGRESS_K_MAX], t[REGRESS_K_MAX], p[REGRESS_K_MAX];
};
/* resid may be NULL. */
int regress_ols(const double *y, const double *x, size_t n, size_t k, struct regress_fit *ret,
		double *resid, struct err *reterr) MUSTCHECK;

/* Arm effect (arm 1 minus arm 0) with the run order in the model: y ~ arm + order. `arm` is 0 or 1.
 */
struct regress_order {
	enum stat_state state; /* STAT_UNDEFINED: arm and order are confounded */
	double effect, se, t, df, p;
	struct stat_interval ci;
	double slope, slope_se, slope_p; /* drift per step of `order` */
	double sigma;
	double durbin_watson, lag1;    /* of this model's residuals */
	double durbin_watson_arm_only; /* of y ~ arm: small = drift that the design must carry */
};
int regress_ancova(const double *y, const double *arm, const double *order, size_t n, double conf,
		   struct regress_order *ret, struct err *reterr) MUSTCHECK;

double regress_durbin_watson(const double *resid, size_t n);

#define REGRESS_TREND_MAX 2000 /* points */
struct regress_trend {
	enum stat_state state;
	double slope, intercept, p; /* least squares on 0..n-1 */
	double tau, s, p_mk; /* Mann (1945) - Kendall, ties corrected, continuity corrected */
	double sen_slope;    /* Sen (1968), median of pairwise slopes */
};
/* Assumes independent residuals; changepoint.h has the form for series. */
int regress_trend(const double *y, size_t n, struct regress_trend *ret,
		  struct err *reterr) MUSTCHECK;
