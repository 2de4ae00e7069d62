/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can this many runs see? Noncentral t, two-sided, rejections in either tail counted
 * (R's power.t.test with strict = TRUE). Effects are in units of sd unless said. */
#pragma once

#include "common/stats/stat.h"

/* n runs a side; n pairs (sd of the differences). NAN for n < 2. */
double power_two_sample(double n, double delta_sd, double alpha);
double power_paired(double n, double delta_sd, double alpha);
/* Smallest effect seen with that power: "minimum detectable effect". */
double power_mde_two_sample(double n, double alpha, double power);
double power_mde_paired(double n, double alpha, double power);
/* With unequal sizes: the standard error's own sizes count. */
double power_mde_welch(double na, double nb, double alpha, double power);
/* Runs a side (or pairs) for that effect, not rounded; INFINITY above 1e6. */
double power_n_two_sample(double delta_sd, double alpha, double power);
double power_n_paired(double delta_sd, double alpha, double power);

/* "About N more blocks": how many blocks beyond `blocks` until an effect like the present estimate
 * is on one side of the nearer margin bound. lo for an even chance (power 0.5), hi for power 0.8;
 * both count the distance from the estimate to the nearest of 0 +- margin. Counts above 1,000 are
 * INFINITY: "the effect is at the margin: more runs will not settle it". */
struct power_more {
	enum stat_state state;
	double lo, hi;
};
struct power_more power_more_blocks(double blocks, double estimate, double sd_of_differences,
				    double margin, double alpha);
