/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/ttest.h"

#include <math.h>

#include <Rmath.h>

static struct ttest ttest_none(enum stat_state state, double diff)
{
	return (struct ttest){.state = state,
			      .diff = diff,
			      .se = NAN,
			      .t = NAN,
			      .df = NAN,
			      .p = NAN,
			      .p_less = NAN,
			      .p_greater = NAN,
			      .ci = {-INFINITY, INFINITY}};
}

/* Everything that follows from difference, standard error and degrees of freedom. */
static struct ttest ttest_finish(double diff, double se, double df, double conf)
{
	struct ttest t = ttest_none(STAT_OK, diff);
	double half;

	t.se = se;
	t.df = df;
	if (se == 0) {
		t.state = STAT_NO_VARIANCE;
		t.ci = (struct stat_interval){diff, diff};
		if (diff == 0)
			t.p = t.p_less = t.p_greater = 1;
		return t;
	}
	t.t = diff / se;
	t.p = 2 * pt(-fabs(t.t), df, 1, 0);
	t.p_less = pt(t.t, df, 1, 0);
	t.p_greater = pt(t.t, df, 0, 0);
	half = qt((1 + conf) / 2, df, 1, 0) * se;
	t.ci = (struct stat_interval){diff - half, diff + half};
	return t;
}

static int check_moments(const char *name, const struct moments *m, struct err *reterr)
{
	if (!(isfinite(m->n) && m->n >= 0))
		return err_set(reterr, ERR_INVALID, "side %s: %g runs is not a count", name, m->n);
	if (m->n >= 1 && !isfinite(m->mean))
		return err_set(reterr, ERR_INVALID, "side %s: the mean is not a number", name);
	if (m->n >= 2 && !(isfinite(m->sd) && m->sd >= 0))
		return err_set(reterr, ERR_INVALID, "side %s: sd %g is not a deviation", name,
			       m->sd);
	return 0;
}

static int check_both(const struct moments *a, const struct moments *b, double conf,
		      struct err *reterr)
{
	int r = stat_check_conf(conf, reterr);

	if (r == 0)
		r = check_moments("a", a, reterr);
	if (r == 0)
		r = check_moments("b", b, reterr);
	return r;
}

static double difference(const struct moments *a, const struct moments *b)
{
	return a->n >= 1 && b->n >= 1 ? b->mean - a->mean : NAN;
}

/* Satterthwaite's degrees of freedom of a sum of two variances of means. */
static double satterthwaite(double va, double dfa, double vb, double dfb)
{
	double sum = va + vb;

	return sum * sum / (va * va / dfa + vb * vb / dfb);
}

int ttest_welch_from(const struct moments *a, const struct moments *b, double conf,
		     struct ttest *ret, struct err *reterr)
{
	double va, vb;
	int r = check_both(a, b, conf, reterr);

	if (r < 0)
		return r;
	if (a->n < 2 || b->n < 2) {
		*ret = ttest_none(STAT_TOO_FEW, difference(a, b));
		return 0;
	}
	va = a->sd * a->sd / a->n;
	vb = b->sd * b->sd / b->n;
	*ret = ttest_finish(b->mean - a->mean, sqrt(va + vb),
			    satterthwaite(va, a->n - 1, vb, b->n - 1), conf);
	return 0;
}

int ttest_pooled_from(const struct moments *a, const struct moments *b, double conf,
		      struct ttest *ret, struct err *reterr)
{
	double df, var;
	int r = check_both(a, b, conf, reterr);

	if (r < 0)
		return r;
	df = a->n + b->n - 2;
	if (a->n < 1 || b->n < 1 || df < 1) {
		*ret = ttest_none(STAT_TOO_FEW, difference(a, b));
		return 0;
	}
	var = ((a->n > 1 ? (a->n - 1) * a->sd * a->sd : 0) +
	       (b->n > 1 ? (b->n - 1) * b->sd * b->sd : 0)) /
	      df;
	*ret = ttest_finish(b->mean - a->mean, sqrt(var * (1 / a->n + 1 / b->n)), df, conf);
	return 0;
}

/* n, mean and sd of one side; names the side when it holds a NaN. */
static int side_moments(const char *name, const double *x, size_t n, struct moments *ret,
			struct err *reterr)
{
	struct summary_stats s;
	int r = stat_check(name, x, n, reterr);

	if (r == 0)
		r = summary_of(x, n, &s, reterr);
	if (r == 0)
		*ret = summary_moments(&s);
	return r;
}

int ttest_welch(const double *a, size_t na, const double *b, size_t nb, double conf,
		struct ttest *ret, struct err *reterr)
{
	struct moments ma, mb;
	int r = side_moments("a", a, na, &ma, reterr);

	if (r == 0)
		r = side_moments("b", b, nb, &mb, reterr);
	return r < 0 ? r : ttest_welch_from(&ma, &mb, conf, ret, reterr);
}

int ttest_pooled(const double *a, size_t na, const double *b, size_t nb, double conf,
		 struct ttest *ret, struct err *reterr)
{
	struct moments ma, mb;
	int r = side_moments("a", a, na, &ma, reterr);

	if (r == 0)
		r = side_moments("b", b, nb, &mb, reterr);
	return r < 0 ? r : ttest_pooled_from(&ma, &mb, conf, ret, reterr);
}

int ttest_one(const double *d, size_t n, double conf, struct ttest *ret, struct err *reterr)
{
	struct summary_stats s;
	int r = stat_check_conf(conf, reterr);

	if (r == 0)
		r = summary_of(d, n, &s, reterr);
	if (r < 0)
		return r;
	if (n < 2)
		*ret = ttest_none(STAT_TOO_FEW, s.mean);
	else
		*ret = ttest_finish(s.mean, s.sd / sqrt((double)n), (double)n - 1, conf);
	return 0;
}

int ttest_paired(const double *a, const double *b, size_t n, double conf, struct ttest *ret,
		 struct err *reterr)
{
	CLEANUP(freep) double *d = xcalloc(n + 1, sizeof(*d));
	double scale = 0, spread = 0;
	int r = stat_check("a", a, n, reterr);

	if (r == 0)
		r = stat_check("b", b, n, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		d[i] = b[i] - a[i];
		scale = fmax(scale, fmax(fabs(a[i]), fabs(b[i])));
		spread = fmax(spread, fabs(d[i] - d[0]));
	}
	/* 1.1 - 1.0 and 2.1 - 2.0 differ in the last bit: that is no variation */
	if (spread <= 4 * 2.220446e-16 * scale)
		for (size_t i = 1; i < n; i++)
			d[i] = d[0];
	return ttest_one(d, n, conf, ret, reterr);
}

double ttest_pearson_r(const double *a, const double *b, size_t n)
{
	double ma = summary_mean(a, n), mb = summary_mean(b, n);
	double saa = 0, sbb = 0, sab = 0;

	for (size_t i = 0; i < n; i++) {
		saa += (a[i] - ma) * (a[i] - ma);
		sbb += (b[i] - mb) * (b[i] - mb);
		sab += (a[i] - ma) * (b[i] - mb);
	}
	return saa > 0 && sbb > 0 ? sab / sqrt(saa * sbb) : NAN;
}

/* One side of Yuen's test: trimmed mean, its squared standard error, values kept. */
struct trimmed {
	double mean, var_of_mean, kept;
};

static int trim_side(const char *name, const double *x, size_t n, double trim, struct trimmed *ret,
		     struct err *reterr)
{
	CLEANUP(freep) double *s = xcalloc(n + 1, sizeof(*s));
	size_t cut = (size_t)floor(trim * (double)n);
	struct summary_stats wins;
	int r = stat_check(name, x, n, reterr);

	if (r < 0)
		return r;
	memcpy(s, x, n * sizeof(*s));
	stat_sort(s, n);
	*ret = (struct trimmed){.mean = NAN, .var_of_mean = NAN, .kept = (double)(n - 2 * cut)};
	if (n == 2 * cut)
		return 0;
	ret->mean = summary_mean(s + cut, n - 2 * cut);
	for (size_t i = 0; i < cut; i++) {
		s[i] = s[cut];
		s[n - 1 - i] = s[n - 1 - cut];
	}
	r = summary_of(s, n, &wins, reterr);
	if (r == 0 && ret->kept >= 2)
		ret->var_of_mean = ((double)n - 1) * wins.var / (ret->kept * (ret->kept - 1));
	return r;
}

int ttest_yuen(const double *a, size_t na, const double *b, size_t nb, double trim, double conf,
	       struct ttest *ret, struct err *reterr)
{
	struct trimmed ta, tb;
	int r = stat_check_conf(conf, reterr);

	if (r < 0)
		return r;
	if (!(trim >= 0 && trim < 0.5))
		return err_set(reterr, ERR_INVALID, "trim %g: give a share from 0 to below 0.5",
			       trim);
	r = trim_side("a", a, na, trim, &ta, reterr);
	if (r == 0)
		r = trim_side("b", b, nb, trim, &tb, reterr);
	if (r < 0)
		return r;
	if (ta.kept < 2 || tb.kept < 2) {
		*ret = ttest_none(STAT_TOO_FEW, tb.mean - ta.mean);
		return 0;
	}
	*ret = ttest_finish(tb.mean - ta.mean, sqrt(ta.var_of_mean + tb.var_of_mean),
			    satterthwaite(ta.var_of_mean, ta.kept - 1, tb.var_of_mean, tb.kept - 1),
			    conf);
	return 0;
}

int ttest_tost(const struct ttest *t, double lo, double hi, double alpha, struct tost *ret,
	       struct err *reterr)
{
	struct tost e = {.state = t->state, .p_lower = NAN, .p_upper = NAN, .p = NAN, .ci = t->ci};
	double half;

	if (!(lo < hi))
		return err_set(reterr, ERR_INVALID,
			       "equivalence bounds [%g, %g]: lower must be "
			       "below upper",
			       lo, hi);
	if (!(alpha > 0 && alpha < 0.5))
		return err_set(reterr, ERR_INVALID, "alpha %g: give a share between 0 and 0.5",
			       alpha);
	if (t->state == STAT_OK) {
		e.p_lower = pt((t->diff - lo) / t->se, t->df, 0, 0);
		e.p_upper = pt((t->diff - hi) / t->se, t->df, 1, 0);
		e.p = fmax(e.p_lower, e.p_upper);
		half = qt(1 - alpha, t->df, 1, 0) * t->se;
		e.ci = (struct stat_interval){t->diff - half, t->diff + half};
	}
	*ret = e;
	return 0;
}
