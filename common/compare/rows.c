/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One statistic after another: one number a run, the effect between the sides, and what may be
 * read from it. */
#include <stdio.h>

#include "common/check.h"
#include "common/compare/format.h"
#include "common/compare/internal.h"

/* A quantile is judged only when every run has that many samples beyond it, and a threshold when
 * a side has them in all. */
#define BEYOND_AT_LEAST 10
/* Maxima are compared only at counts that differ by no more than this share. */
#define MAX_COUNTS_WITHIN 0.05

const char *role_name(enum role r)
{
	static const char *const names[] = {"primary", "location", "tail", "spread", "extra"};

	return names[r];
}

const char *reading_name(enum reading r)
{
	static const char *const names[] = {"not_enough_runs", "not_resolvable", "unclear", "same",
					    "below_margin",    "better",	 "worse",   "lower",
					    "higher"};

	return names[r];
}

static bool single_table(const struct cmp *c, const struct plan *p)
{
	return c->data == DATA_COARSE && p->n[0] == 1 && p->n[1] == 1 && c->side[0].n == 1 &&
	       c->side[1].n == 1;
}

/* The number of one run. From single coarse tables the printed edge is taken, because nothing is
 * concluded from it and it is what the table says. */
static double value_of(const struct cmp *c, const struct plan *p, struct row *r, int side,
		       const struct obs *o)
{
	struct stat_value v;

	if (!o->has_hist)
		return r->stat.kind == STAT_MEAN ? o->value : NAN;
	v = stat_of_hist(&r->stat, &o->hist);
	if (r->stat.kind == STAT_OVER)
		r->above[side] += v.beyond;
	if (r->stat.kind == STAT_QUANTILE || r->stat.kind == STAT_OVER)
		r->beyond_min = fmin(r->beyond_min, v.beyond);
	if (v.at_least)
		r->at_least[side] = true;
	if (!(v.lo >= r->sure[side][0]))
		r->sure[side][0] = v.lo;
	if (!(v.hi <= r->sure[side][1]))
		r->sure[side][1] = v.hi;
	if (r->stat.kind == STAT_OVER && !strcmp(r->unit, "1/h"))
		return v.v * (double)o->hist.count / ((double)o->run->measured_ns / 3.6e12);
	return single_table(c, p) && r->stat.kind == STAT_QUANTILE ? v.lo : v.v;
}

/* Mean over the runs of each replicate. */
static void fill_values(const struct cmp *c, const struct plan *p, struct row *r)
{
	r->beyond_min = INFINITY;
	for (int s = 0; s < 2; s++) {
		r->x[s] = xcalloc(p->n[s] + 1, sizeof(*r->x[s]));
		r->sure[s][0] = r->sure[s][1] = NAN;
		r->at_least[s] = false;
		r->above[s] = 0;
		for (size_t i = 0; i < c->side[s].n; i++) {
			size_t u = p->unit_of[s][i];

			if (u != SIZE_MAX)
				r->x[s][u] += value_of(c, p, r, s, &c->side[s].obs[i]) /
					      (double)p->units[s][u].runs;
		}
	}
}

static bool all_known(const struct plan *p, const struct row *r)
{
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < p->n[s]; i++)
			if (!isfinite(r->x[s][i]))
				return false;
	return p->n[0] && p->n[1];
}

size_t row_blocks(const struct plan *p, const struct row *r, double **ret_a, double **ret_b)
{
	size_t n = p->paired ? p->pairs : 0;
	double *mean[2] = {xcalloc(n + 1, sizeof(double)), xcalloc(n + 1, sizeof(double))};
	double *count = xcalloc(n + 1, sizeof(*count));

	for (int s = 0; s < 2 && n; s++) {
		memset(count, 0, n * sizeof(*count));
		for (size_t u = 0; u < p->n[s]; u++) {
			size_t block = p->block_of[s][u];

			if (block == SIZE_MAX)
				continue;
			mean[s][block] += r->x[s][u];
			count[block]++;
		}
		for (size_t k = 0; k < n; k++)
			mean[s][k] /= count[k];
	}
	free(count);
	*ret_a = mean[0];
	*ret_b = mean[1];
	return n;
}

static void summarize_side(const struct plan *p, struct row *r, int s)
{
	double *known = xcalloc(p->n[s] + 1, sizeof(*known));
	size_t n = 0;

	for (size_t i = 0; i < p->n[s]; i++)
		if (isfinite(r->x[s][i]))
			known[n++] = r->x[s][i];
	calc_summarize(known, n, &r->sum[s]);
	free(known);
}

/* With sides measured one after the other, a difference may be the time: estimates stay, tests
 * do not. */
static void forget_test(struct calc_effect *e)
{
	e->abs_lo = e->abs_hi = e->rel_lo = e->rel_hi = e->p = NAN;
	e->mde_rel = e->more_lo = e->more_hi = NAN;
	snprintf(e->test, sizeof(e->test), "none: confounded with time");
}

static void fill_effect(const struct cmp *c, const struct plan *p, struct row *r)
{
	double *a, *b;
	size_t n;

	r->effect = (struct calc_effect){.state = CALC_NO_EFFECT};
	if (!all_known(p, r)) {
		calc_unpaired(NULL, 0, NULL, 0, c->conf, c->margin, &r->effect);
		return;
	}
	n = row_blocks(p, r, &a, &b);
	if (r->stat.kind == STAT_SDEV) {
		struct calc_spread s;

		calc_spread_values(r->x[0], p->n[0], r->x[1], p->n[1], c->conf, &s);
		r->effect = s.effect;
	} else if (n) {
		calc_paired(a, b, n, c->conf, c->margin,
			    p->replicate == REPLICATE_HOST ? "hosts" : "blocks", &r->effect);
	} else {
		calc_unpaired(r->x[0], p->n[0], r->x[1], p->n[1], c->conf, c->margin, &r->effect);
	}
	if (p->confounded)
		forget_test(&r->effect);
	free(a);
	free(b);
}

/* "sdev" describes how the primary statistic varies from run to run; in the table its own number
 * is that sdev. */
static void fill_spread(const struct cmp *c, const struct plan *p, struct row *r)
{
	struct row base = {.stat = c->rows[c->primary].stat, .unit = r->unit};

	fill_values(c, p, &base);
	for (int s = 0; s < 2; s++) {
		r->x[s] = base.x[s];
		summarize_side(p, r, s);
		r->sum[s] = (struct calc_summary){r->sum[s].n, NAN, r->sum[s].sdev, NAN, NAN, NAN};
	}
	r->beyond_min = INFINITY;
	fill_effect(c, p, r);
}

static void fill_summary(const struct cmp *c, struct row *r)
{
	for (int s = 0; s < 2; s++) {
		const struct summary *y = &c->side[s].summary;

		r->sum[s] = (struct calc_summary){(double)y->n,
						  y->has_min ? y->min : NAN,
						  y->has_avg ? y->avg : NAN,
						  y->has_max ? y->max : NAN,
						  y->has_sdev ? y->sdev : NAN,
						  y->has_min && y->has_max ? y->max - y->min : NAN};
	}
	r->beyond_min = INFINITY;
	if (r->stat.kind == STAT_SDEV) {
		struct calc_spread s;

		calc_spread_moments(&r->sum[0], &r->sum[1], c->conf, &s);
		r->effect = s.effect;
		for (int i = 0; i < 2; i++)
			r->sum[i] = (struct calc_summary){r->sum[i].n, NAN, r->sum[i].sdev,
							  NAN,	       NAN, NAN};
	} else {
		calc_moments(&r->sum[0], &r->sum[1], c->conf, c->margin, &r->effect);
	}
}

static void say_resolution(const struct cmp *c, const struct plan *p, struct row *r)
{
	char lo[40], hi[40];

	if (r->stat.kind != STAT_QUANTILE || c->data != DATA_COARSE)
		return;
	if (single_table(c, p)) {
		format_value(c->metric.unit, r->sure[0][0], lo, sizeof(lo));
		format_value(c->metric.unit, r->sure[0][1] + 1, hi, sizeof(hi));
		snprintf(r->caution, sizeof(r->caution),
			 "known to the bucket of the table only (A: %s to %s)", lo, hi);
		return;
	}
	format_value(c->metric.unit, (double)c->side[0].resolution_ns, lo, sizeof(lo));
	if (c->side[0].resolution_ns && c->unit_is_ns)
		snprintf(r->caution, sizeof(r->caution), "interpolated inside buckets of %s", lo);
	else
		snprintf(r->caution, sizeof(r->caution),
			 "interpolated inside the source's buckets");
}

/* Maxima grow with the number of samples. */
static bool counts_alike(const struct cmp *c)
{
	double lo = INFINITY, hi = 0;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < c->side[s].n; i++) {
			lo = fmin(lo, (double)c->side[s].obs[i].hist.count);
			hi = fmax(hi, (double)c->side[s].obs[i].hist.count);
		}
	}
	return hi - lo <= MAX_COUNTS_WITHIN * hi;
}

static bool resolvable(const struct cmp *c, const struct plan *p, struct row *r)
{
	double all = (double)(c->side[0].samples + c->side[1].samples);

	if (r->effect.state == CALC_NO_EFFECT) {
		snprintf(r->caution, sizeof(r->caution), "too few samples to show it in every run");
		return false;
	}
	if (r->at_least[0] || r->at_least[1]) {
		snprintf(r->caution, sizeof(r->caution),
			 "beyond the histogram's range in %s: a lower bound, not judged",
			 r->at_least[0] && r->at_least[1] ? "both sides"
			 : r->at_least[0]		  ? "side A"
							  : "the other side");
		return false;
	}
	if (r->stat.kind == STAT_QUANTILE && r->beyond_min < BEYOND_AT_LEAST - 1e-6) {
		snprintf(r->caution, sizeof(r->caution),
			 "fewer than %d samples of a run lie beyond it: shown, not judged",
			 BEYOND_AT_LEAST);
		return false;
	}
	if (r->stat.kind == STAT_OVER && p->n[0] && all > 0) {
		double above = r->above[0] + r->above[1];

		if (above < BEYOND_AT_LEAST) {
			snprintf(r->caution, sizeof(r->caution),
				 "only %.0f samples above it in all: shown, not judged", above);
			return false;
		}
	}
	if ((r->stat.kind == STAT_MAX || r->stat.kind == STAT_MIN) && !counts_alike(c)) {
		snprintf(r->caution, sizeof(r->caution),
			 "extremes grow with the number of samples, and the runs have unequal "
			 "numbers: not judged");
		return false;
	}
	return true;
}

enum reading row_read(const struct cmp *c, const struct calc_effect *e, double base, double p)
{
	bool relative = isfinite(e->rel_lo) && isfinite(e->rel_hi);
	double lo = relative ? e->rel_lo : e->abs_lo, hi = relative ? e->rel_hi : e->abs_hi;
	double est = relative ? e->rel : e->abs;
	double m = relative ? c->margin : c->margin * fabs(base);
	bool changed = p < cmp_alpha(c) && (lo > 0 || hi < 0);

	if (!isfinite(lo) || !isfinite(hi))
		return READING_UNCLEAR;
	if (lo >= -m && hi <= m)
		return changed ? READING_BELOW_MARGIN : READING_SAME;
	if (!changed || fabs(est) < m)
		return READING_UNCLEAR;
	if (c->metric.better == BETTER_NONE)
		return est < 0 ? READING_LOWER : READING_HIGHER;
	return (est < 0) == (c->metric.better == BETTER_LOWER) ? READING_BETTER : READING_WORSE;
}

/* A smaller spread is steadier in every metric: said as lower or higher, never the verdict. */
static enum reading read_spread(const struct cmp *c, const struct row *r)
{
	if (!(r->p_adjusted < cmp_alpha(c)))
		return READING_UNCLEAR;
	return r->effect.rel < 0 ? READING_LOWER : READING_HIGHER;
}

static void read_row(const struct cmp *c, const struct plan *p, struct row *r)
{
	if (!resolvable(c, p, r))
		r->reading = READING_NOT_RESOLVABLE;
	else if (r->effect.state == CALC_TOO_FEW)
		r->reading = READING_NOT_ENOUGH;
	else if (p->confounded)
		r->reading = READING_UNCLEAR;
	else if (r->stat.kind == STAT_SDEV)
		r->reading = read_spread(c, r);
	else
		r->reading = row_read(c, &r->effect, r->sum[0].avg, r->p_adjusted);
	if (r->reading == READING_UNCLEAR && r->role != ROLE_PRIMARY &&
	    r->effect.p < cmp_alpha(c) && !(r->p_adjusted < cmp_alpha(c)) && !r->caution[0])
		snprintf(r->caution, sizeof(r->caution),
			 "not clear once corrected for the number of statistics shown");
	if (r->effect.abs * r->effect.rel < 0 && !r->caution[0])
		snprintf(r->caution, sizeof(r->caution),
			 "single runs weigh much in the averages: the percentage is the typical "
			 "change, and points the other way");
}

void row_fill(struct cmp *c, const struct plan *p, struct row *r)
{
	if (c->data == DATA_SUMMARY) {
		fill_summary(c, r);
	} else if (r->stat.kind == STAT_SDEV) {
		fill_spread(c, p, r);
	} else {
		fill_values(c, p, r);
		summarize_side(p, r, 0);
		summarize_side(p, r, 1);
		fill_effect(c, p, r);
		say_resolution(c, p, r);
	}
	r->p_adjusted = r->effect.p;
	read_row(c, p, r);
}

void row_done(struct row *r)
{
	free(r->x[0]);
	free(r->x[1]);
}

static bool is_hist(const struct cmp *c)
{
	return c->data == DATA_FULL || c->data == DATA_COARSE;
}

static const char *row_unit(const struct cmp *c, const struct stat_def *s)
{
	if (s->kind != STAT_OVER)
		return c->metric.unit;
	return c->side[0].hours > 0 && c->side[1].hours > 0 ? "1/h" : "share";
}

static enum role role_of(const struct stat_def *s)
{
	switch (s->kind) {
	case STAT_MEAN:
		return ROLE_LOCATION;
	case STAT_QUANTILE:
		return s->q > 0.75 ? ROLE_TAIL : ROLE_LOCATION;
	case STAT_OVER:
		return ROLE_TAIL;
	case STAT_SDEV:
		return ROLE_SPREAD;
	case STAT_MIN:
	case STAT_MAX:
		return ROLE_EXTRA;
	}
	return ROLE_EXTRA;
}

/* Position of the row; adds it when it is new. */
static size_t want_row(struct cmp *c, const struct stat_def *s)
{
	for (size_t i = 0; i < c->n_rows; i++)
		if (stat_equal(&c->rows[i].stat, s))
			return i;
	c->rows = xrealloc(c->rows, c->n_rows + 1, sizeof(*c->rows));
	c->rows[c->n_rows] = (struct row){.stat = *s, .role = role_of(s), .unit = row_unit(c, s)};
	return c->n_rows++;
}

/* Can some run of each side show the quantile at all? Rows that show nothing are not made. */
static bool worth_showing(const struct cmp *c, double q)
{
	for (int s = 0; s < 2; s++) {
		double most = 0;

		for (size_t i = 0; i < c->side[s].n; i++)
			most = fmax(most, (double)c->side[s].obs[i].hist.count);
		if (most * (1 - q) < 1 - 1e-6)
			return false;
	}
	return true;
}

static void want_named(struct cmp *c, const char *name)
{
	struct stat_def s;
	struct err e;

	CHECK(stat_parse(name, false, &s, &e) == 0);
	if (s.kind != STAT_QUANTILE || worth_showing(c, s.q))
		want_row(c, &s);
}

/* Centre, then how many are beyond the threshold (its intervals hold where those of high quantiles
 * are too short), then the quantiles and the largest. */
static void want_distribution(struct cmp *c)
{
	static const char *const tail[] = {"p99", "p99.9", "p99.99", "max"};
	struct stat_def over;

	want_named(c, "p50");
	want_named(c, "mean");
	if (c->threshold > 0) {
		stat_make_over(&over, c->threshold, c->unit_is_ns);
		want_row(c, &over);
	}
	for (size_t i = 0; i < ARRAY_LEN(tail); i++)
		want_named(c, tail[i]);
}

static void want_defaults(struct cmp *c)
{
	if (is_hist(c))
		want_distribution(c);
	else
		want_named(c, "mean");
	/* One run has no spread, and that of hosts is not the runs'. */
	if (c->data == DATA_SUMMARY ||
	    (c->plan.n[0] > 1 && c->plan.n[1] > 1 && c->plan.replicate != REPLICATE_HOST))
		want_named(c, "sdev");
}

static int parse_wanted(struct cmp *c, const char *text, struct stat_def *s, struct err *reterr)
{
	int r = stat_parse(text, c->unit_is_ns, s, reterr);

	if (r < 0)
		return r;
	if (!is_hist(c) && s->kind != STAT_MEAN && s->kind != STAT_SDEV)
		return err_set(
			reterr, ERR_INVALID,
			"%s has one number a run, no distribution: only mean and sdev exist, "
			"not %s",
			c->metric.name, text);
	return 0;
}

static bool every_run_has(const struct cmp *c, const struct stat_def *s)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < c->side[side].n; i++)
			if ((double)c->side[side].obs[i].hist.count * (1 - s->q) <
			    BEYOND_AT_LEAST - 1e-6)
				return false;
	return true;
}

/* A default that the data cannot show gives way to the highest that it can. It depends on the
 * number of samples alone, so the choice cannot favour a side. */
static int choose_primary(struct cmp *c, struct stat_def *ret, struct err *reterr)
{
	static const char *const instead[] = {"p90", "p50"};
	const char *name = c->metric.primary;

	if (c->o->primary)
		return parse_wanted(c, c->o->primary, ret, reterr);
	if (!is_hist(c))
		name = "mean";
	else if (!strcmp(name, "mean") && c->metric.better == BETTER_NONE)
		name = "p99"; /* a distribution that the catalogue does not know */
	if (parse_wanted(c, name, ret, reterr) < 0)
		return reterr->code;
	for (size_t i = 0; i < ARRAY_LEN(instead); i++) {
		if (ret->kind != STAT_QUANTILE || every_run_has(c, ret))
			break;
		if (parse_wanted(c, instead[i], ret, reterr) < 0)
			return reterr->code;
		c->primary_fallback = true;
	}
	return 0;
}

static void correct_for_many(struct cmp *c)
{
	double *p = xcalloc(c->n_rows, sizeof(*p)), *adjusted = xcalloc(c->n_rows, sizeof(*p));

	for (size_t i = 0; i < c->n_rows; i++) {
		const struct row *r = &c->rows[i];
		bool counts = r->role != ROLE_PRIMARY && r->role != ROLE_EXTRA &&
			      r->reading != READING_NOT_RESOLVABLE;

		p[i] = counts ? r->effect.p : NAN;
	}
	calc_holm(p, c->n_rows, adjusted);
	for (size_t i = 0; i < c->n_rows; i++) {
		if (!isfinite(p[i]))
			continue;
		c->rows[i].p_adjusted = adjusted[i];
		read_row(c, &c->plan, &c->rows[i]);
	}
	free(p);
	free(adjusted);
}

int rows_make(struct cmp *c, struct err *reterr)
{
	struct stat_def s;

	if (!c->o->stats || !c->o->stats[0])
		want_defaults(c);
	for (size_t i = 0; c->o->stats && c->o->stats[i]; i++) {
		if (parse_wanted(c, c->o->stats[i], &s, reterr) < 0)
			return reterr->code;
		want_row(c, &s);
	}
	for (size_t i = 0; c->o->also && c->o->also[i]; i++) {
		if (parse_wanted(c, c->o->also[i], &s, reterr) < 0)
			return reterr->code;
		want_row(c, &s);
	}
	if (choose_primary(c, &s, reterr) < 0)
		return reterr->code;
	if (s.kind == STAT_SDEV)
		return err_set(reterr, ERR_INVALID, "sdev cannot be the primary statistic");
	c->primary = want_row(c, &s);
	c->rows[c->primary].role = ROLE_PRIMARY;
	for (size_t i = 0; i < c->n_rows; i++)
		row_fill(c, &c->plan, &c->rows[i]);
	correct_for_many(c);
	return 0;
}
