/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every method's figures side by side, for readers who want another one than the verdict's. */
#include <math.h>

#include "common/check.h"
#include "common/compare/calc.h"
#include "common/stats/perm.h"
#include "common/stats/rank.h"
#include "common/stats/rate.h"
#include "common/stats/spread.h"
#include "common/stats/ttest.h"
#include "common/compare/pack.h"

/* Exact counting grows with the fourth power; with more values than that t and the permutation say
 * the same. */
#define RANKS_AT_MOST 150

/* Random draws cost n each; exact enumeration is used whenever it can be. */
static const struct perm_options perm_options = {.draws = 9999, .seed = 1};

static json_t *num(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *interval(struct stat_interval i)
{
	return PACK("[o,o]", num(i.lo), num(i.hi));
}

static json_t *of_ttest(const struct ttest *t)
{
	return PACK("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "state", stat_state_name(t->state), "diff",
		    num(t->diff), "se", num(t->se), "t", num(t->t), "df", num(t->df), "p",
		    num(t->p), "ci", interval(t->ci));
}

static json_t *of_ratio(const struct ratio *r)
{
	return PACK("{s:s,s:o,s:o,s:o}", "state", stat_state_name(r->state), "ratio", num(r->ratio),
		    "p", num(r->p), "ci", interval(r->ci));
}

static json_t *of_hl(const struct rank_hl *h)
{
	return PACK("{s:s,s:o,s:o,s:o}", "state", stat_state_name(h->state), "estimate",
		    num(h->estimate), "ci", interval(h->ci), "coverage", num(h->coverage));
}

static json_t *of_perm(const struct perm_test *p)
{
	return PACK("{s:s,s:o,s:b,s:o,s:o,s:o,s:o}", "state", stat_state_name(p->state), "diff",
		    num(p->diff), "exact", p->exact, "count", num(p->count), "total", num(p->total),
		    "p", num(p->p), "p_min", num(p->p_min));
}

static json_t *of_spread_f(const struct spread_f *f)
{
	return PACK("{s:s,s:o,s:o,s:o,s:o}", "state", stat_state_name(f->state), "f", num(f->f),
		    "p", num(f->p), "ci", interval(f->ci), "ratio_sdev", num(f->ratio_sd));
}

static void add(json_t *to, const char *key, int r, json_t *value)
{
	CHECK(r == 0); /* the inputs were checked when the runs were read */
	CHECK(json_object_set_new(to, key, value) == 0);
}

static void add_unpaired(json_t *m, const double *a, size_t na, const double *b, size_t nb,
			 double conf)
{
	struct ttest t;
	struct ratio ratio;
	struct rank_mw mw;
	struct rank_hl hl;
	struct perm_test perm;
	struct err e;
	int r;

	r = ttest_welch(a, na, b, nb, conf, &t, &e);
	add(m, "welch", r, of_ttest(&t));
	r = ttest_pooled(a, na, b, nb, conf, &t, &e);
	add(m, "pooled_t", r, of_ttest(&t));
	r = ttest_ratio_welch(a, na, b, nb, conf, &ratio, &e);
	add(m, "welch_log_ratio", r, of_ratio(&ratio));
	r = ttest_yuen(a, na, b, nb, 0.2, conf, &t, &e);
	add(m, "yuen_trimmed", r, of_ttest(&t));
	r = perm_mean_diff(a, na, b, nb, &perm_options, &perm, &e);
	add(m, "permutation", r, of_perm(&perm));
	if (na > RANKS_AT_MOST || nb > RANKS_AT_MOST)
		return;
	r = rank_mann_whitney(a, na, b, nb, &mw, &e);
	add(m, "mann_whitney", r,
	    PACK("{s:s,s:o,s:o,s:b,s:b,s:o,s:o,s:o}", "state", stat_state_name(mw.state), "u_a",
		 num(mw.u_a), "u_b", num(mw.u_b), "exact", mw.exact, "ties", mw.ties, "p",
		 num(mw.p), "p_min", num(mw.p_min), "cliff_delta", num(mw.cliff_b_a)));
	r = rank_hl_shift(a, na, b, nb, conf, &hl, &e);
	add(m, "hodges_lehmann", r, of_hl(&hl));
}

static void add_spread(json_t *m, const double *a, size_t na, const double *b, size_t nb,
		       double conf)
{
	struct spread_bf bf;
	struct spread_f f;
	struct err e;
	int r;

	r = spread_f_test(a, na, b, nb, conf, &f, &e);
	add(m, "f_test", r, of_spread_f(&f));
	r = spread_brown_forsythe(a, na, b, nb, &bf, &e);
	add(m, "brown_forsythe", r,
	    PACK("{s:s,s:o,s:o}", "state", stat_state_name(bf.state), "f", num(bf.f), "p",
		 num(bf.p)));
}

static void add_tost(json_t *m, const struct ttest *t, double margin, double conf)
{
	struct tost eq;
	struct err e;
	int r = ttest_tost(t, log1p(-margin), log1p(margin), 1 - conf, &eq, &e);

	add(m, "equivalence", r,
	    PACK("{s:s,s:o,s:o,s:o}", "state", stat_state_name(eq.state), "p", num(eq.p), "p_lower",
		 num(eq.p_lower), "p_upper", num(eq.p_upper)));
}

static void add_paired(json_t *m, const double *a, const double *b, size_t n, double conf,
		       double margin)
{
	double *d = xcalloc(n, sizeof(*d));
	struct rank_signed rs;
	struct rank_hl hl;
	struct perm_test perm;
	struct ratio ratio;
	struct ttest t;
	struct err e;
	int r;

	for (size_t i = 0; i < n; i++)
		d[i] = b[i] - a[i];
	r = ttest_paired(a, b, n, conf, &t, &e);
	add(m, "paired_t", r, of_ttest(&t));
	r = ttest_ratio_paired(a, b, n, conf, &ratio, &e);
	add(m, "paired_log_ratio", r, of_ratio(&ratio));
	if (ratio.state == STAT_OK && margin > 0 && margin < 1)
		add_tost(m, &ratio.log, margin, conf);
	r = perm_sign_flip(d, n, &perm_options, &perm, &e);
	add(m, "sign_flip", r, of_perm(&perm));
	if (n <= RANKS_AT_MOST) {
		r = rank_signed(d, n, &rs, &e);
		add(m, "signed_rank", r,
		    PACK("{s:s,s:o,s:b,s:o,s:o}", "state", stat_state_name(rs.state), "v",
			 num(rs.v), "exact", rs.exact, "p", num(rs.p), "p_min", num(rs.p_min)));
		r = rank_hl_paired(d, n, conf, &hl, &e);
		add(m, "hodges_lehmann_paired", r, of_hl(&hl));
	}
	free(d);
}

json_t *calc_methods(const double *a, size_t na, const double *b, size_t nb, const double *pa,
		     const double *pb, size_t pairs, double conf, double margin_rel)
{
	json_t *m = json_object();

	if (na < 2 || nb < 2)
		return m;
	add_unpaired(m, a, na, b, nb, conf);
	add_spread(m, a, na, b, nb, conf);
	if (pairs >= 2)
		add_paired(m, pa, pb, pairs, conf, margin_rel);
	return m;
}

json_t *calc_methods_moments(const struct calc_summary *a, const struct calc_summary *b,
			     double conf)
{
	struct moments ma = {a->n, a->avg, a->sdev}, mb = {b->n, b->avg, b->sdev};
	json_t *m = json_object();
	struct spread_f f;
	struct ratio ratio;
	struct ttest t;
	struct err e;
	int r;

	if (a->n < 2 || b->n < 2 || isnan(a->sdev) || isnan(b->sdev))
		return m;
	r = ttest_welch_from(&ma, &mb, conf, &t, &e);
	add(m, "welch", r, of_ttest(&t));
	r = ttest_ratio_delta(&ma, &mb, conf, &ratio, &e);
	add(m, "ratio_delta", r, of_ratio(&ratio));
	r = ttest_ratio_fieller(&ma, &mb, conf, &ratio, &e);
	add(m, "ratio_fieller", r, of_ratio(&ratio));
	r = spread_f_from(&ma, &mb, conf, &f, &e);
	add(m, "f_test", r, of_spread_f(&f));
	return m;
}

json_t *calc_rate_ratio(double xa, double na, double xb, double nb, double conf)
{
	struct rate_ratio q;
	struct err e;

	CHECK(rate_ratio(xa, na, xb, nb, conf, &q, &e) == 0);
	return PACK("{s:o,s:o,s:o}", "ratio", num(q.ratio), "p", num(q.p), "ci", interval(q.ci));
}
