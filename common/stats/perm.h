/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Permutation tests of means. Exact over all splits (or sign patterns) when there are at most
 * `exact_max` of them and 36 values or fewer, or 1,048,576 splits or fewer; else `draws` random
 * ones with p = (b + 1) / (m + 1) (Phipson & Smyth 2010), never 0. */
#pragma once

#include "common/stats/stat.h"

struct perm_options {
	double exact_max; /* 0 = the most, 10,000,000,000 */
	uint32_t draws;	  /* 0 = 20,000; at most 10,000,000 */
	uint64_t seed;	  /* of the random draws; recorded in the result */
};

struct perm_test {
	enum stat_state state;
	double diff;	     /* mean of B minus mean of A, or mean of d */
	bool exact;	     /* false: Monte-Carlo */
	double count, total; /* at least as extreme, of how many; random draws without the + 1 */
	double p, p_less, p_greater;
	double p_min;
	uint64_t seed;
};
/* Sums that are equal up to 1e-12 of the sum of |x| count as equal. */
int perm_mean_diff(const double *a, size_t na, const double *b, size_t nb,
		   const struct perm_options *o, struct perm_test *ret,
		   struct err *reterr) MUSTCHECK;
int perm_sign_flip(const double *d, size_t n, const struct perm_options *o, struct perm_test *ret,
		   struct err *reterr) MUSTCHECK;
