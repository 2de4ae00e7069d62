/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits of an ordered series. These find where a series would be cut best; whether it should be
 * cut is the caller's test (changepoint.h). Indexes are 0-based, a change is the first point after.
 */
#pragma once

#include "common/stats/stat.h"

#define SEGMENT_N_MAX 2000

enum segment_variant {
	SEGMENT_U, /* Matteson & James (2014): U statistics, tau and kappa free */
	SEGMENT_V  /* V statistics, kappa = end */
};
/* The best single split of x[from, to) by the energy statistic with |x - y|; each side at least
 * min_len points. tau = to when none is possible. */
struct segment_split {
	size_t from, to, tau, kappa;
	double q;
};
int segment_energy_split(const double *x, size_t from, size_t to, size_t min_len,
			 enum segment_variant variant, struct segment_split *ret,
			 struct err *reterr) MUSTCHECK;
/* Greedy order of splits: always the interval with the largest q, at most max_splits. */
int segment_energy_greedy(const double *x, size_t n, size_t min_len, enum segment_variant variant,
			  struct segment_split *ret, size_t max_splits, size_t *ret_n,
			  struct err *reterr) MUSTCHECK;

#define SEGMENT_K_MAX 10
/* Least squares, dynamic programming: for k = 0..k_max changes the smallest sum of squares, where,
 * and n ln(SSE/n) + (2k+1) ln n. */
struct segment_ls {
	size_t tried;
	double sse[SEGMENT_K_MAX + 1], bic[SEGMENT_K_MAX + 1];
	size_t cp[SEGMENT_K_MAX + 1][SEGMENT_K_MAX];
	size_t best; /* k of the smallest BIC */
};
int segment_least_squares(const double *x, size_t n, size_t k_max, struct segment_ls *ret,
			  struct err *reterr) MUSTCHECK;
