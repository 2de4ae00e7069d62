/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Autocorrelation of an ordered sample and what it costs. */
#pragma once

#include "common/stats/stat.h"

/* acf[0..lags-1] = lag 1..lags, divisor n. NAN when there is no variance. lags < n. */
int series_acf(const double *x, size_t n, size_t lags, double *acf, struct err *reterr) MUSTCHECK;

struct series_dependence {
	enum stat_state state;
	double lag1;
	double ljung_box, ljung_box_p; /* `lags` lags (Ljung & Box 1978) */
	double tau; /* integrated autocorrelation time, initial positive sequence (Geyer 1992) */
	double ess; /* n / tau */
	double se_naive, se_batch; /* of the mean; batch means */
};
int series_dependence(const double *x, size_t n, size_t lags, size_t batches,
		      struct series_dependence *ret, struct err *reterr) MUSTCHECK;
