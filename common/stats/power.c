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

struct question {
	double (*power_at)(const struct question *q, double x);
	double df, alpha, power, delta_sd;
	bool paired;
};

/* Where a rising function meets the power: regula falsi with the Illinois correction, about ten
 * evaluations (each noncentral t is dear). */
static double solve(const struct question *q, double lo, double hi)
{
	double f_lo = q->power_at(q, lo) - q->power, f_hi = q->power_at(q, hi) - q->power;
	int side = 0;

	for (int i = 0; i < 100 && hi - lo > 1e-13 * hi && f_hi != 0; i++) {
		double mid = (lo * f_hi - hi * f_lo) / (f_hi - f_lo);
		double f = q->power_at(q, mid) - q->power;

		if (fabs(f) < 1e-15)
			return mid;
		if (f < 0) {
			lo = mid;
			f_lo = f;
			f_hi /= side < 0 ? 2 : 1;
			side = -1;
		} else {
			hi = mid;
			f_hi = f;
			f_lo /= side > 0 ? 2 : 1;
			side = 1;
		}
	}
	return f_hi == 0 ? hi : (lo + hi) / 2;
}

static double at_ncp(const struct question *q, double ncp)
{
	return power_t(q->df, ncp, q->alpha);
}

/* Noncentrality at which the power is reached: power_t rises with it. */
static double ncp_for(double df, double alpha, double power)
{
	struct question q = {.power_at = at_ncp, .df = df, .alpha = alpha, .power = power};
	double lo = 0, hi = 4;

	if (!(alpha > 0 && alpha < 1 && power > alpha && power < 1))
		return NAN;
	while (power_t(df, hi, alpha) < power && hi < 1e6) {
		lo = hi;
		hi *= 2;
	}
	return solve(&q, lo, hi);
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

static double at_n(const struct question *q, double n)
{
	return q->paired ? power_paired(n, q->delta_sd, q->alpha)
			 : power_two_sample(n, q->delta_sd, q->alpha);
}

static double n_for(bool paired, double delta_sd, double alpha, double power)
{
	struct question q = {.power_at = at_n,
			     .alpha = alpha,
			     .power = power,
			     .delta_sd = delta_sd,
			     .paired = paired};
	double lo = 2, hi = 2;

	if (!(delta_sd != 0 && alpha > 0 && alpha < 1 && power > 0 && power < 1))
		return NAN;
	while (at_n(&q, hi) < power) {
		lo = hi;
		hi *= 2;
		if (hi > N_MAX)
			return INFINITY;
	}
	return lo == hi ? hi : solve(&q, lo, hi);
}

double power_n_two_sample(double delta_sd, double alpha, double power)
{
	return n_for(false, delta_sd, alpha, power);
}

double power_n_paired(double delta_sd, double alpha, double power)
{
	return n_for(true, delta_sd, alpha, power);
}

/* Blocks to add, at least one (it is undecided now); bisection over whole numbers. */
static double more(double blocks, double distance_sd, double alpha, double power)
{
	double lo = 1, hi = MORE_MAX;

	if (power_paired(blocks + hi, distance_sd, alpha) < power)
		return INFINITY;
	while (lo < hi) {
		double mid = floor((lo + hi) / 2);

		if (power_paired(blocks + mid, distance_sd, alpha) < power)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
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
