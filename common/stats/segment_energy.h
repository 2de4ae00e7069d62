/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All splits of one ordered set by the energy statistic in O(n log n): on a line the sums of |x -
 * y| follow from counts and sums of what lies below, kept in a Fenwick tree over ranks. Internal to
 * segment.c and changepoint.c, which scans many orders of the same values. */
#pragma once

#include "common/base.h"

struct energy {
	size_t n;
	double *x;	/* values, centred */
	double *all;	/* sum of |x[i] - x[j]| over all j */
	uint32_t *rank; /* 1-based */
	double *tree_sum;
	double *tree_n;
	double pairs; /* sum over all pairs */
};

void energy_init(struct energy *e, const double *x, size_t n);
void energy_done(struct energy *e);
/* The best V-statistic split of the values taken in this order (NULL = as given): returns q, the
 * position of the split in *ret_tau; 0 and n when each side cannot have min_len. With q_at not
 * NULL, q of every tau goes there (0 where not allowed). */
double energy_best(struct energy *e, const uint32_t *order, size_t min_len, size_t *ret_tau,
		   double *q_at);
