/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two samples of replicates -> effect, interval, power: the only file of this folder that calls
 * the test functions of common/stats. */
#pragma once

#include <jansson.h>

#include "common/base.h"

struct calc_summary {
	double n, min, avg, max, sdev, range; /* NAN when not known */
};
void calc_summarize(const double *x, size_t n, struct calc_summary *ret);

enum calc_state {
	CALC_OK,
	CALC_TOO_FEW,  /* fewer than 3 a side: estimates only */
	CALC_NO_EFFECT /* nothing can be computed (a side is empty) */
};

/* B against A. Relative numbers are NAN when a base is not positive; `on_logs` says which scale
 * the test used. */
struct calc_effect {
	enum calc_state state;
	double abs, abs_lo, abs_hi; /* B - A of the means */
	double rel, rel_lo, rel_hi; /* B / A - 1 */
	bool on_logs;
	double p;
	double se, df;		 /* on the scale of the test */
	double mde_rel;		 /* seen with power 0.8 */
	double more_lo, more_hi; /* blocks; NAN none, INFINITY = more will not settle it */
	double n_blocks;
	char test[96];
};
/* No numbers at all; `why` stands where the test would. */
void calc_nothing(struct calc_effect *ret, const char *why);
/* margin_rel decides only how many more blocks are needed. */
void calc_unpaired(const double *a, size_t na, const double *b, size_t nb, double conf,
		   double margin_rel, struct calc_effect *ret);
void calc_paired(const double *a, const double *b, size_t n, double conf, double margin_rel,
		 const char *block_word, struct calc_effect *ret);
/* The same tests on differences alone, for shares that are told in points: interval and p then
 * speak of one number. No plan for more blocks. */
void calc_unpaired_points(const double *a, size_t na, const double *b, size_t nb, double conf,
			  struct calc_effect *ret);
void calc_paired_points(const double *a, const double *b, size_t n, double conf,
			const char *block_word, struct calc_effect *ret);
void calc_moments(const struct calc_summary *a, const struct calc_summary *b, double conf,
		  double margin_rel, struct calc_effect *ret);

/* Spread between runs, B over A. With values: Brown-Forsythe decides and F gives the interval;
 * with summaries only F (normal theory). Numbers in `ret` are of the standard deviation. */
struct calc_spread {
	struct calc_effect effect;
	double f, f_p, bf_p; /* variance ratio A/B or B/A, the larger one */
};
void calc_spread_values(const double *a, size_t na, const double *b, size_t nb, double conf,
			struct calc_spread *ret);
void calc_spread_moments(const struct calc_summary *a, const struct calc_summary *b, double conf,
			 struct calc_spread *ret);

struct calc_drift {
	bool tested;
	double p, slope; /* slope in units of y per step */
	double lag1;
};
void calc_drift(const double *y, const double *arm, const double *order, size_t n, double conf,
		struct calc_drift *ret);

/* Cochran's Q over hosts from their effects and standard errors. */
struct calc_heterogeneity {
	bool tested;
	double q, df, p, i2;
};
void calc_heterogeneity(const double *d, const double *se, size_t n,
			struct calc_heterogeneity *ret);

/* Holm; NAN entries are not counted. */
void calc_holm(const double *p, size_t n, double *out);

/* Upper tail of chi-square. */
double calc_chi2_p(double chi2, double df);

/* Trend over ordered groups, one after another in x. */
struct calc_trend {
	bool tested, exact;
	double p, p_decreasing, p_increasing, j, j_max;
};
void calc_trend(const double *x, const size_t *group_n, size_t groups, struct calc_trend *ret);

/* Delete-one-block jackknife: interval of theta. */
struct calc_band {
	double lo, hi, p;
};
void calc_jackknife(double theta, const double *loo, size_t n, double conf, struct calc_band *ret);
void calc_jackknife2(double theta, const double *loo_a, size_t na, const double *loo_b, size_t nb,
		     double conf, struct calc_band *ret);
/* Interval of the mean of positive values, t on logs. */
void calc_mean_band(const double *x, size_t n, double conf, struct calc_band *ret);

/* Every method's figures side by side. pa/pb/pairs: block means, pairs 0 when not paired. */
json_t *calc_methods(const double *a, size_t na, const double *b, size_t nb, const double *pa,
		     const double *pb, size_t pairs, double conf, double margin_rel);
json_t *calc_methods_moments(const struct calc_summary *a, const struct calc_summary *b,
			     double conf);

/* t interval of a mean; NAN for fewer than 3 values or an unknown sdev. */
void calc_mean_interval(double n, double avg, double sdev, double conf, double *ret_lo,
			double *ret_hi);
/* One-sided Poisson bounds of a rate, at `conf` each. */
double calc_rate_lower(double events, double hours, double conf);
double calc_rate_upper(double events, double hours, double conf);
json_t *calc_rate_ratio(double xa, double na, double xb, double nb, double conf);
