/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Did the noise change? And: where does it come from? */
#pragma once

#include "common/stats/summary.h"

/* Ratio of variances B/A: F(nb-1, na-1). ratio_sd and its interval are the square roots. The F test
 * is only right for normal values: Brown-Forsythe decides when per-run values exist. A variance of
 * 0: STAT_NO_VARIANCE. */
struct spread_f {
	enum stat_state state;
	double f, p;
	struct stat_interval ci;
	double ratio_sd;
	struct stat_interval ci_sd;
};
int spread_f_test(const double *a, size_t na, const double *b, size_t nb, double conf,
		  struct spread_f *ret, struct err *reterr) MUSTCHECK;
int spread_f_from(const struct moments *a, const struct moments *b, double conf,
		  struct spread_f *ret, struct err *reterr) MUSTCHECK;

/* Brown & Forsythe (1974): one-way ANOVA of |x - median of its side|. */
struct spread_bf {
	enum stat_state state;
	double f, df1, df2, p;
};
int spread_brown_forsythe(const double *a, size_t na, const double *b, size_t nb,
			  struct spread_bf *ret, struct err *reterr) MUSTCHECK;

/* Interval of a standard deviation of normal values (chi-square). */
int spread_sd_interval(double n, double sd, double conf, struct stat_interval *ret,
		       struct err *reterr) MUSTCHECK;

/* One-way random effects (samples in runs, runs in boots): groups one after another in x.
 * Unequal sizes use n0 = (N - sum n_i^2 / N) / (k - 1). var_between is 0 when ms_between <
 * ms_within. se_by_groups is the honest standard error of the grand mean, se_naive the one that
 * takes all values as independent. */
struct spread_components {
	enum stat_state state;
	double f, p, ms_between, ms_within;
	double var_between, var_within, icc;
	double design_effect, effective_n;
	double grand_mean, se_by_groups, se_naive;
};
int spread_components(const double *x, const size_t *group_n, size_t groups,
		      struct spread_components *ret, struct err *reterr) MUSTCHECK;

/* Two levels, e.g. runs in boots: x holds the values boot by boot and run by run, run_n[r] values a
 * run, boot_runs[b] runs a boot. Expected mean squares with unequal sizes (Searle, Casella &
 * McCulloch 1992, 3.6); a negative estimate is 0. Where the variance lies says what to repeat: more
 * boots, more runs, or longer ones. p_boots tests boots against runs (Satterthwaite where sizes are
 * unequal), p_runs runs against values. STAT_TOO_FEW: fewer than 2 boots, or no boot with 2 runs,
 * or no run with 2 values. */
struct spread_nested {
	enum stat_state state;
	double ms_boots, ms_runs, ms_values;
	double df_boots, df_runs, df_values;
	double var_boots, var_runs, var_values;
	double p_boots, p_runs;
};
int spread_nested(const double *x, const size_t *run_n, const size_t *boot_runs, size_t boots,
		  struct spread_nested *ret, struct err *reterr) MUSTCHECK;
