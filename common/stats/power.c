/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/power.h"

#include <math.h>

#include <Rmath.h>

#define N_MAX	 1e6
#define MORE_MAX 1000

/* P(reject) of a two-sided t test, either tail. */
static double power_t(double df, double ncp, double alpha)
{
	double t = qt(alpha / 2, df, 0, 0);

	return pnt(t, df, ncp, 0, 0) + pnt(-t, df, ncp, 1, 0);
}

double power_two_sample(double n, double delta_sd, double alpha)
{
	return n >= 2 ? power_t(2 * (n - 1), sqrt(n / 2) * fabs(delta_sd), alpha) : NAN;
}

double power_paired(double n, double delta_sd, double alpha)
{
	return n >= 2 ? power_t(n - 1, sqrt(n) * fabs(delta_sd), alpha) : NAN;
}

/* Noncentrality at which the power is reached: power_t rises with it. */
static double ncp_for(double df, double alpha, double power)
{
	double lo = 0, hi = 1;

	if (!(alpha > 0 && alpha < 1 && power > alpha && power < 1))
		return NAN;
	while (power_t(df, hi, alpha) < power && hi < 1e6)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-13 * hi; i++) {
		double mid = (lo + hi) / 2;

		*(power_t(df, mid, alpha) < power ? &lo : &hi) = mid;
	}
	return (lo + hi) / 2;
}

double power_mde_two_sample(double n, double alpha, double power)
{
	return n >= 2 ? ncp_for(2 * (n - 1), alpha, power) / sqrt(n / 2) : NAN;
}

double power_mde_paired(double n, double alpha, double power)
{
	return n >= 2 ? ncp_for(n - 1, alpha, power) / sqrt(n) : NAN;
}

double power_mde_welch(double na, double nb, double alpha, double power)
{
	if (!(na >= 2 && nb >= 2))
		return NAN;
	return ncp_for(na + nb - 2, alpha, power) * sqrt(1 / na + 1 / nb);
}

typedef double (*power_fn)(double n, double delta_sd, double alpha);

static double n_for(power_fn fn, double delta_sd, double alpha, double power)
{
	double lo = 2, hi = 2;

	if (!(delta_sd != 0 && alpha > 0 && alpha < 1 && power > 0 && power < 1))
		return NAN;
	while (fn(hi, delta_sd, alpha) < power) {
		lo = hi;
		hi *= 2;
		if (hi > N_MAX)
			return INFINITY;
	}
	for (int i = 0; i < 200 && hi - lo > 1e-13 * hi; i++) {
		double mid = (lo + hi) / 2;

		*(fn(mid, delta_sd, alpha) < power ? &lo : &hi) = mid;
	}
	return (lo + hi) / 2;
}

double power_n_two_sample(double delta_sd, double alpha, double power)
{
	return n_for(power_two_sample, delta_sd, alpha, power);
}

double power_n_paired(double delta_sd, double alpha, double power)
{
	return n_for(power_paired, delta_sd, alpha, power);
}

static double more(double blocks, double distance_sd, double alpha, double power)
{
	double need = ceil(power_n_paired(distance_sd, alpha, power));
	double add = fmax(1, need - blocks); /* undecided now: at least one more */

	return add <= MORE_MAX ? add : INFINITY;
}

struct power_more power_more_blocks(double blocks, double estimate, double sd_of_differences,
				    double margin, double alpha)
{
	struct power_more m = {.state = STAT_OK, .lo = NAN, .hi = NAN};
	double distance = fabs(fabs(estimate) - fabs(margin));

	if (!(blocks >= 2 && isfinite(estimate) && isfinite(margin))) {
		m.state = STAT_TOO_FEW;
		return m;
	}
	if (!(sd_of_differences > 0)) {
		m.state = STAT_NO_VARIANCE;
		return m;
	}
	if (distance < 1e-6 * sd_of_differences) {
		m.lo = m.hi = INFINITY;
		return m;
	}
	m.lo = more(blocks, distance / sd_of_differences, alpha, 0.5);
	m.hi = more(blocks, distance / sd_of_differences, alpha, 0.8);
	return m;
}
