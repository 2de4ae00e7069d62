/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/bounds.h"

#include <math.h>

#include <Rmath.h>

double bounds_chi2_p(double x, double df)
{
	return pchisq(x, df, 0, 0);
}

struct stat_interval bounds_mean(double n, double mean, double sd, double conf)
{
	double half = NAN;

	if (n >= 2 && isfinite(sd))
		half = qt(0.5 + conf / 2, n - 1, 1, 0) * sd / sqrt(n);
	return (struct stat_interval){mean - half, mean + half};
}

double bounds_rate_lower(double events, double exposure, double conf)
{
	if (!(exposure > 0))
		return NAN;
	return events > 0 ? qgamma(1 - conf, events, 1 / exposure, 1, 0) : 0;
}
