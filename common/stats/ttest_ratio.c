/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ratios B/A as t statistics: on logs, by the delta method, and Fieller's. */
#include "common/stats/ttest.h"

#include <math.h>

#include <Rmath.h>

static struct ratio ratio_none(enum stat_state state, double value)
{
	struct ratio r = {
		.state = state, .ratio = value, .ci = {-INFINITY, INFINITY}, .p = NAN, .g = NAN};

	r.log = (struct ttest){.state = state,
			       .diff = NAN,
			       .se = NAN,
			       .t = NAN,
			       .df = NAN,
			       .p = NAN,
			       .p_less = NAN,
			       .p_greater = NAN,
			       .ci = {-INFINITY, INFINITY}};
	return r;
}

static struct ratio ratio_from_log(const struct ttest *log_test)
{
	struct ratio r = ratio_none(log_test->state, exp(log_test->diff));

	r.log = *log_test;
	r.p = log_test->p;
	r.ci = (struct stat_interval){exp(log_test->ci.lo), exp(log_test->ci.hi)};
	return r;
}

/* Logarithms into out; false when a value is not positive. */
static bool logs(const double *x, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		if (x[i] <= 0)
			return false;
		out[i] = log(x[i]);
	}
	return true;
}

typedef int (*log_test_fn)(const double *a, size_t na, const double *b, size_t nb, double conf,
			   struct ttest *ret, struct err *reterr);

static int paired_test(const double *a, size_t na, const double *b, size_t nb UNUSED, double conf,
		       struct ttest *ret, struct err *reterr)
{
	return ttest_paired(a, b, na, conf, ret, reterr);
}

static int ratio_on_logs(const double *a, size_t na, const double *b, size_t nb, double conf,
			 log_test_fn test, struct ratio *ret, struct err *reterr)
{
	CLEANUP(freep) double *la = xcalloc(na + 1, sizeof(*la));
	CLEANUP(freep) double *lb = xcalloc(nb + 1, sizeof(*lb));
	struct ttest t;
	int r = stat_check("a", a, na, reterr);

	if (r == 0)
		r = stat_check("b", b, nb, reterr);
	if (r < 0)
		return r;
	if (!logs(a, na, la) || !logs(b, nb, lb)) {
		*ret = ratio_none(STAT_UNDEFINED, NAN);
		return stat_check_conf(conf, reterr);
	}
	r = test(la, na, lb, nb, conf, &t, reterr);
	if (r == 0)
		*ret = ratio_from_log(&t);
	return r;
}

int ttest_ratio_paired(const double *a, const double *b, size_t n, double conf, struct ratio *ret,
		       struct err *reterr)
{
	return ratio_on_logs(a, n, b, n, conf, paired_test, ret, reterr);
}

int ttest_ratio_welch(const double *a, size_t na, const double *b, size_t nb, double conf,
		      struct ratio *ret, struct err *reterr)
{
	return ratio_on_logs(a, na, b, nb, conf, ttest_welch, ret, reterr);
}

/* Welch checks the moments for us; its answer carries TOO_FEW and NO_VARIANCE. */
static int ratio_check(const struct moments *a, const struct moments *b, double conf,
		       struct ratio *ret, bool *ret_done, struct err *reterr)
{
	struct ttest t;
	int r = ttest_welch_from(a, b, conf, &t, reterr);

	*ret_done = true;
	if (r < 0)
		return r;
	if (a->n < 1 || b->n < 1)
		*ret = ratio_none(STAT_TOO_FEW, NAN);
	else if (a->mean == 0)
		*ret = ratio_none(STAT_UNDEFINED, NAN);
	else if (t.state == STAT_TOO_FEW)
		*ret = ratio_none(STAT_TOO_FEW, b->mean / a->mean);
	else
		*ret_done = false;
	return 0;
}

int ttest_ratio_delta(const struct moments *a, const struct moments *b, double conf,
		      struct ratio *ret, struct err *reterr)
{
	struct moments la, lb;
	struct ttest t;
	bool done;
	int r = ratio_check(a, b, conf, ret, &done, reterr);

	if (r < 0 || done)
		return r;
	if (a->mean * b->mean <= 0) {
		*ret = ratio_none(STAT_UNDEFINED, b->mean / a->mean);
		return 0;
	}
	/* sd(log x) is about sd(x) / mean */
	la = (struct moments){a->n, log(fabs(a->mean)), a->sd / fabs(a->mean)};
	lb = (struct moments){b->n, log(fabs(b->mean)), b->sd / fabs(b->mean)};
	r = ttest_welch_from(&la, &lb, conf, &t, reterr);
	if (r == 0)
		*ret = ratio_from_log(&t);
	return r;
}

int ttest_ratio_fieller(const struct moments *a, const struct moments *b, double conf,
			struct ratio *ret, struct err *reterr)
{
	double df, var, t, va, vb, q, disc, centre;
	struct ttest diff;
	bool done;
	int r = ratio_check(a, b, conf, ret, &done, reterr);

	if (r == 0 && !done)
		r = ttest_pooled_from(a, b, conf, &diff, reterr);
	if (r < 0 || done)
		return r;
	*ret = ratio_none(diff.state, b->mean / a->mean);
	ret->p = diff.p;
	df = a->n + b->n - 2;
	var = ((a->n - 1) * a->sd * a->sd + (b->n - 1) * b->sd * b->sd) / df;
	t = qt((1 + conf) / 2, df, 1, 0);
	va = t * t * var / a->n;
	vb = t * t * var / b->n;
	ret->g = va / (a->mean * a->mean);
	/* theta^2 (ma^2 - va) - 2 theta ma mb + (mb^2 - vb) <= 0 */
	q = a->mean * a->mean - va;
	if (q <= 0) {
		ret->unbounded = true;
		return 0;
	}
	centre = a->mean * b->mean;
	disc = sqrt(vb * q + b->mean * b->mean * va); /* without cancellation */
	ret->ci = (struct stat_interval){(centre - disc) / q, (centre + disc) / q};
	return 0;
}
