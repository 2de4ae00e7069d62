/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/rate.h"

#include <math.h>

#include <Rmath.h>

static int check_count(const char *what, double x, struct err *reterr)
{
	if (!(isfinite(x) && x >= 0 && x == floor(x)))
		return err_set(reterr, ERR_INVALID, "%s %g is not a count", what, x);
	return 0;
}

static int check_exposure(const char *what, double x, struct err *reterr)
{
	if (!(isfinite(x) && x > 0))
		return err_set(reterr, ERR_INVALID,
			       "%s %g: a rate needs a positive time or number of samples", what, x);
	return 0;
}

static struct stat_interval clopper_pearson(double x, double n, double conf)
{
	double tail = (1 - conf) / 2;
	struct stat_interval i = {0, 1};

	if (x > 0)
		i.lo = qbeta(tail, x, n - x + 1, 1, 0);
	if (x < n)
		i.hi = qbeta(tail, x + 1, n - x, 0, 0);
	return i;
}

static struct stat_interval wilson(double x, double n, double conf)
{
	double z = qnorm((1 + conf) / 2, 0, 1, 1, 0), share = x / n;
	double centre = share + z * z / (2 * n), scale = 1 + z * z / n;
	double half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	struct stat_interval i = {(centre - half) / scale, (centre + half) / scale};

	if (x == 0)
		i.lo = 0;
	if (x == n)
		i.hi = 1;
	return i;
}

int rate_share(double x, double n, double conf, struct rate_share *ret, struct err *reterr)
{
	double tail = (1 - conf) / 2;
	int r = check_count("number of events", x, reterr);

	if (r == 0)
		r = check_count("number of samples", n, reterr);
	if (r == 0)
		r = stat_check_conf(conf, reterr);
	if (r < 0)
		return r;
	if (n < 1 || x > n)
		return err_set(reterr, ERR_INVALID, "%g events of %g samples: not a share", x, n);
	ret->share = x / n;
	ret->clopper_pearson = clopper_pearson(x, n, conf);
	ret->wilson = wilson(x, n, conf);
	ret->poisson.lo = x > 0 ? qgamma(tail, x, 1, 1, 0) / n : 0;
	ret->poisson.hi = qgamma(tail, x + 1, 1, 0, 0) / n;
	ret->upper = x < n ? qbeta(1 - conf, x + 1, n - x, 0, 0) : 1;
	return 0;
}

int rate_upper(double x, double exposure, double conf, double *ret, struct err *reterr)
{
	int r = check_count("number of events", x, reterr);

	if (r == 0)
		r = check_exposure("exposure", exposure, reterr);
	if (r == 0)
		r = stat_check_conf(conf, reterr);
	if (r == 0)
		*ret = qgamma(1 - conf, x + 1, 1, 0, 0) / exposure;
	return r;
}

/* Number of outcomes in [lo, hi] on the far side of the mode whose probability is at most `limit`;
 * the density is monotone there, so bisection finds the edge. `rising`: towards hi. */
static double far_edge(double lo, double hi, double n, double prob, double limit, bool rising)
{
	while (lo < hi) {
		double mid = floor((lo + hi + (rising ? 1 : 0)) / 2);
		bool small = dbinom(mid, n, prob, 0) <= limit;

		if (rising)
			*(small ? &lo : &hi) = small ? mid : mid - 1;
		else
			*(small ? &hi : &lo) = small ? mid : mid + 1;
	}
	return lo;
}

double rate_binomial_p(double x, double n, double prob)
{
	double mean = n * prob, limit, edge;

	if (n == 0 || x == mean)
		return 1;
	/* R: outcomes within a relative 1e-7 count as equally probable */
	limit = dbinom(x, n, prob, 0) * (1 + 1e-7);
	if (x < mean) {
		if (dbinom(n, n, prob, 0) > limit)
			return pbinom(x, n, prob, 1, 0);
		edge = far_edge(ceil(mean), n, n, prob, limit, false);
		return fmin(1, pbinom(x, n, prob, 1, 0) + pbinom(edge - 1, n, prob, 0, 0));
	}
	if (dbinom(0, n, prob, 0) > limit)
		return pbinom(x - 1, n, prob, 0, 0);
	edge = far_edge(0, floor(mean), n, prob, limit, true);
	return fmin(1, pbinom(edge, n, prob, 1, 0) + pbinom(x - 1, n, prob, 0, 0));
}

int rate_ratio(double xa, double exposure_a, double xb, double exposure_b, double conf,
	       struct rate_ratio *ret, struct err *reterr)
{
	struct rate_ratio q = {.state = STAT_OK, .ci = {0, INFINITY}};
	struct stat_interval share;
	double n = xa + xb, prob, scale;
	int r = check_count("events of a", xa, reterr);

	if (r == 0)
		r = check_count("events of b", xb, reterr);
	if (r == 0)
		r = check_exposure("exposure of a", exposure_a, reterr);
	if (r == 0)
		r = check_exposure("exposure of b", exposure_b, reterr);
	if (r == 0)
		r = stat_check_conf(conf, reterr);
	if (r < 0)
		return r;
	scale = exposure_a / exposure_b;
	prob = exposure_b / (exposure_a + exposure_b);
	q.ratio = n == 0 ? NAN : xa == 0 ? INFINITY : xb / xa * scale;
	q.p = rate_binomial_p(xb, n, prob);
	if (n == 0) {
		q.state = STAT_TOO_FEW;
		q.p_less = q.p_greater = 1;
		*ret = q;
		return 0;
	}
	q.p_less = pbinom(xb, n, prob, 1, 0);
	q.p_greater = pbinom(xb - 1, n, prob, 0, 0);
	share = clopper_pearson(xb, n, conf);
	q.ci.lo = share.lo / (1 - share.lo) * scale;
	q.ci.hi = share.hi < 1 ? share.hi / (1 - share.hi) * scale : INFINITY;
	*ret = q;
	return 0;
}

double rate_new_max(double n, double more)
{
	return more / (n + more);
}

/* With u = limit * exposure the mixture over the whole prior is x! e^u / (1 + u)^(x + 1); the
 * posterior is a gamma of shape x + 1 and rate 1 + u, in units of the limit. */
int rate_evidence(double x, double exposure, double limit, struct rate_evidence *ret,
		  struct err *reterr)
{
	double u = exposure * limit, whole;
	int r = check_count("number of events", x, reterr);

	if (r == 0)
		r = check_exposure("exposure", exposure, reterr);
	if (r == 0)
		r = check_exposure("limit", limit, reterr);
	if (r < 0)
		return r;
	whole = lgamma(x + 1) + u - (x + 1) * log1p(u);
	ret->above = whole + pgamma(1, x + 1, 1 / (1 + u), 0, 1) - pexp(1, 1, 0, 1);
	ret->below = whole + pgamma(1, x + 1, 1 / (1 + u), 1, 1) - pexp(1, 1, 1, 1);
	return 0;
}
