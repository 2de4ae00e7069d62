/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far apart are two distributions? Effect sizes only: a p-value of pooled samples measures
 * their number, not the difference (docs/STATISTICS.md). */
#pragma once

#include "common/stats/stat.h"

/* Weighted points, x ascending. A histogram passes its buckets' lower edges (or middles) and
 * counts; a sample passes sorted values and weights NULL (1 each). */
struct dist_points {
	const double *x, *w;
	size_t n;
};

struct dist_distance {
	double ks;	    /* max |F_A - F_B| */
	double wasserstein; /* area between the two F, in units of x */
	double cliff_b_a;   /* P(b > a) - P(a > b) */
	double mean_a, mean_b;
};
/* ERR_INVALID when x does not ascend, a weight is negative or a side has no weight. */
int dist_compare(const struct dist_points *a, const struct dist_points *b,
		 struct dist_distance *ret, struct err *reterr) MUSTCHECK;

/* Asymptotic two-sided Kolmogorov-Smirnov p. Here so that the documentation's table of its
 * uselessness can be recomputed; no comparison shows it. */
double dist_ks_p(double d, double na, double nb);

/* Histogram buckets [lo, hi) with counts: linear interpolation inside the bucket that holds rank
 * q * N (what Prometheus and Grafana print), and the share of counts in buckets with lo >= t. */
double dist_grouped_quantile(const double *lo, const double *hi, const double *n, size_t len,
			     double q);
double dist_ccdf(const double *lo, const double *n, size_t len, double t);
