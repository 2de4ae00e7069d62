/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/summary.h"

#include <math.h>

#include <Rmath.h>

/* Neumaier's form of Kahan's compensated sum of (x - shift). */
static double sum_shifted(const double *x, size_t n, double shift)
{
	double sum = 0, lost = 0;

	for (size_t i = 0; i < n; i++) {
		double v = x[i] - shift;
		double t = sum + v;

		lost += fabs(sum) >= fabs(v) ? (sum - t) + v : (v - t) + sum;
		sum = t;
	}
	return sum + lost;
}

double summary_sum(const double *x, size_t n)
{
	return sum_shifted(x, n, 0);
}

double summary_mean(const double *x, size_t n)
{
	double mean;

	if (n == 0)
		return NAN;
	mean = summary_sum(x, n) / (double)n;
	return mean + sum_shifted(x, n, mean) / (double)n;
}

/* Second pass of the two-pass variance; the squared sum of deviations removes what the rounding of
 * the mean added (Chan, Golub & LeVeque 1983). */
static double variance(const double *x, size_t n, double mean)
{
	double sum = 0, lost = 0, dev = sum_shifted(x, n, mean);

	for (size_t i = 0; i < n; i++) {
		double d = x[i] - mean;
		double v = d * d;
		double t = sum + v;

		lost += sum >= v ? (sum - t) + v : (v - t) + sum;
		sum = t;
	}
	return (sum + lost - dev * dev / (double)n) / (double)(n - 1);
}

int summary_of(const double *x, size_t n, struct summary_stats *ret, struct err *reterr)
{
	struct summary_stats s = {
		.n = n, .min = NAN, .max = NAN, .range = NAN, .mean = NAN, .var = NAN, .sd = NAN};
	int r = stat_check("x", x, n, reterr);

	if (r < 0)
		return r;
	if (n > 0) {
		s.min = s.max = x[0];
		for (size_t i = 1; i < n; i++) {
			s.min = fmin(s.min, x[i]);
			s.max = fmax(s.max, x[i]);
		}
		s.range = s.max - s.min;
		/* equal values have no variance, whatever rounding says */
		s.mean = s.range == 0 ? s.min : summary_mean(x, n);
	}
	if (n > 1) {
		s.var = s.range == 0 ? 0 : variance(x, n, s.mean);
		s.sd = sqrt(s.var);
	}
	*ret = s;
	return 0;
}

struct moments summary_moments(const struct summary_stats *s)
{
	return (struct moments){.n = (double)s->n, .mean = s->mean, .sd = s->sd};
}

/* 1-based fractional position h of Hyndman & Fan's continuous types. */
static double quantile_position(double n, double q, enum quantile_type type)
{
	switch (type) {
	case QUANTILE_TYPE6:
		return (n + 1) * q;
	case QUANTILE_TYPE8:
		return (n + 1.0 / 3) * q + 1.0 / 3;
	case QUANTILE_TYPE1:
	case QUANTILE_TYPE7:
		break;
	}
	return (n - 1) * q + 1;
}

double summary_quantile(const double *sorted, size_t n, double q, enum quantile_type type)
{
	double h, below;
	size_t i;

	if (n == 0 || !(q >= 0 && q <= 1))
		return NAN;
	if (type == QUANTILE_TYPE1) {
		double nq = (double)n * q;

		/* 0.07 * 100 is 7.000000000000001: as in R, rounding makes no rank */
		h = ceil(nq - 4 * 2.220446e-16 * nq);
		return sorted[h < 1 ? 0 : (size_t)h - 1];
	}
	h = quantile_position((double)n, q, type);
	if (h <= 1)
		return sorted[0];
	if (h >= (double)n)
		return sorted[n - 1];
	below = floor(h);
	i = (size_t)below - 1;
	return sorted[i] + (h - below) * (sorted[i + 1] - sorted[i]);
}

double summary_quantile_hd(const double *sorted, size_t n, double q)
{
	double a = ((double)n + 1) * q, b = ((double)n + 1) * (1 - q);
	double sum = 0, prev = 0;

	if (n == 0 || !(q >= 0 && q <= 1))
		return NAN;
	if (q == 0 || q == 1)
		return sorted[q == 0 ? 0 : n - 1];
	for (size_t i = 0; i < n; i++) {
		double cdf = pbeta((double)(i + 1) / (double)n, a, b, 1, 0);

		sum += (cdf - prev) * sorted[i];
		prev = cdf;
	}
	return sum;
}

double summary_median(const double *sorted, size_t n)
{
	return summary_quantile(sorted, n, 0.5, QUANTILE_TYPE7);
}

double summary_mad(const double *sorted, size_t n)
{
	CLEANUP(freep) double *dev = xcalloc(n + 1, sizeof(*dev));
	double median = summary_median(sorted, n);

	for (size_t i = 0; i < n; i++)
		dev[i] = fabs(sorted[i] - median);
	stat_sort(dev, n);
	return summary_median(dev, n);
}

int summary_quantile_ranks(uint64_t n, double q, double conf, struct quantile_ranks *ret,
			   struct err *reterr)
{
	double tail = (1 - conf) / 2, size = (double)n, lo, hi;
	int r = stat_check_conf(conf, reterr);

	if (r < 0)
		return r;
	if (n == 0 || !(q > 0 && q < 1))
		return err_set(reterr, ERR_INVALID, "quantile %g of %llu values: needs 0 < q < 1",
			       q, (unsigned long long)n);
	/* largest lo with P(X <= lo - 1) <= tail */
	lo = qbinom(tail, size, q, 1, 0);
	while (lo > 0 && pbinom(lo - 1, size, q, 1, 0) > tail)
		lo--;
	while (lo < size && pbinom(lo, size, q, 1, 0) <= tail)
		lo++;
	/* smallest hi with P(X >= hi) = P(X > hi - 1) <= tail */
	hi = qbinom(tail, size, q, 0, 0) + 1;
	while (hi > 1 && pbinom(hi - 2, size, q, 0, 0) <= tail)
		hi--;
	while (hi <= size && pbinom(hi - 1, size, q, 0, 0) > tail)
		hi++;
	ret->lo = (uint64_t)lo;
	ret->hi = hi > size ? 0 : (uint64_t)hi;
	ret->coverage = 1 - (lo > 0 ? pbinom(lo - 1, size, q, 1, 0) : 0) -
			(ret->hi ? pbinom(hi - 1, size, q, 0, 0) : 0);
	return 0;
}

uint64_t summary_quantile_min_n(double q, double conf)
{
	if (!(q > 0 && q < 1 && conf > 0 && conf < 1))
		return 0;
	/* q^n <= (1 - conf) / 2 */
	return (uint64_t)ceil(log((1 - conf) / 2) / log(q));
}
