/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantiles and tails that callers need by themselves. */
#pragma once

#include "common/stats/stat.h"

/* P(X > x) of chi-square. */
double bounds_chi2_p(double x, double df);
/* t interval of a mean from n, mean and sd; NAN ends for n < 2 or an unknown sd. */
struct stat_interval bounds_mean(double n, double mean, double sd, double conf);
/* Lower end of the one-sided interval of a Poisson rate (Garwood 1936), 0 for no events; the upper
 * end is rate_upper(). */
double bounds_rate_lower(double events, double exposure, double conf);
