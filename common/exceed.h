/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The share of samples at or above thresholds that are fixed in advance (1-2-5 a decade, 10 us to
 * 10 ms), in samples per million. Unlike a far quantile its error bars hold with few runs
 * (docs/STATISTICS.md). */
#pragma once

#include "common/hist.h"

#define EXCEED_STEPS 10
struct exceed_step {
	const char *stat; /* "ppm_over_50us" */
	int64_t ns;
};
extern const struct exceed_step exceed_steps[EXCEED_STEPS];

/* Certainly and possibly, when the threshold cuts a bucket. NAN for an empty histogram. */
struct exceed_share {
	double lo_ppm, hi_ppm;
};
struct exceed_share exceed_share(const struct hist *h, int64_t threshold_ns);
