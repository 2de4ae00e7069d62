/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What held the CPU in late wake-ups, as the boxes recorded it: per cause the share of the
 * lateness that was read, and breaches an hour with intervals over replicates. Reads are capped,
 * so a cause's rate is its share of the breaches that were read, times all (agent/blame.h). */
#include "common/compare/document.h"

#include <stdio.h>

#define CAUSES_MAX 10

static const struct series *find_value(const struct run *r, const char *metric, const char *cause)
{
	for (size_t i = 0; i < r->series_len; i++) {
		const struct series *s = &r->series[i];
		const char *have = labels_get(&s->labels, "cause");

		if (s->kind == SERIES_VALUE && !strcmp(s->metric, metric) &&
		    (cause ? have && !strcmp(have, cause) : !have))
			return s;
	}
	return NULL;
}

/* NAN: the run has no such value. A cause that a run did not see is 0 when it read any breach. */
static double value_of(const struct run *r, const char *metric, const char *cause)
{
	const struct series *s = find_value(r, metric, cause);

	if (s)
		return s->value;
	return cause && find_value(r, "breaches_read", NULL) ? 0 : NAN;
}

struct totals {
	double breaches, read, threshold;
	bool mixed; /* runs with different thresholds */
};

static void add_up(const struct side *side, struct totals *t)
{
	*t = (struct totals){.threshold = NAN};
	for (size_t i = 0; i < side->n; i++) {
		const struct run *r = side->obs[i].run;
		double threshold = value_of(r, "breach_threshold", NULL);

		t->breaches += fmax(0, value_of(r, "breaches", NULL));
		t->read += fmax(0, value_of(r, "breaches_read", NULL));
		if (isnan(threshold))
			continue;
		t->mixed |= !isnan(t->threshold) && t->threshold != threshold;
		t->threshold = threshold;
	}
}

struct cause {
	const char *name; /* borrowed from a run's label */
	double share[2];  /* mean over runs, 0..1 */
};

/* The mean of a cause's share over the runs of a side that read any breach. */
static double mean_share(const struct side *side, const char *cause)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < side->n; i++) {
		const struct run *r = side->obs[i].run;
		double read = value_of(r, "breaches_read", NULL);

		if (isnan(read) || read <= 0)
			continue;
		sum += value_of(r, "blame_share", cause) / 100;
		n++;
	}
	return n > 0 ? sum / n : NAN;
}

static bool known(const struct cause *causes, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(causes[i].name, name))
			return true;
	return false;
}

static int by_share(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;
	double dx = fmax(x->share[0], x->share[1]), dy = fmax(y->share[0], y->share[1]);

	return (dx < dy) - (dx > dy);
}

static struct cause *list_causes(const struct cmp *c, size_t *ret_n)
{
	struct cause *v = NULL;
	size_t n = 0, cap = 0;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < c->side[s].n; i++) {
			const struct run *r = c->side[s].obs[i].run;

			for (size_t k = 0; k < r->series_len; k++) {
				const char *name = labels_get(&r->series[k].labels, "cause");

				if (!name || strcmp(r->series[k].metric, "blame_share") != 0 ||
				    known(v, n, name))
					continue;
				GROW(v, n, cap);
				v[n++] = (struct cause){.name = name};
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		for (int s = 0; s < 2; s++)
			v[i].share[s] = mean_share(&c->side[s], v[i].name);
	if (n)
		qsort(v, n, sizeof(*v), by_share);
	*ret_n = n;
	return v;
}

/* One value a replicate: the mean of its runs. */
static void unit_means(const struct cmp *c, int s, const char *cause, double *x)
{
	const struct plan *p = &c->plan;
	const struct side *side = &c->side[s];
	double *n = xcalloc(p->n[s] + 1, sizeof(*n));

	for (size_t i = 0; i < side->n; i++) {
		size_t u = p->unit_of[s][i];
		double v = value_of(side->obs[i].run, "blame_breaches", cause);

		if (u == SIZE_MAX || isnan(v))
			continue;
		x[u] += v;
		n[u]++;
	}
	for (size_t u = 0; u < p->n[s]; u++)
		x[u] = n[u] > 0 ? x[u] / n[u] : NAN;
	free(n);
}

static size_t drop_nan(double *x, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(x[i]))
			x[kept++] = x[i];
	return kept;
}

/* A cause that a run of a pair does not know leaves the pair out. */
static size_t drop_nan_pairs(double *a, double *b, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(a[i]) || isnan(b[i]))
			continue;
		a[kept] = a[i];
		b[kept++] = b[i];
	}
	return kept;
}

static json_t *rate_json(const struct cmp *c, double *x, size_t n)
{
	struct calc_summary sum;
	double lo, hi;

	calc_summarize(x, n, &sum);
	calc_mean_interval(sum.n, sum.avg, sum.sdev, c->conf, &lo, &hi);
	return PACK("{s:o,s:o,s:o,s:o,s:[o,o]}", "n", json_num((double)n), "min", json_num(sum.min),
		    "avg", json_num(sum.avg), "max", json_num(sum.max), "ci",
		    json_num(isnan(lo) ? lo : fmax(0, lo)), json_num(hi));
}

/* Breaches an hour of one cause: both sides and the difference, paired as the runs are. */
static void add_rates(const struct cmp *c, const char *cause, json_t *out)
{
	struct row row = {0};
	struct calc_effect e;
	double *a = NULL, *b = NULL;
	size_t n[2], blocks;

	for (int s = 0; s < 2; s++) {
		row.x[s] = xcalloc(c->plan.n[s] + 1, sizeof(double));
		unit_means(c, s, cause, row.x[s]);
	}
	blocks = row_blocks(&c->plan, &row, &a, &b);
	if (blocks)
		blocks = drop_nan_pairs(a, b, blocks);
	if (blocks >= 3 && !c->plan.confounded)
		calc_paired(a, b, blocks, c->conf, 0, "block", &e);
	for (int s = 0; s < 2; s++)
		n[s] = drop_nan(row.x[s], c->plan.n[s]);
	if (c->plan.confounded || c->word == WORD_NOT_ENOUGH_RUNS || !n[0] || !n[1])
		calc_nothing(&e, "not tested");
	else if (blocks < 3)
		calc_unpaired(row.x[0], n[0], row.x[1], n[1], c->conf, 0, &e);
	json_object_set_new(out, "a_per_hour", rate_json(c, row.x[0], n[0]));
	json_object_set_new(out, "b_per_hour", rate_json(c, row.x[1], n[1]));
	json_object_set_new(out, "delta",
			    PACK("{s:o,s:[o,o],s:o,s:s}", "abs", json_num(e.abs), "ci",
				 json_num(e.abs_lo), json_num(e.abs_hi), "p", json_num(e.p),
				 "reading",
				 isnan(e.p)	       ? "not_tested"
				 : e.p >= cmp_alpha(c) ? "unclear"
				 : e.abs < 0	       ? "lower"
						       : "higher"));
	free(a);
	free(b);
	free(row.x[0]);
	free(row.x[1]);
}

static json_t *causes_json(const struct cmp *c)
{
	json_t *list = json_array();
	size_t n;
	struct cause *v CLEANUP(freep) = list_causes(c, &n);

	for (size_t i = 0; i < n && i < CAUSES_MAX; i++) {
		json_t *o = PACK("{s:s,s:o,s:o}", "name", v[i].name, "a_share",
				 json_num(v[i].share[0]), "b_share", json_num(v[i].share[1]));

		add_rates(c, v[i].name, o);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *blame_json(struct cmp *c)
{
	struct totals t[2];
	char basis[160];

	add_up(&c->side[0], &t[0]);
	add_up(&c->side[1], &t[1]);
	if (t[0].read + t[1].read <= 0)
		return json_null();
	snprintf(basis, sizeof(basis), "%.0f of %.0f breaches read in A, %.0f of %.0f in B%s",
		 t[0].read, t[0].breaches, t[1].read, t[1].breaches,
		 t[0].mixed || t[1].mixed || t[0].threshold != t[1].threshold
			 ? "; thresholds differ, so rates do not compare"
			 : "");
	return PACK("{s:o,s:s,s:[o,o],s:[o,o],s:[o,o]}", "causes", causes_json(c), "basis", basis,
		    "read", json_num(t[0].read), json_num(t[1].read), "breaches",
		    json_num(t[0].breaches), json_num(t[1].breaches), "threshold_ns",
		    json_num(t[0].mixed ? NAN : t[0].threshold),
		    json_num(t[1].mixed ? NAN : t[1].threshold));
}
