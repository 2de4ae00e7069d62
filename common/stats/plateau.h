/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where does the tail come from? A wake-up that meets a non-preemptible section of length L at a
 * random phase waits Uniform(0, L); several sections give a descending staircase whose steps are
 * the lengths and whose drops are the rates. What these functions find is a hypothesis, never a
 * proof of "one code path". */
#pragma once

#include "common/stats/stat.h"

#define PLATEAU_BINS_MAX  2000
#define PLATEAU_STEPS_MAX 15

/* Piecewise-constant Poisson density of equal-width bins by dynamic programming; the number of
 * steps minimises BIC = -2 logL + (2k + 1) ln(bins), logL without the constant sum log(x!). step[i]
 * is the first bin of a new segment. Tried: 0..k_max steps. */
struct plateau_segment {
	size_t from, to;	 /* bins [from, to) */
	double level;		 /* counts a bin */
	double chi2, df, p_flat; /* equal counts within; divided by the dispersion factor */
};
struct plateau_fit {
	enum stat_state state;
	size_t steps;
	struct plateau_segment seg[PLATEAU_STEPS_MAX + 1];
	double loglik[PLATEAU_STEPS_MAX + 1], bic[PLATEAU_STEPS_MAX + 1];
	size_t tried;	 /* entries of loglik and bic */
	bool descending; /* levels only fall: compatible with random-phase sections */
};
/* dispersion >= 1: between-run variance of counts over Poisson's; 1 = unknown. */
int plateau_fit(const double *counts, size_t bins, size_t k_max, double dispersion,
		struct plateau_fit *ret, struct err *reterr) MUSTCHECK;

/* Decreasing isotonic fit (Grenander 1956) by pooling adjacent violators; level[i] per bin. Weights
 * NULL = 1 (e.g. bin widths). Returns the number of levels. */
int plateau_pava(const double *y, const double *w, size_t n, double *level, size_t *ret_levels,
		 struct err *reterr) MUSTCHECK;

/* Are counts in classes of given sizes compatible with one density? */
struct plateau_flat {
	enum stat_state state;
	double chi2, df, p;
};
int plateau_flat(const double *counts, const double *sizes, size_t n, double dispersion,
		 struct plateau_flat *ret, struct err *reterr) MUSTCHECK;

/* The 2004 argument: integer bins value[i] (ascending) with counts, tail >= lo. Conditions on the
 * maximum (one count there is dropped), groups lo..max into `classes` (2..20) equal classes by
 * floor((k - lo) * classes / W), W = max - lo + 1. STAT_TOO_FEW below 2 counts a class on average.
 */
struct plateau_uniform {
	enum stat_state state;
	double n, max;
	size_t classes;
	double size[20], observed[20];
	struct plateau_flat flat;
};
int plateau_uniform_tail(const double *value, const double *counts, size_t n, double lo,
			 size_t classes, struct plateau_uniform *ret, struct err *reterr) MUSTCHECK;
/* One-sided binomial p that the density of a later window is above that of an earlier one: x2
 * counts in width w2 against x1 in w1. Small = rises = no random-phase picture. */
double plateau_rises_p(double x1, double w1, double x2, double w2);

/* Interval of the end of a uniform tail that begins at lo, from the largest of n values. */
struct plateau_end {
	struct stat_interval ci; /* one-sided in nature: lo is the maximum itself */
	double unbiased;
};
int plateau_endpoint(double lo, double max, double n, double conf, struct plateau_end *ret,
		     struct err *reterr) MUSTCHECK;
/* Between-run dispersion of counts: variance over mean of x[i] / exposure[i] (Pearson chi-square
 * over df), at least 1. NAN for n < 2. */
double plateau_dispersion(const double *x, const double *exposure, size_t n);
