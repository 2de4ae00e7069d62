/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/spread.h"

#include <math.h>

#include <Rmath.h>

static struct spread_f f_none(enum stat_state state)
{
	return (struct spread_f){.state = state,
				 .f = NAN,
				 .p = NAN,
				 .ci = {0, INFINITY},
				 .ratio_sd = NAN,
				 .ci_sd = {0, INFINITY}};
}

int spread_f_from(const struct moments *a, const struct moments *b, double conf,
		  struct spread_f *ret, struct err *reterr)
{
	struct spread_f s = f_none(STAT_OK);
	double dfa = a->n - 1, dfb = b->n - 1, low;
	int r = stat_check_conf(conf, reterr);

	if (r < 0)
		return r;
	if (!isfinite(a->n) || !isfinite(b->n))
		return err_set(reterr, ERR_INVALID, "spread of %g and %g runs: not counts", a->n,
			       b->n);
	if (dfa < 1 || dfb < 1) {
		*ret = f_none(STAT_TOO_FEW);
		return 0;
	}
	if (!(isfinite(a->sd) && a->sd >= 0 && isfinite(b->sd) && b->sd >= 0))
		return err_set(reterr, ERR_INVALID, "spread: sd %g and %g are not deviations",
			       a->sd, b->sd);
	if (a->sd == 0 || b->sd == 0) {
		*ret = f_none(STAT_NO_VARIANCE);
		ret->p = a->sd == b->sd ? 1 : NAN;
		return 0;
	}
	s.ratio_sd = b->sd / a->sd;
	s.f = s.ratio_sd * s.ratio_sd;
	low = pf(s.f, dfb, dfa, 1, 0);
	s.p = fmin(1, 2 * fmin(low, pf(s.f, dfb, dfa, 0, 0)));
	s.ci.lo = s.f / qf((1 + conf) / 2, dfb, dfa, 1, 0);
	s.ci.hi = s.f / qf((1 - conf) / 2, dfb, dfa, 1, 0);
	s.ci_sd = (struct stat_interval){sqrt(s.ci.lo), sqrt(s.ci.hi)};
	*ret = s;
	return 0;
}

int spread_f_test(const double *a, size_t na, const double *b, size_t nb, double conf,
		  struct spread_f *ret, struct err *reterr)
{
	struct summary_stats sa, sb;
	struct moments ma, mb;
	int r = summary_of(a, na, &sa, reterr);

	if (r == 0)
		r = summary_of(b, nb, &sb, reterr);
	if (r < 0)
		return r;
	ma = summary_moments(&sa);
	mb = summary_moments(&sb);
	return spread_f_from(&ma, &mb, conf, ret, reterr);
}

/* |x - median| of one side. */
static void deviations(const double *x, size_t n, double *out)
{
	double median;

	memcpy(out, x, n * sizeof(*out));
	stat_sort(out, n);
	median = summary_median(out, n);
	for (size_t i = 0; i < n; i++)
		out[i] = fabs(x[i] - median);
}

int spread_brown_forsythe(const double *a, size_t na, const double *b, size_t nb,
			  struct spread_bf *ret, struct err *reterr)
{
	struct spread_bf s = {.state = STAT_TOO_FEW, .f = NAN, .df1 = 1, .df2 = NAN, .p = NAN};
	CLEANUP(freep) double *d = NULL;
	size_t sizes[2] = {na, nb};
	struct spread_components c;
	int r = stat_check("a", a, na, reterr);

	if (r == 0)
		r = stat_check("b", b, nb, reterr);
	if (r < 0)
		return r;
	if (na < 2 || nb < 2 || na + nb < 5) { /* 2 + 2: both deviations of a side are equal */
		*ret = s;
		return 0;
	}
	d = xcalloc(na + nb, sizeof(*d));
	deviations(a, na, d);
	deviations(b, nb, d + na);
	r = spread_components(d, sizes, 2, &c, reterr);
	if (r < 0)
		return r;
	s.state = c.state;
	s.f = c.f;
	s.df2 = (double)(na + nb) - 2;
	s.p = c.p;
	*ret = s;
	return 0;
}

int spread_sd_interval(double n, double sd, double conf, struct stat_interval *ret,
		       struct err *reterr)
{
	int r = stat_check_conf(conf, reterr);

	if (r < 0)
		return r;
	if (!isfinite(n) || (n >= 2 && !(isfinite(sd) && sd >= 0)))
		return err_set(reterr, ERR_INVALID,
			       "interval of sd %g of %g values: not a "
			       "deviation",
			       sd, n);
	*ret = (struct stat_interval){0, INFINITY};
	if (n < 2)
		return 0;
	ret->lo = sd * sqrt((n - 1) / qchisq((1 + conf) / 2, n - 1, 1, 0));
	ret->hi = sd * sqrt((n - 1) / qchisq((1 - conf) / 2, n - 1, 1, 0));
	return 0;
}

/* Sums of squares between and within groups, around means that are computed first. */
struct anova {
	double n, sum_n2, between, within, grand, mean_sum_sq;
	size_t groups;
};

static void anova_of(const double *x, const size_t *group_n, size_t groups, size_t n,
		     struct anova *ret)
{
	struct anova v = {.n = (double)n, .groups = groups, .grand = summary_mean(x, n)};

	for (size_t g = 0; g < groups; x += group_n[g++]) {
		double size = (double)group_n[g], mean = summary_mean(x, group_n[g]);
		double dev = mean - v.grand;

		v.sum_n2 += size * size;
		v.between += size * dev * dev;
		for (size_t i = 0; i < group_n[g]; i++)
			v.within += (x[i] - mean) * (x[i] - mean);
	}
	*ret = v;
}

/* Standard error of the grand mean with the group as the unit: equal sizes give
 * sqrt(ms_between / N); unequal ones weigh each group by its share. */
static double se_by_groups(const double *x, const size_t *group_n, size_t groups, double grand,
			   double n)
{
	double sum = 0, k = (double)groups;

	for (size_t g = 0; g < groups; x += group_n[g++]) {
		double w = (double)group_n[g] / n;
		double dev = summary_mean(x, group_n[g]) - grand;

		sum += w * w * dev * dev;
	}
	return sqrt(sum * k / (k - 1));
}

int spread_components(const double *x, const size_t *group_n, size_t groups,
		      struct spread_components *ret, struct err *reterr)
{
	struct spread_components c = {.state = STAT_TOO_FEW,
				      .f = NAN,
				      .p = NAN,
				      .ms_between = NAN,
				      .ms_within = NAN,
				      .var_between = NAN,
				      .var_within = NAN,
				      .icc = NAN,
				      .design_effect = NAN,
				      .effective_n = NAN,
				      .grand_mean = NAN,
				      .se_by_groups = NAN,
				      .se_naive = NAN};
	struct summary_stats all;
	struct anova v;
	size_t n = 0;
	double k = (double)groups, n0;
	int r;

	for (size_t g = 0; g < groups; g++) {
		if (group_n[g] == 0)
			return err_set(reterr, ERR_INVALID, "group %zu is empty: leave it out", g);
		n += group_n[g];
	}
	r = summary_of(x, n, &all, reterr);
	if (r < 0)
		return r;
	c.grand_mean = all.mean;
	if (groups < 2 || n <= groups) {
		*ret = c;
		return 0;
	}
	anova_of(x, group_n, groups, n, &v);
	c.state = STAT_OK;
	c.ms_between = v.between / (k - 1);
	c.ms_within = v.within / (v.n - k);
	n0 = (v.n - v.sum_n2 / v.n) / (k - 1);
	c.var_within = c.ms_within;
	c.var_between = fmax(0, (c.ms_between - c.ms_within) / n0);
	c.se_by_groups = se_by_groups(x, group_n, groups, all.mean, v.n);
	c.se_naive = all.sd / sqrt(v.n);
	if (all.range == 0 || c.ms_within == 0) {
		c.state = STAT_NO_VARIANCE;
		c.f = c.ms_between > 0 ? INFINITY : NAN;
		c.p = c.ms_between > 0 ? NAN : 1;
		c.icc = c.ms_between > 0 ? 1 : NAN;
	} else {
		c.f = c.ms_between / c.ms_within;
		c.p = pf(c.f, k - 1, v.n - k, 0, 0);
		c.icc = c.var_between / (c.var_between + c.var_within);
	}
	c.design_effect = 1 + (n0 - 1) * c.icc;
	c.effective_n = v.n / c.design_effect;
	*ret = c;
	return 0;
}
