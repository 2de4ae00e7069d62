/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Curves of the document. Pooled curves show shapes; every band comes from whole runs. */
#include <stdio.h>

#include "common/compare/document.h"
#include "common/compare/pack.h"

/* Curves are thinned to about that many points: a screen shows no more. */
#define POINTS_MAX 400
#define CCDF_MAX   160
/* A quantile shift is shown where every run has that many samples beyond it. */
#define BEYOND_AT_LEAST 10

/* A curve needs no more than six digits; documents stay small. */
static json_t *drawn(double v)
{
	char text[32];

	if (!isfinite(v) || v == floor(v))
		return json_num(v);
	snprintf(text, sizeof(text), "%.6g", v);
	return json_num(strtod(text, NULL));
}

static void add(json_t *array, double v)
{
	json_array_append_new(array, drawn(v));
}

static void add_int(json_t *array, int64_t v)
{
	json_array_append_new(array, json_integer(v));
}

/* Buckets in the same 1/64 of a power of two are drawn as one when there are too many. */
static int64_t drawn_key(int64_t lo, bool thin)
{
	unsigned int e;

	if (!thin || lo < 64)
		return lo;
	e = 63u - (unsigned int)__builtin_clzll((unsigned long long)lo);
	return (int64_t)(64 + ((uint64_t)(e - 6) << 6) + (((uint64_t)lo >> (e - 6)) - 64));
}

static json_t *histogram_of(const struct hist *h)
{
	json_t *lo = json_array(), *hi = json_array(), *n = json_array();
	bool thin = h->len > POINTS_MAX;

	for (size_t i = 0; i < h->len;) {
		size_t k = i;
		uint64_t sum = 0;

		for (; k < h->len && drawn_key(h->b[k].lo, thin) == drawn_key(h->b[i].lo, thin);
		     k++)
			sum += h->b[k].n;
		add_int(lo, h->b[i].lo);
		add_int(hi, h->b[k - 1].hi);
		add_int(n, (int64_t)sum);
		i = k;
	}
	return PACK("{s:o,s:o,s:o,s:I,s:I}", "lo", lo, "hi", hi, "n", n, "overflow",
		    (json_int_t)h->overflow, "overflow_lo", (json_int_t)h->overflow_lo);
}

static json_t *percentiles(const struct cmp *c)
{
	static const double qs[] = {0,	     0.1,     0.25,	0.5,	 0.75,	 0.9,
				    0.95,    0.99,    0.995,	0.999,	 0.9995, 0.9999,
				    0.99995, 0.99999, 0.999995, 0.999999};
	json_t *q = json_array();
	json_t *out = PACK("{s:o}", "q", q);

	for (size_t i = 0; i < ARRAY_LEN(qs); i++)
		add(q, qs[i]);
	for (int s = 0; s < 2; s++) {
		json_t *lo = json_array(), *hi = json_array(), *band = json_array();

		for (size_t i = 0; i < ARRAY_LEN(qs); i++) {
			struct stat_def d = {.kind = qs[i] > 0 ? STAT_QUANTILE : STAT_MIN,
					     .q = qs[i]};
			struct stat_value v = stat_of_hist(&d, &c->side[s].pooled);
			double least = INFINITY, most = -INFINITY;

			for (size_t k = 0; k < c->side[s].n; k++) {
				struct stat_value one = stat_of_hist(&d, &c->side[s].obs[k].hist);

				least = fmin(least, one.v);
				most = fmax(most, one.v);
			}
			add(lo, v.lo);
			add(hi, v.hi);
			json_array_append_new(band, PACK("[o,o]", drawn(least), drawn(most)));
		}
		json_object_set_new(out, c->side[s].tag,
				    PACK("{s:o,s:o,s:o}", "lo", lo, "hi", hi, "band", band));
	}
	return out;
}

/* --- exceedance --- */

/* Thresholds of the curve: edges of both sides, thinned evenly in rank of edge. */
static int64_t *thresholds(const struct cmp *c, size_t *ret_n)
{
	const struct hist *a = &c->side[0].pooled, *b = &c->side[1].pooled;
	int64_t *x = xcalloc(a->len + b->len + 1, sizeof(*x));
	size_t i = 0, k = 0, n = 0, step;

	while (i < a->len || k < b->len) {
		int64_t v = k == b->len || (i < a->len && a->b[i].lo <= b->b[k].lo) ? a->b[i].lo
										    : b->b[k].lo;

		i += i < a->len && a->b[i].lo == v;
		k += k < b->len && b->b[k].lo == v;
		x[n++] = v;
	}
	step = n / CCDF_MAX + 1;
	for (i = 0, k = 0; i < n; i++)
		if (i % step == 0 || i + 1 == n)
			x[k++] = x[i];
	*ret_n = k;
	return x;
}

/* Share of samples at or above each x (ascending). */
static void exceedance(const struct hist *h, const int64_t *x, size_t n, double *out)
{
	uint64_t above = h->overflow;
	size_t k = h->len;

	for (size_t i = n; i-- > 0;) {
		while (k && h->b[k - 1].lo >= x[i])
			above += h->b[--k].n;
		out[i] = h->count ? (double)above / (double)h->count : NAN;
	}
}

struct curves {
	size_t n_x;
	int64_t *x;
	double *side[2]; /* pooled */
	double *run[2];	 /* run i at x k: run[s][i * n_x + k] */
};

static void make_curves(const struct cmp *c, struct curves *v)
{
	v->x = thresholds(c, &v->n_x);
	for (int s = 0; s < 2; s++) {
		v->side[s] = xcalloc(v->n_x + 1, sizeof(double));
		v->run[s] = xcalloc(v->n_x * c->side[s].n + 1, sizeof(double));
		exceedance(&c->side[s].pooled, v->x, v->n_x, v->side[s]);
		for (size_t i = 0; i < c->side[s].n; i++)
			exceedance(&c->side[s].obs[i].hist, v->x, v->n_x, v->run[s] + i * v->n_x);
	}
}

static void curves_done(struct curves *v)
{
	free(v->x);
	for (int s = 0; s < 2; s++) {
		free(v->side[s]);
		free(v->run[s]);
	}
}

static json_t *run_band(const struct cmp *c, const struct curves *v, int s)
{
	json_t *band = json_array();

	for (size_t k = 0; k < v->n_x; k++) {
		double least = INFINITY, most = -INFINITY;

		for (size_t i = 0; i < c->side[s].n; i++) {
			least = fmin(least, v->run[s][i * v->n_x + k]);
			most = fmax(most, v->run[s][i * v->n_x + k]);
		}
		json_array_append_new(band, PACK("[o,o]", drawn(least), drawn(most)));
	}
	return band;
}

/* Ratio B/A of the runs' exceedances with its interval, where every run has something to count. */
static void add_ratio(const struct cmp *c, const struct curves *v, size_t k, json_t *to[3])
{
	const struct plan *p = &c->plan;
	struct row r = {.stat = {.kind = STAT_OVER}};
	struct calc_effect e;
	double *a, *b;
	size_t n;
	bool zero = false;

	for (int s = 0; s < 2; s++) {
		r.x[s] = xcalloc(p->n[s] + 1, sizeof(double));
		for (size_t i = 0; i < c->side[s].n; i++)
			if (p->unit_of[s][i] != SIZE_MAX)
				r.x[s][p->unit_of[s][i]] +=
					v->run[s][i * v->n_x + k] /
					(double)p->units[s][p->unit_of[s][i]].runs;
		for (size_t u = 0; u < p->n[s]; u++)
			zero |= !(r.x[s][u] > 0);
	}
	n = row_blocks(p, &r, &a, &b);
	if (zero)
		calc_nothing(&e, "");
	else if (n)
		calc_paired(a, b, n, c->conf, c->margin, "", &e);
	else
		calc_unpaired(r.x[0], p->n[0], r.x[1], p->n[1], c->conf, c->margin, &e);
	add(to[0], 1 + e.rel);
	add(to[1], p->confounded ? NAN : 1 + e.rel_lo);
	add(to[2], p->confounded ? NAN : 1 + e.rel_hi);
	free(a);
	free(b);
	row_done(&r);
}

static json_t *ccdf(const struct cmp *c)
{
	json_t *x = json_array(), *y[2], *ratio[3] = {json_array(), json_array(), json_array()};
	struct curves v;
	json_t *out;

	make_curves(c, &v);
	for (size_t k = 0; k < v.n_x; k++) {
		add_int(x, v.x[k]);
		add_ratio(c, &v, k, ratio);
	}
	for (int s = 0; s < 2; s++) {
		y[s] = json_array();
		for (size_t k = 0; k < v.n_x; k++)
			add(y[s], v.side[s][k]);
	}
	out = PACK("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "x", x, "a", y[0], "b", y[1], "a_band",
		   run_band(c, &v, 0), "b_band", run_band(c, &v, 1), "ratio", ratio[0], "ratio_lo",
		   ratio[1], "ratio_hi", ratio[2]);
	curves_done(&v);
	return out;
}

/* --- shift --- */

static const double shift_qs[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999, 0.9999};

/* The pooled histogram without some runs: what the jackknife asks for. */
static void pooled_without(const struct side *side, const bool *leave, struct hist *h)
{
	hist_copy(h, &side->pooled);
	for (size_t i = 0; i < side->n; i++) {
		const struct hist *o = &side->obs[i].hist;
		size_t k = 0;

		if (!leave[i])
			continue;
		for (size_t b = 0; b < o->len; b++) {
			while (h->b[k].hi <= o->b[b].lo)
				k++;
			h->b[k].n -= o->b[b].n;
		}
		h->count -= o->count;
		h->overflow -= o->overflow;
		h->negative -= o->negative;
	}
	h->has_min = h->has_max = false;
}

/* Quantiles of one side, without the runs of a block (paired) or of one unit. */
static void quantiles_without(const struct cmp *c, int s, size_t block, size_t unit, size_t n_q,
			      double *out)
{
	const struct plan *p = &c->plan;
	bool *leave = xcalloc(c->side[s].n + 1, sizeof(*leave));
	struct hist h = {0};

	for (size_t i = 0; i < c->side[s].n; i++) {
		size_t u = p->unit_of[s][i];

		leave[i] = u != SIZE_MAX && (p->paired ? p->block_of[s][u] == block : u == unit);
	}
	pooled_without(&c->side[s], leave, &h);
	for (size_t k = 0; k < n_q; k++) {
		struct stat_def d = {.kind = STAT_QUANTILE, .q = shift_qs[k]};

		out[k] = stat_of_hist(&d, &h).v;
	}
	hist_done(&h);
	free(leave);
}

/* Leave-one-out values of the first n_q quantiles: loo[s][k * n + i] without block or unit i. */
struct loo {
	double *v[2];
	size_t n[2];
};

static void leave_each_out(const struct cmp *c, size_t n_q, struct loo *loo)
{
	double one[ARRAY_LEN(shift_qs)];

	for (int s = 0; s < 2; s++) {
		loo->n[s] = c->plan.paired ? c->plan.pairs : c->plan.n[s];
		loo->v[s] = xcalloc(n_q * loo->n[s] + 1, sizeof(double));
		for (size_t i = 0; i < loo->n[s]; i++) {
			quantiles_without(c, s, i, i, n_q, one);
			for (size_t k = 0; k < n_q; k++)
				loo->v[s][k * loo->n[s] + i] = one[k];
		}
	}
}

/* Delete one block at a time when paired, else one replicate of either side. */
static void shift_band(const struct cmp *c, size_t k, struct loo *loo, double qa, double qb,
		       struct calc_band *ret)
{
	double *a = loo->v[0] + k * loo->n[0], *b = loo->v[1] + k * loo->n[1];

	if (c->plan.paired) {
		for (size_t i = 0; i < loo->n[0]; i++)
			a[i] = b[i] - a[i];
		calc_jackknife(qb - qa, a, loo->n[0], c->conf, ret);
		return;
	}
	for (size_t i = 0; i < loo->n[0]; i++)
		a[i] = qb - a[i];
	for (size_t i = 0; i < loo->n[1]; i++)
		b[i] -= qa;
	calc_jackknife2(qb - qa, a, loo->n[0], b, loo->n[1], c->conf, ret);
}

static bool every_run_reaches(const struct cmp *c, double q)
{
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->side[s].n; i++) {
			const struct hist *h = &c->side[s].obs[i].hist;
			double beyond = (double)h->count * (1 - q);

			if (beyond < BEYOND_AT_LEAST - 1e-6 || beyond < (double)h->overflow)
				return false;
		}
	return true;
}

static json_t *shift(const struct cmp *c)
{
	json_t *q = json_array(), *delta = json_array(), *lo = json_array(), *hi = json_array();
	bool tested = !c->plan.confounded && c->plan.n[0] >= 3 && c->plan.n[1] >= 3;
	struct loo loo = {.v = {NULL, NULL}};
	size_t n_q = 0;

	while (n_q < ARRAY_LEN(shift_qs) && every_run_reaches(c, shift_qs[n_q]))
		n_q++;
	if (tested)
		leave_each_out(c, n_q, &loo);
	for (size_t k = 0; k < n_q; k++) {
		struct stat_def d = {.kind = STAT_QUANTILE, .q = shift_qs[k]};
		double a = stat_of_hist(&d, &c->side[0].pooled).v;
		double b = stat_of_hist(&d, &c->side[1].pooled).v;
		struct calc_band band = {NAN, NAN, NAN};

		if (tested)
			shift_band(c, k, &loo, a, b, &band);
		json_array_append_new(q, json_num(shift_qs[k]));
		add(delta, b - a);
		add(lo, band.lo);
		add(hi, band.hi);
	}
	free(loo.v[0]);
	free(loo.v[1]);
	return PACK("{s:o,s:o,s:o,s:o}", "q", q, "delta", delta, "lo", lo, "hi", hi);
}

static json_t *runs_chart(const struct cmp *c)
{
	const struct row *primary = &c->rows[c->primary];
	json_t *points = json_array();

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < c->side[s].n; i++) {
			const struct obs *o = &c->side[s].obs[i];
			double v =
				o->has_hist ? stat_of_hist(&primary->stat, &o->hist).v : o->value;

			json_array_append_new(
				points,
				PACK("{s:s,s:o,s:o,s:o,s:o}", "side", c->side[s].tag, "id",
				     json_run_id(o->run), "order",
				     o->run->order ? json_integer(o->run->order) : json_null(),
				     "started", json_time(o->run->started_ns), "value",
				     json_num(v)));
		}
	}
	return PACK("{s:s,s:s,s:o}", "stat", primary->stat.name, "unit", c->metric.unit, "points",
		    points);
}

json_t *charts_json(struct cmp *c)
{
	bool hist = c->data == DATA_FULL || c->data == DATA_COARSE;
	json_t *out = PACK("{s:o}", "runs", runs_chart(c));

	if (!hist || !c->side[0].n || !c->side[1].n) {
		json_object_update_new(out, PACK("{s:n,s:n,s:n,s:n}", "histogram", "percentiles",
						 "ccdf", "shift"));
		return out;
	}
	json_object_set_new(out, "histogram",
			    PACK("{s:s,s:o,s:o}", "unit", c->metric.unit, "a",
				 histogram_of(&c->side[0].pooled), "b",
				 histogram_of(&c->side[1].pooled)));
	json_object_set_new(out, "percentiles", percentiles(c));
	json_object_set_new(out, "ccdf", ccdf(c));
	json_object_set_new(out, "shift", shift(c));
	return out;
}
