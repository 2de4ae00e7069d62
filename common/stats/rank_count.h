/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting distributions of rank statistics, and ranking. Internal to rank_*.c. */
#pragma once

#include "common/stats/rank.h"

/* Doubled midranks of x (integers, so that ties stay exact). Returns sum(t^3 - t) over tie groups
 * of t values: 0 means no ties. */
double rank_doubled(const double *x, size_t n, uint32_t *ret_rank);

/* A distribution on integers: n[i] patterns have the value i. Free n. */
struct rank_counts {
	double *n;
	size_t len;
	double total;
};
/* Splits of m + n distinct values by U; ok up to RANK_U_PAIRS_MAX pairs, RANK_U_SIZE_MAX values. */
#define RANK_U_PAIRS_MAX 100000
#define RANK_U_SIZE_MAX	 1000
bool rank_counts_u(size_t m, size_t n, struct rank_counts *ret);
/* Subsets of m of these doubled ranks, by their sum. False when it would be too long. */
bool rank_counts_subset(const uint32_t *rank, size_t n, size_t m, struct rank_counts *ret);
/* Sign patterns of these doubled ranks by the sum of the positive ones. */
bool rank_counts_signs(const uint32_t *rank, size_t n, struct rank_counts *ret);
/* Sum of n[lo..hi]; ends are clipped. */
double rank_counts_sum(const struct rank_counts *c, double lo, double hi);
/* n[i] as shares; smallest value whose cumulative share reaches p. */
double rank_counts_quantile(const struct rank_counts *c, double p);
