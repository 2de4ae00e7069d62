/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t tests and everything that is a t statistic: Welch, pooled, paired, trimmed, ratios,
 * equivalence. */
#pragma once

#include "common/stats/summary.h"

/* STAT_TOO_FEW: only `diff` is defined. STAT_NO_VARIANCE: se is 0; diff is exact, p is 1 when diff
 * is 0 and NAN otherwise (t cannot tell: use rank_mann_whitney or perm_*), ci is [diff, diff]. */
struct ttest {
	enum stat_state state;
	double diff, se, t, df;
	double p, p_less, p_greater;
	struct stat_interval ci;
};
/* Welch (1947), Satterthwaite df. Needs 2 + 2 values; one arm may have zero variance. */
int ttest_welch(const double *a, size_t na, const double *b, size_t nb, double conf,
		struct ttest *ret, struct err *reterr) MUSTCHECK;
int ttest_welch_from(const struct moments *a, const struct moments *b, double conf,
		     struct ttest *ret, struct err *reterr) MUSTCHECK;
/* Student's, equal variances. */
int ttest_pooled(const double *a, size_t na, const double *b, size_t nb, double conf,
		 struct ttest *ret, struct err *reterr) MUSTCHECK;
int ttest_pooled_from(const struct moments *a, const struct moments *b, double conf,
		      struct ttest *ret, struct err *reterr) MUSTCHECK;
/* On b[i] - a[i]; needs 2 pairs. */
int ttest_paired(const double *a, const double *b, size_t n, double conf, struct ttest *ret,
		 struct err *reterr) MUSTCHECK;
/* Mean of d against 0. */
int ttest_one(const double *d, size_t n, double conf, struct ttest *ret,
	      struct err *reterr) MUSTCHECK;
/* Yuen (1974): trimmed means, winsorised variances; trim = share cut at each end (0.2). `diff` is
 * the difference of the trimmed means. For showing beside Welch when a run is wild. */
int ttest_yuen(const double *a, size_t na, const double *b, size_t nb, double trim, double conf,
	       struct ttest *ret, struct err *reterr) MUSTCHECK;
double ttest_pearson_r(const double *a, const double *b, size_t n);

/* Two one-sided tests (Schuirmann 1987) of a result against [lo, hi]: equivalent when p <= alpha,
 * the same as ci inside [lo, hi]. p_lower: H0 diff <= lo; p_upper: H0 diff >= hi (alone: the
 * non-inferiority test where lower is better). Works for log ratios as well: bounds log(1 +- m). */
struct tost {
	enum stat_state state;
	double p_lower, p_upper, p;
	struct stat_interval ci; /* 1 - 2 alpha */
};
int ttest_tost(const struct ttest *t, double lo, double hi, double alpha, struct tost *ret,
	       struct err *reterr) MUSTCHECK;

/* Ratio B/A. `log` is the t test on the log scale that it comes from (diff = log ratio), for TOST.
 * STAT_UNDEFINED: a value <= 0 (log forms) or a base of 0: show the absolute difference. */
struct ratio {
	enum stat_state state;
	double ratio;
	struct stat_interval ci;
	double p;
	double g;	/* Fieller only: >= 1 means the base may be 0 */
	bool unbounded; /* Fieller only: no finite interval exists */
	struct ttest log;
};
/* Geometric mean of paired ratios, t on log differences. The main estimate of a blocked design. */
int ttest_ratio_paired(const double *a, const double *b, size_t n, double conf, struct ratio *ret,
		       struct err *reterr) MUSTCHECK;
/* Ratio of geometric means, Welch on logs. */
int ttest_ratio_welch(const double *a, size_t na, const double *b, size_t nb, double conf,
		      struct ratio *ret, struct err *reterr) MUSTCHECK;
/* Ratio of arithmetic means from n, mean, sd: delta method on the log scale, Satterthwaite df. */
int ttest_ratio_delta(const struct moments *a, const struct moments *b, double conf,
		      struct ratio *ret, struct err *reterr) MUSTCHECK;
/* Ratio of arithmetic means, Fieller (1954), pooled variance. Not bounded when the base mean is not
 * significantly different from 0: ci is then (-inf, inf) and `unbounded` is true. */
int ttest_ratio_fieller(const struct moments *a, const struct moments *b, double conf,
			struct ratio *ret, struct err *reterr) MUSTCHECK;
