/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/calc.h"

#include <math.h>
#include <stdio.h>

#include "common/check.h"
#include "common/stats/adjust.h"
#include "common/stats/boot.h"
#include "common/stats/bounds.h"
#include "common/stats/perm.h"
#include "common/stats/power.h"
#include "common/stats/rank.h"
#include "common/stats/rate.h"
#include "common/stats/regress.h"
#include "common/stats/spread.h"
#include "common/stats/ttest.h"

#define POWER		    0.8
#define REPLICATES_AT_LEAST 3

/* The inputs here were checked when the runs were read, so an error of common/stats is ours. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		struct err must_err;                                                               \
		CHECK((call) == 0);                                                                \
	} while (0)

void calc_summarize(const double *x, size_t n, struct calc_summary *ret)
{
	struct summary_stats s;

	MUST(summary_of(x, n, &s, &must_err));
	*ret = (struct calc_summary){(double)n, s.min, s.mean, s.max, s.sd, s.range};
}

static bool all_positive(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(x[i] > 0))
			return false;
	return true;
}

static void effect_reset(struct calc_effect *e)
{
	*e = (struct calc_effect){.state = CALC_NO_EFFECT};
	e->abs = e->abs_lo = e->abs_hi = e->rel = e->rel_lo = e->rel_hi = NAN;
	e->p = e->se = e->df = e->mde_rel = e->more_lo = e->more_hi = NAN;
}

void calc_nothing(struct calc_effect *e, const char *why)
{
	effect_reset(e);
	snprintf(e->test, sizeof(e->test), "%s", why);
}

static void take_abs(struct calc_effect *e, const struct ttest *t)
{
	e->abs = t->diff;
	e->abs_lo = t->ci.lo;
	e->abs_hi = t->ci.hi;
	e->p = t->p;
	e->se = t->se;
	e->df = t->df;
}

static void take_ratio(struct calc_effect *e, const struct ratio *r)
{
	if (r->state != STAT_OK && r->state != STAT_NO_VARIANCE && r->state != STAT_TOO_FEW)
		return;
	e->on_logs = true;
	e->rel = r->ratio - 1;
	e->rel_lo = r->ci.lo - 1;
	e->rel_hi = r->ci.hi - 1;
	e->p = r->log.p;
	e->se = r->log.se;
	e->df = r->log.df;
}

/* Relative numbers from differences where logs do not exist, with the base taken as it is. */
static void relative_to_base(struct calc_effect *e, double base)
{
	if (!(base > 0))
		return;
	e->rel = e->abs / base;
	e->rel_lo = e->abs_lo / base;
	e->rel_hi = e->abs_hi / base;
}

/* Power is counted on the scale of the test; `base` turns differences into relative ones. */
static void plan_ahead(struct calc_effect *e, double mde_sd, double sd, double base,
		       double margin_rel, double alpha)
{
	double estimate = e->on_logs ? log1p(e->rel) : e->abs;
	double margin = e->on_logs ? log1p(margin_rel) : margin_rel * base;
	struct power_more more;

	if (!(sd > 0))
		return;
	if (e->on_logs)
		e->mde_rel = expm1(mde_sd * sd);
	else if (base > 0)
		e->mde_rel = mde_sd * sd / base;
	if (!(margin > 0))
		return;
	more = power_more_blocks(e->n_blocks, estimate, e->se * sqrt(e->n_blocks), margin, alpha);
	if (more.state == STAT_OK) {
		e->more_lo = more.lo;
		e->more_hi = more.hi;
	}
}

/* No variation inside the sides: t has nothing to divide by. The exact rank or sign test still
 * has an answer; the interval is the difference itself. */
static void exact_p(struct calc_effect *e, double p, const char *what)
{
	e->p = p;
	snprintf(e->test, sizeof(e->test), "%s (no variation within a side)", what);
}

/* Everything on the scale of the values. False: there is nothing more to compute. */
static bool unpaired_differences(const double *a, size_t na, const double *b, size_t nb,
				 double conf, struct calc_effect *e)
{
	struct calc_summary sa, sb;
	struct rank_mw mw;
	struct ttest t;

	effect_reset(e);
	if (!na || !nb)
		return false;
	calc_summarize(a, na, &sa);
	calc_summarize(b, nb, &sb);
	e->n_blocks = (double)(na < nb ? na : nb);
	e->abs = sb.avg - sa.avg;
	if (sa.avg > 0)
		e->rel = e->abs / sa.avg;
	e->state = CALC_TOO_FEW;
	if (na < REPLICATES_AT_LEAST || nb < REPLICATES_AT_LEAST)
		return false;
	e->state = CALC_OK;
	MUST(ttest_welch(a, na, b, nb, conf, &t, &must_err));
	take_abs(e, &t);
	relative_to_base(e, sa.avg);
	snprintf(e->test, sizeof(e->test), "Welch t on differences, %zu + %zu", na, nb);
	if (t.state == STAT_NO_VARIANCE) {
		MUST(rank_mann_whitney(a, na, b, nb, &mw, &must_err));
		exact_p(e, mw.p, "Mann-Whitney");
	}
	return true;
}

void calc_unpaired_points(const double *a, size_t na, const double *b, size_t nb, double conf,
			  struct calc_effect *e)
{
	(void)unpaired_differences(a, na, b, nb, conf, e);
}

void calc_unpaired(const double *a, size_t na, const double *b, size_t nb, double conf,
		   double margin_rel, struct calc_effect *e)
{
	struct ratio r;
	double exact;

	if (!unpaired_differences(a, na, b, nb, conf, e))
		return;
	exact = e->se > 0 ? NAN : e->p;
	if (all_positive(a, na) && all_positive(b, nb)) {
		MUST(ttest_ratio_welch(a, na, b, nb, conf, &r, &must_err));
		take_ratio(e, &r);
		if (isnan(exact))
			snprintf(e->test, sizeof(e->test), "Welch t on log ratios, %zu + %zu", na,
				 nb);
		else
			e->p = exact;
	}
	plan_ahead(e, power_mde_welch((double)na, (double)nb, 1 - conf, POWER),
		   e->se / sqrt(1 / (double)na + 1 / (double)nb), summary_mean(a, na), margin_rel,
		   1 - conf);
}

static void paired_differences(const double *a, const double *b, size_t n, double conf,
			       const char *block_word, struct calc_effect *e)
{
	struct ttest t;

	effect_reset(e);
	CHECK(n >= REPLICATES_AT_LEAST);
	e->state = CALC_OK;
	e->n_blocks = (double)n;
	MUST(ttest_paired(a, b, n, conf, &t, &must_err));
	take_abs(e, &t);
	relative_to_base(e, summary_mean(a, n));
	snprintf(e->test, sizeof(e->test), "paired t on differences, %zu %s", n, block_word);
}

/* Blocks that all differ by the same: only the signs are left to test. */
static void paired_exact(const double *a, const double *b, size_t n, struct calc_effect *e)
{
	double *d = xcalloc(n + 1, sizeof(*d));
	struct perm_test flip;

	for (size_t i = 0; i < n; i++)
		d[i] = b[i] - a[i];
	MUST(perm_sign_flip(d, n, NULL, &flip, &must_err));
	exact_p(e, flip.p, "sign flips");
	free(d);
}

void calc_paired_points(const double *a, const double *b, size_t n, double conf,
			const char *block_word, struct calc_effect *e)
{
	paired_differences(a, b, n, conf, block_word, e);
	if (!(e->se > 0))
		paired_exact(a, b, n, e);
}

void calc_paired(const double *a, const double *b, size_t n, double conf, double margin_rel,
		 const char *block_word, struct calc_effect *e)
{
	struct ratio r;

	paired_differences(a, b, n, conf, block_word, e);
	if (all_positive(a, n) && all_positive(b, n)) {
		MUST(ttest_ratio_paired(a, b, n, conf, &r, &must_err));
		take_ratio(e, &r);
	}
	snprintf(e->test, sizeof(e->test), "paired t on %s, %zu %s",
		 e->on_logs ? "log ratios" : "differences", n, block_word);
	if (!(e->se > 0))
		paired_exact(a, b, n, e);
	plan_ahead(e, power_mde_paired((double)n, 1 - conf, POWER), e->se * sqrt((double)n),
		   summary_mean(a, n), margin_rel, 1 - conf);
}

void calc_moments(const struct calc_summary *a, const struct calc_summary *b, double conf,
		  double margin_rel, struct calc_effect *e)
{
	struct moments ma = {a->n, a->avg, a->sdev}, mb = {b->n, b->avg, b->sdev};
	struct ttest t;
	struct ratio r;

	effect_reset(e);
	e->abs = b->avg - a->avg;
	if (a->avg > 0)
		e->rel = e->abs / a->avg;
	e->state = CALC_TOO_FEW;
	if (a->n < REPLICATES_AT_LEAST || b->n < REPLICATES_AT_LEAST || isnan(a->sdev) ||
	    isnan(b->sdev))
		return;
	e->state = CALC_OK;
	e->n_blocks = fmin(a->n, b->n);
	MUST(ttest_welch_from(&ma, &mb, conf, &t, &must_err));
	take_abs(e, &t);
	relative_to_base(e, a->avg);
	if (a->avg > 0 && b->avg > 0) {
		MUST(ttest_ratio_delta(&ma, &mb, conf, &r, &must_err));
		take_ratio(e, &r);
		/* The difference is what the published means are about: its p is the answer. */
		e->p = t.p;
		e->df = t.df;
	}
	snprintf(e->test, sizeof(e->test), "Welch t on published means, %.0f + %.0f", a->n, b->n);
	plan_ahead(e, power_mde_welch(a->n, b->n, 1 - conf, POWER),
		   e->se / sqrt(1 / a->n + 1 / b->n), a->avg, margin_rel, 1 - conf);
}

static void spread_fill(struct calc_spread *s, const struct spread_f *f, double sd_a, double sd_b)
{
	struct calc_effect *e = &s->effect;

	e->abs = sd_b - sd_a;
	if (f->state != STAT_OK) {
		if (sd_a > 0)
			e->rel = sd_b / sd_a - 1;
		e->state = CALC_TOO_FEW;
		return;
	}
	e->state = CALC_OK;
	e->rel = f->ratio_sd - 1;
	e->rel_lo = f->ci_sd.lo - 1;
	e->rel_hi = f->ci_sd.hi - 1;
	e->abs_lo = sd_a * e->rel_lo;
	e->abs_hi = sd_a * e->rel_hi;
	s->f = f->f < 1 ? 1 / f->f : f->f;
	s->f_p = f->p;
}

void calc_spread_values(const double *a, size_t na, const double *b, size_t nb, double conf,
			struct calc_spread *s)
{
	struct calc_summary sa, sb;
	struct spread_bf bf;
	struct spread_f f;

	effect_reset(&s->effect);
	s->f = s->f_p = s->bf_p = NAN;
	if (na < REPLICATES_AT_LEAST || nb < REPLICATES_AT_LEAST)
		return;
	calc_summarize(a, na, &sa);
	calc_summarize(b, nb, &sb);
	MUST(spread_f_test(a, na, b, nb, conf, &f, &must_err));
	MUST(spread_brown_forsythe(a, na, b, nb, &bf, &must_err));
	spread_fill(s, &f, sa.sdev, sb.sdev);
	s->bf_p = bf.p;
	s->effect.p = bf.state == STAT_OK ? bf.p : NAN;
	if (s->effect.state == CALC_OK)
		snprintf(s->effect.test, sizeof(s->effect.test),
			 "Brown-Forsythe; interval by F (normal theory)");
}

void calc_spread_moments(const struct calc_summary *a, const struct calc_summary *b, double conf,
			 struct calc_spread *s)
{
	struct moments ma = {a->n, a->avg, a->sdev}, mb = {b->n, b->avg, b->sdev};
	struct spread_f f;

	effect_reset(&s->effect);
	s->f = s->f_p = s->bf_p = NAN;
	if (a->n < REPLICATES_AT_LEAST || b->n < REPLICATES_AT_LEAST || isnan(a->sdev) ||
	    isnan(b->sdev))
		return;
	MUST(spread_f_from(&ma, &mb, conf, &f, &must_err));
	spread_fill(s, &f, a->sdev, b->sdev);
	s->effect.p = s->f_p;
	snprintf(s->effect.test, sizeof(s->effect.test),
		 "F test on published sdevs (normal theory)");
}

void calc_drift(const double *y, const double *arm, const double *order, size_t n, double conf,
		struct calc_drift *ret)
{
	struct regress_order o;

	*ret = (struct calc_drift){.p = NAN, .slope = NAN, .lag1 = NAN};
	if (n < 5)
		return;
	MUST(regress_ancova(y, arm, order, n, conf, &o, &must_err));
	if (o.state != STAT_OK || isnan(o.slope_p))
		return;
	*ret = (struct calc_drift){true, o.slope_p, o.slope, o.lag1};
}

void calc_heterogeneity(const double *d, const double *se, size_t n, struct calc_heterogeneity *ret)
{
	double sw = 0, swd = 0, q = 0;

	*ret = (struct calc_heterogeneity){.q = NAN, .df = NAN, .p = NAN, .i2 = NAN};
	for (size_t i = 0; i < n; i++) {
		if (!(se[i] > 0) || !isfinite(d[i]))
			return;
		sw += 1 / (se[i] * se[i]);
		swd += d[i] / (se[i] * se[i]);
	}
	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		double z = (d[i] - swd / sw) / se[i];

		q += z * z;
	}
	*ret = (struct calc_heterogeneity){true, q, (double)n - 1, bounds_chi2_p(q, (double)n - 1),
					   q > 0 ? fmax(0, 1 - ((double)n - 1) / q) : 0};
}

void calc_holm(const double *p, size_t n, double *out)
{
	MUST(adjust_p(ADJUST_HOLM, p, n, out, &must_err));
}

void calc_trend(const double *x, const size_t *group_n, size_t groups, struct calc_trend *ret)
{
	struct rank_jt jt;

	*ret = (struct calc_trend){.p = NAN};
	for (size_t g = 0; g < groups; g++)
		if (group_n[g] < REPLICATES_AT_LEAST)
			return;
	MUST(rank_jonckheere(x, group_n, groups, 1, &jt, &must_err));
	if (jt.state != STAT_OK)
		return;
	*ret = (struct calc_trend){true, jt.exact, jt.p, jt.p_decreasing, jt.p_increasing,
				   jt.j, jt.j_max};
}

static void take_band(struct calc_band *ret, const struct boot_jackknife *j)
{
	if (j->state == STAT_OK || j->state == STAT_NO_VARIANCE)
		*ret = (struct calc_band){j->ci.lo, j->ci.hi, j->p};
}

void calc_jackknife(double theta, const double *loo, size_t n, double conf, struct calc_band *ret)
{
	struct boot_jackknife j;

	*ret = (struct calc_band){NAN, NAN, NAN};
	if (n < REPLICATES_AT_LEAST)
		return;
	MUST(boot_jackknife(theta, loo, n, conf, &j, &must_err));
	take_band(ret, &j);
}

void calc_jackknife2(double theta, const double *loo_a, size_t na, const double *loo_b, size_t nb,
		     double conf, struct calc_band *ret)
{
	struct boot_jackknife j;

	*ret = (struct calc_band){NAN, NAN, NAN};
	if (na < REPLICATES_AT_LEAST || nb < REPLICATES_AT_LEAST)
		return;
	MUST(boot_jackknife2(theta, loo_a, na, loo_b, nb, conf, &j, &must_err));
	take_band(ret, &j);
}

void calc_mean_band(const double *x, size_t n, double conf, struct calc_band *ret)
{
	double *logs;
	struct ttest t;

	*ret = (struct calc_band){NAN, NAN, NAN};
	if (n < REPLICATES_AT_LEAST || !all_positive(x, n))
		return;
	logs = xcalloc(n, sizeof(*logs));
	for (size_t i = 0; i < n; i++)
		logs[i] = log(x[i]);
	MUST(ttest_one(logs, n, conf, &t, &must_err));
	free(logs);
	*ret = (struct calc_band){exp(t.ci.lo), exp(t.ci.hi), NAN};
}

double calc_rate_upper(double events, double hours, double conf)
{
	double upper = NAN;

	if (hours > 0)
		MUST(rate_upper(events, hours, conf, &upper, &must_err));
	return upper;
}

double calc_rate_lower(double events, double hours, double conf)
{
	return bounds_rate_lower(events, hours, conf);
}

void calc_mean_interval(double n, double avg, double sdev, double conf, double *ret_lo,
			double *ret_hi)
{
	struct stat_interval ci = bounds_mean(n >= REPLICATES_AT_LEAST ? n : 0, avg, sdev, conf);

	*ret_lo = ci.lo;
	*ret_hi = ci.hi;
}

double calc_chi2_p(double chi2, double df)
{
	return bounds_chi2_p(chi2, df);
}
