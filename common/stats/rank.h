/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rank tests with exact conditional distributions, ties included. The counts come from our own
 * recursions, not from Rmath's pwilcox and psignrank: those ignore ties, keep global tables that
 * crash with threads and need 600 MB at n = 200. */
#pragma once

#include "common/stats/stat.h"

#define RANK_N_MAX 10000 /* values a side; more is ERR_LIMIT */

/* Mann & Whitney (1947). Two-sided p = share of all splits of these very values (midranks) whose
 * |rank sum - mean| is at least as large. `exact` is false when the counting would be too long
 * (about 55 values a side with ties, 300 without): then p is the tie-corrected normal one with
 * continuity correction. All values equal: p = 1, STAT_NO_VARIANCE. An empty side: STAT_TOO_FEW. */
struct rank_mw {
	enum stat_state state;
	double u_a, u_b; /* pairs with a > b, and with b > a; ties count one half */
	bool exact, ties;
	double count, total; /* p = count / total when exact (rounded above 2^53) */
	double p, p_less, p_greater;
	double p_normal, p_normal_nocc; /* with and without continuity correction */
	double p_min;	  /* the smallest two-sided p that these sizes (and ties) can give */
	double cliff_b_a; /* Cliff's delta: P(b > a) - P(a > b) */
};
int rank_mann_whitney(const double *a, size_t na, const double *b, size_t nb, struct rank_mw *ret,
		      struct err *reterr) MUSTCHECK;

/* P(U <= u) without ties, and the smallest u with P(U <= u) >= p. NAN above 1,000 values or 100,000
 * pairs. */
double rank_mw_cdf(double u, size_t na, size_t nb);
double rank_mw_quantile(double p, size_t na, size_t nb);
/* P(V <= v) of the signed rank sum, and its quantile. n up to 500; NAN above. */
double rank_signed_cdf(double v, size_t n);
double rank_signed_quantile(double p, size_t n);

/* Wilcoxon (1945) signed rank of d. Zeros are left out (n_used counts the rest); tied |d| get
 * midranks and the exact conditional distribution over sign patterns. */
struct rank_signed {
	enum stat_state state;
	size_t n_used;
	double v; /* rank sum of the positive ones */
	bool exact, ties;
	double count, total;
	double p, p_less, p_greater; /* less: d tends below 0 */
	double p_min;
};
int rank_signed(const double *d, size_t n, struct rank_signed *ret, struct err *reterr) MUSTCHECK;

/* Hodges & Lehmann (1963): median of all b - a (or of Walsh averages of d), with the interval that
 * inverts the exact no-tie test: order statistics k and M+1-k. With ties the closed interval covers
 * at least that. STAT_TOO_FEW: no interval at this confidence (ci is unbounded, k = 0; 3 v 3 at
 * 95 %), the estimate stands. Sizes: na * nb <= 4,000,000. */
struct rank_hl {
	enum stat_state state;
	double estimate;
	struct stat_interval ci;
	double coverage;
	uint64_t k;
};
int rank_hl_shift(const double *a, size_t na, const double *b, size_t nb, double conf,
		  struct rank_hl *ret, struct err *reterr) MUSTCHECK;
int rank_hl_paired(const double *d, size_t n, double conf, struct rank_hl *ret,
		   struct err *reterr) MUSTCHECK;

/* Several groups, one after another in x; group_n[i] values each. */
struct rank_kw {
	enum stat_state state;
	double h, df, p; /* tie-corrected H, chi-square p */
};
int rank_kruskal_wallis(const double *x, const size_t *group_n, size_t groups, struct rank_kw *ret,
			struct err *reterr) MUSTCHECK;

/* Jonckheere (1954) - Terpstra: J = pairs that increase along the order of the groups (ties one
 * half). Exact without ties (convolution of U distributions); with ties or beyond the tables
 * `draws` seeded permutations and p = (b + 1) / (m + 1). */
struct rank_jt {
	enum stat_state state;
	double j, j_max;
	bool exact;
	double count_le, total; /* assignments with J <= j; total = (sum n)! / prod n! */
	double p_decreasing, p_increasing, p;
};
int rank_jonckheere(const double *x, const size_t *group_n, size_t groups, uint64_t seed,
		    struct rank_jt *ret, struct err *reterr) MUSTCHECK;
