/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The staircase hypothesis of a tail: wake-ups that meet non-preemptible sections of lengths L_i,
 * started r_i times a second, at a random phase, wait with the density sum of r_i over L_i > d.
 * The density only falls, is flat between the lengths, and drops by r_i at each. What is found
 * here is a description under that assumption, never a verdict (docs/STATISTICS.md, "tail"). */
#pragma once

#include "common/hist.h"

#define STAIRCASE_STEPS_MAX 6
#define STAIRCASE_CLASSES   5

/* One flat stretch that ends in a drop. Values in the histogram's unit. */
struct staircase_step {
	int64_t from, edge;	 /* the stretch [from, edge) */
	double count, p_flat;	 /* samples in it; equal density within */
	double rate;		 /* of the section: drop in density, per unit of value and sample */
	double edge_lo, edge_hi; /* interval from whole runs, at least one bin each way */
	double rate_lo, rate_hi; /* NAN: too few runs */
	bool stable;		 /* found again when any run is left out */
};

struct staircase {
	bool known; /* false: too few samples beyond the threshold */
	/* all samples from the threshold to the maximum, in five equal classes */
	int64_t from, max;
	double count, p_flat;
	double class_from[STAIRCASE_CLASSES], class_count[STAIRCASE_CLASSES];
	/* a rise that a falling density does not have */
	bool hump;
	int64_t hump_from, hump_to;
	double hump_count, hump_p;
	/* the steps, by segmentation of bins of this width */
	int64_t bin_width;
	size_t steps;
	struct staircase_step step[STAIRCASE_STEPS_MAX];
};

/* `runs` are the runs' own histograms (for intervals), `pooled` their sum, all of one grid. The
 * steps are sought from the value `body_end` on, the flatness test begins at `threshold`. */
void staircase_find(const struct hist *pooled, const struct hist *const *runs, size_t n,
		    int64_t body_end, int64_t threshold, double conf, struct staircase *ret);
