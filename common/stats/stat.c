/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/stat.h"

#include <math.h>

const char *stat_state_name(enum stat_state s)
{
	switch (s) {
	case STAT_OK:
		return "ok";
	case STAT_TOO_FEW:
		return "too_few";
	case STAT_NO_VARIANCE:
		return "no_variance";
	case STAT_UNDEFINED:
		return "undefined";
	}
	return "undefined";
}

int stat_check(const char *name, const double *x, size_t n, struct err *reterr)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return err_set(reterr, ERR_INVALID,
				       "%s[%zu] is not a finite number: a missing value is left "
				       "out and counted, never filled in",
				       name, i);
	return 0;
}

int stat_check_conf(double conf, struct err *reterr)
{
	if (!(conf > 0 && conf < 1))
		return err_set(reterr, ERR_INVALID,
			       "confidence %g: give a share between 0 and 1, such as 0.95", conf);
	return 0;
}

static int cmp_double(const void *pa, const void *pb)
{
	double a, b;

	memcpy(&a, pa, sizeof(a));
	memcpy(&b, pb, sizeof(b));
	return (a > b) - (a < b);
}

void stat_sort(double *x, size_t n)
{
	if (n > 1)
		qsort(x, n, sizeof(*x), cmp_double);
}
