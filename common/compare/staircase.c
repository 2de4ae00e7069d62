/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/staircase.h"

#include <math.h>

#include "common/check.h"
#include "common/stats/boot.h"
#include "common/stats/plateau.h"

#define BINS_AIM       200
#define SEGMENTS_MAX   12
#define COUNT_AT_LEAST 20   /* beyond the threshold, to say anything */
#define STRETCH_BINS   4    /* narrower segments are the body's slope */
#define ALPHA	       0.01 /* of rises and drops, corrected for where they were looked for */
#define GROUPS_MAX     20   /* of runs, for the jackknife */
#define SAME_EDGE      0.2  /* an edge within that share is the same edge */

/* Equal bins [from + k * width, ...). */
struct bins {
	double *n;
	size_t len;
	int64_t from, width;
};

/* Counts of buckets that straddle bins are shared out by width. */
static void fill(struct bins *b, const struct hist *h, double sign)
{
	for (size_t i = 0; i < h->len; i++) {
		double lo = (double)(h->b[i].lo - b->from) / (double)b->width;
		double hi = (double)(h->b[i].hi - b->from) / (double)b->width;
		double per;

		if (!(hi > lo)) /* narrower than a double tells at this distance */
			hi = lo + 1;
		per = sign * (double)h->b[i].n / (hi - lo);
		if (lo >= (double)b->len)
			break;
		lo = fmax(lo, 0);
		hi = fmin(hi, (double)b->len);
		for (size_t k = (size_t)lo; (double)k < hi; k++)
			b->n[k] += per * (fmin(hi, (double)k + 1) - fmax(lo, (double)k));
	}
}

static int64_t last_value(const struct hist *h)
{
	return h->has_max ? h->max : h->len ? h->b[h->len - 1].lo : 0;
}

/* A far outlier must not stretch the bins: the end leaves out a thousandth of the tail then. */
static int64_t end_of_bins(const struct hist *h, int64_t from)
{
	int64_t end = last_value(h);
	double tail = (double)hist_count_above(h, from).lo, beyond = 0;

	if (end < 8 * from)
		return end;
	for (size_t i = h->len; i-- > 0;) {
		beyond += (double)h->b[i].n;
		if (beyond > fmax(3, 1e-3 * tail))
			return h->b[i].hi;
	}
	return end;
}

static struct bins make_bins(const struct hist *h, int64_t from)
{
	struct bins b = {.from = from};
	int64_t end = end_of_bins(h, from), grid = 1;

	if (h->scheme == HIST_LINEAR)
		grid = h->width;
	else if (h->len)
		grid = h->b[h->len - 1].hi - h->b[h->len - 1].lo;
	if (grid < 1)
		grid = 1;
	/* A grid wider than a bin may be is the bin. */
	b.width =
		grid > (end - from) / BINS_AIM ? grid : grid * ((end - from) / BINS_AIM / grid + 1);
	b.len = (size_t)((end - from) / b.width) + 1;
	if (b.len > PLATEAU_BINS_MAX)
		b.len = PLATEAU_BINS_MAX;
	b.n = xcalloc(b.len, sizeof(*b.n));
	return b;
}

/* --- segments --- */

struct segments {
	size_t len;
	size_t from[SEGMENTS_MAX + 1], to[SEGMENTS_MAX + 1];
	double count[SEGMENTS_MAX + 1];
};

static double level(const struct segments *s, size_t i)
{
	return s->count[i] / (double)(s->to[i] - s->from[i]);
}

/* One-sided p that segment `high` is denser than `low`, corrected for the choice of the cuts. */
static double denser_p(const struct segments *s, size_t low, size_t high, size_t bins,
		       double dispersion)
{
	double p = plateau_rises_p(
		floor(s->count[low] / dispersion), (double)(s->to[low] - s->from[low]),
		floor(s->count[high] / dispersion), (double)(s->to[high] - s->from[high]));

	return fmin(1, p * (double)bins * (double)(bins - 1) / 2);
}

static void join_next(struct segments *s, size_t i)
{
	s->to[i] = s->to[i + 1];
	s->count[i] += s->count[i + 1];
	for (size_t k = i + 1; k + 1 < s->len; k++) {
		s->from[k] = s->from[k + 1];
		s->to[k] = s->to[k + 1];
		s->count[k] = s->count[k + 1];
	}
	s->len--;
}

/* The segmentation's cuts are kept only where both sides clearly differ. */
static void join_alike(struct segments *s, size_t bins, double dispersion)
{
	for (;;) {
		double worst = ALPHA;
		size_t at = SIZE_MAX;

		for (size_t i = 0; i + 1 < s->len; i++) {
			bool falls = level(s, i) >= level(s, i + 1);
			double p =
				denser_p(s, falls ? i + 1 : i, falls ? i : i + 1, bins, dispersion);

			if (p > worst) {
				worst = p;
				at = i;
			}
		}
		if (at == SIZE_MAX)
			return;
		join_next(s, at);
	}
}

static void cut_segments(const struct bins *b, double dispersion, struct segments *ret)
{
	struct plateau_fit f;
	struct err e;

	*ret = (struct segments){0};
	CHECK(plateau_fit(b->n, b->len, SEGMENTS_MAX, dispersion, &f, &e) == 0);
	if (f.state != STAT_OK)
		return;
	ret->len = f.steps + 1;
	for (size_t i = 0; i < ret->len; i++) {
		ret->from[i] = f.seg[i].from;
		ret->to[i] = f.seg[i].to;
		ret->count[i] = f.seg[i].level * (double)(f.seg[i].to - f.seg[i].from);
	}
	join_alike(ret, b->len, dispersion);
}

/* --- steps --- */

/* Flat stretches that end in a drop, after the body's slope. `samples` scales rates. */
static size_t read_steps(const struct bins *b, const struct segments *s, double samples,
			 double dispersion, struct staircase_step *step)
{
	size_t n = 0;

	for (size_t i = 0; i < s->len && n < STAIRCASE_STEPS_MAX; i++) {
		double after = i + 1 < s->len ? level(s, i + 1) : 0;
		struct plateau_flat flat;
		struct err e;

		if (s->to[i] - s->from[i] < STRETCH_BINS || level(s, i) <= after)
			continue;
		CHECK(plateau_flat(b->n + s->from[i], NULL, s->to[i] - s->from[i], dispersion,
				   &flat, &e) == 0);
		step[n++] = (struct staircase_step){
			.from = b->from + (int64_t)s->from[i] * b->width,
			.edge = b->from + (int64_t)s->to[i] * b->width,
			.count = s->count[i],
			.p_flat = flat.p,
			.rate = (level(s, i) - after) / (double)b->width / samples,
			.edge_lo = NAN,
			.edge_hi = NAN,
			.rate_lo = NAN,
			.rate_hi = NAN,
		};
	}
	return n;
}

static double dispersion_of(const struct hist *const *runs, size_t n, int64_t from)
{
	double *x = xcalloc(n + 1, sizeof(*x)), *all = xcalloc(n + 1, sizeof(*all)), d;

	for (size_t i = 0; i < n; i++) {
		x[i] = (double)hist_count_above(runs[i], from).lo;
		all[i] = (double)runs[i]->count;
	}
	d = n >= 2 ? plateau_dispersion(x, all, n) : 1;
	free(x);
	free(all);
	return isfinite(d) && d >= 1 ? d : 1;
}

/* The step of a refit that has the same edge. */
static const struct staircase_step *same_step(const struct staircase_step *refit, size_t n,
					      int64_t edge)
{
	const struct staircase_step *best = NULL;

	for (size_t i = 0; i < n; i++) {
		double off = fabs((double)(refit[i].edge - edge));

		if (off <= SAME_EDGE * (double)edge &&
		    (!best || off < fabs((double)(best->edge - edge))))
			best = &refit[i];
	}
	return best;
}

static void interval_of(double theta, const double *loo, size_t n, double conf, double least,
			double *ret_lo, double *ret_hi)
{
	struct boot_jackknife j;
	struct err e;

	CHECK(boot_jackknife(theta, loo, n, conf, &j, &e) == 0);
	*ret_lo = fmin(isfinite(j.ci.lo) ? j.ci.lo : theta, theta - least);
	*ret_hi = fmax(isfinite(j.ci.hi) ? j.ci.hi : theta, theta + least);
}

/* Delete-a-group jackknife over whole runs. */
static void add_intervals(struct staircase *st, const struct bins *all,
			  const struct hist *const *runs, size_t n, double samples,
			  double dispersion, double conf)
{
	size_t groups = n < GROUPS_MAX ? n : GROUPS_MAX;
	double *edge = xcalloc(STAIRCASE_STEPS_MAX * (groups + 1), sizeof(*edge));
	double *rate = xcalloc(STAIRCASE_STEPS_MAX * (groups + 1), sizeof(*rate));
	struct bins b = *all;

	for (size_t k = 0; k < st->steps; k++)
		st->step[k].stable = groups >= 3;
	b.n = xcalloc(b.len, sizeof(*b.n));
	for (size_t g = 0; g < groups && groups >= 3; g++) {
		struct staircase_step refit[STAIRCASE_STEPS_MAX];
		struct segments s;
		double left = samples;
		size_t found;

		memcpy(b.n, all->n, b.len * sizeof(*b.n));
		for (size_t i = g; i < n; i += groups) {
			fill(&b, runs[i], -1);
			left -= (double)runs[i]->count;
		}
		for (size_t i = 0; i < b.len; i++)
			b.n[i] = fmax(0, round(b.n[i] * 1e6) / 1e6);
		cut_segments(&b, dispersion, &s);
		found = read_steps(&b, &s, left, dispersion, refit);
		for (size_t k = 0; k < st->steps; k++) {
			const struct staircase_step *same =
				same_step(refit, found, st->step[k].edge);

			st->step[k].stable &= same != NULL;
			edge[k * groups + g] = same ? (double)same->edge : NAN;
			rate[k * groups + g] = same ? same->rate : NAN;
		}
	}
	for (size_t k = 0; k < st->steps; k++) {
		struct staircase_step *t = &st->step[k];

		if (!t->stable)
			continue;
		interval_of((double)t->edge, edge + k * groups, groups, conf, (double)b.width,
			    &t->edge_lo, &t->edge_hi);
		interval_of(t->rate, rate + k * groups, groups, conf, 0, &t->rate_lo, &t->rate_hi);
	}
	free(b.n);
	free(edge);
	free(rate);
}

/* --- flatness and humps from the threshold on --- */

static void test_classes(struct staircase *st, const struct hist *h, int64_t threshold,
			 int64_t unit)
{
	double *value = xcalloc(h->len + 1, sizeof(*value)), *n = xcalloc(h->len + 1, sizeof(*n));
	struct plateau_uniform u;
	struct err e;
	size_t len = 0;
	double at;

	for (size_t i = 0; i < h->len; i++) {
		double v = (double)(h->b[i].lo / unit);

		if (h->b[i].lo < threshold)
			continue;
		if (len && value[len - 1] == v) {
			n[len - 1] += (double)h->b[i].n;
			continue;
		}
		value[len] = v;
		n[len++] = (double)h->b[i].n;
	}
	CHECK(plateau_uniform_tail(value, n, len, (double)(threshold / unit), STAIRCASE_CLASSES, &u,
				   &e) == 0);
	free(value);
	free(n);
	st->known = u.state == STAT_OK && u.n >= COUNT_AT_LEAST;
	if (!st->known)
		return;
	st->from = threshold;
	st->max = (int64_t)u.max * unit;
	st->count = u.n;
	st->p_flat = u.flat.p;
	at = (double)threshold;
	for (size_t k = 0; k < STAIRCASE_CLASSES; k++) {
		st->class_from[k] = at;
		st->class_count[k] = u.observed[k];
		at += u.size[k] * (double)unit;
	}
}

static double class_width(const struct staircase *st, size_t k, int64_t unit)
{
	double next = k + 1 < STAIRCASE_CLASSES ? st->class_from[k + 1] : (double)(st->max + unit);

	return next - st->class_from[k];
}

/* The clearest rise from one class to the next, and the dense classes that follow it. */
static void find_hump(struct staircase *st, int64_t unit, double dispersion)
{
	double best = 1;

	for (size_t k = 0; k + 1 < STAIRCASE_CLASSES && st->known; k++) {
		double w1 = class_width(st, k, unit), w2 = class_width(st, k + 1, unit);
		double p = plateau_rises_p(floor(st->class_count[k] / dispersion), w1,
					   floor(st->class_count[k + 1] / dispersion), w2) *
			   (STAIRCASE_CLASSES - 1);
		size_t end = k + 2;

		if (!(p < ALPHA && p < best))
			continue;
		best = p;
		st->hump = true;
		st->hump_p = p;
		st->hump_count = st->class_count[k + 1];
		while (end < STAIRCASE_CLASSES && st->class_count[end] > st->class_count[k + 1] / 2)
			st->hump_count += st->class_count[end++];
		st->hump_from = (int64_t)st->class_from[k + 1];
		st->hump_to =
			end < STAIRCASE_CLASSES ? (int64_t)st->class_from[end] : st->max + unit;
	}
}

void staircase_find(const struct hist *pooled, const struct hist *const *runs, size_t n,
		    int64_t body_end, int64_t threshold, double conf, struct staircase *st)
{
	double samples = (double)pooled->count, dispersion;
	struct segments s;
	struct bins b;

	*st = (struct staircase){.p_flat = NAN, .hump_p = NAN};
	b = make_bins(pooled, body_end);
	dispersion = dispersion_of(runs, n, threshold);
	test_classes(st, pooled, threshold, b.width);
	find_hump(st, b.width, dispersion);
	if (st->known) {
		fill(&b, pooled, 1);
		st->bin_width = b.width;
		cut_segments(&b, dispersion, &s);
		st->steps = read_steps(&b, &s, samples, dispersion, st->step);
		add_intervals(st, &b, runs, n, samples, dispersion, conf);
	}
	free(b.n);
}
