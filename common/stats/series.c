/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/series.h"

#include <math.h>

#include <Rmath.h>

#include "common/stats/summary.h"

/* Autocovariance sum at one lag, of deviations. */
static double lagged(const double *dev, size_t n, size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < n; i++)
		sum += dev[i] * dev[i + lag];
	return sum;
}

static bool deviations(const double *x, size_t n, double *dev)
{
	double mean = summary_mean(x, n);
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		dev[i] = x[i] - mean;
		any |= x[i] != x[0];
	}
	return any;
}

static int check_series(const double *x, size_t n, size_t lags, struct err *reterr)
{
	if (lags >= n)
		return err_set(reterr, ERR_INVALID,
			       "%zu lags of a series of %zu: needs fewer lags "
			       "than points",
			       lags, n);
	return stat_check("x", x, n, reterr);
}

int series_acf(const double *x, size_t n, size_t lags, double *acf, struct err *reterr)
{
	CLEANUP(freep) double *dev = xcalloc(n + 1, sizeof(*dev));
	double var;
	bool varies;
	int r = check_series(x, n, lags, reterr);

	if (r < 0)
		return r;
	varies = deviations(x, n, dev);
	var = lagged(dev, n, 0);
	for (size_t k = 1; k <= lags; k++)
		acf[k - 1] = varies ? lagged(dev, n, k) / var : NAN;
	return 0;
}

/* Geyer's initial positive sequence: sums of neighbouring pairs of autocorrelations are positive
 * for a reversible chain; stop at the first that is not. */
static double integrated_time(const double *dev, size_t n, double var)
{
	double sum = 0;

	for (size_t k = 0; 2 * k + 1 < n; k++) {
		double pair = (lagged(dev, n, 2 * k) + lagged(dev, n, 2 * k + 1)) / var;

		if (pair <= 0)
			break;
		sum += pair;
	}
	return 2 * sum - 1;
}

static double batch_error(const double *x, size_t n, size_t batches)
{
	CLEANUP(freep) double *mean = xcalloc(batches + 1, sizeof(*mean));
	size_t len = batches ? n / batches : 0;
	double grand, sum = 0;

	if (batches < 2 || len < 1)
		return NAN;
	for (size_t b = 0; b < batches; b++)
		mean[b] = summary_mean(x + b * len, len);
	grand = summary_mean(mean, batches);
	for (size_t b = 0; b < batches; b++)
		sum += (mean[b] - grand) * (mean[b] - grand);
	return sqrt(sum / (double)(batches - 1) / (double)batches);
}

int series_dependence(const double *x, size_t n, size_t lags, size_t batches,
		      struct series_dependence *ret, struct err *reterr)
{
	struct series_dependence d = {.state = STAT_TOO_FEW,
				      .lag1 = NAN,
				      .ljung_box = NAN,
				      .ljung_box_p = NAN,
				      .tau = NAN,
				      .ess = NAN,
				      .se_naive = NAN,
				      .se_batch = NAN};
	CLEANUP(freep) double *dev = xcalloc(n + 1, sizeof(*dev));
	double var, size = (double)n;
	int r = check_series(x, n, lags, reterr);

	if (r < 0)
		return r;
	if (n < 3 || !deviations(x, n, dev)) {
		d.state = n < 3 ? STAT_TOO_FEW : STAT_NO_VARIANCE;
		*ret = d;
		return 0;
	}
	d.state = STAT_OK;
	var = lagged(dev, n, 0);
	d.lag1 = lagged(dev, n, 1) / var;
	if (lags > 0) {
		d.ljung_box = 0;
		for (size_t k = 1; k <= lags; k++) {
			double rho = lagged(dev, n, k) / var;

			d.ljung_box += size * (size + 2) * rho * rho / (size - (double)k);
		}
		d.ljung_box_p = pchisq(d.ljung_box, (double)lags, 0, 0);
	}
	d.tau = integrated_time(dev, n, var);
	d.ess = size / d.tau;
	d.se_naive = sqrt(var / (size - 1) / size);
	d.se_batch = batch_error(x, n, batches);
	*ret = d;
	return 0;
}
