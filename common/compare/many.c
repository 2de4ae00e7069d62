/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One reference side against up to five others, in an order that means something (64, 32, 16). */
#include <stdio.h>

#include "common/check.h"
#include "common/compare/document.h"
#include "common/compare/format.h"
#include "common/compare/render.h"
#include "common/parse.h"
#include "common/stats/regress.h"

#define SIDES_MAX 6

static const char *const letters[SIDES_MAX] = {"A", "B", "C", "D", "E", "F"};

/* Item and side of the k-th side: the reference is side a of the first item. */
static const json_t *side_of(const json_t *items, size_t k, const char **ret_key)
{
	*ret_key = k ? "b" : "a";
	return json_array_get(items, k ? k - 1 : 0);
}

/* --- trend of the primary statistic --- */

struct groups {
	double *x;
	size_t total, n[SIDES_MAX], len;
};

static void collect(const json_t *items, size_t sides, struct groups *g)
{
	size_t cap = 0;

	*g = (struct groups){.len = sides};
	for (size_t k = 0; k < sides; k++) {
		const char *key;
		const json_t *item = side_of(items, k, &key), *p;
		const json_t *runs = json_object_get(json_object_get(item, "charts"), "runs");
		size_t i;

		json_array_foreach(json_object_get(runs, "points"), i, p)
		{
			double v = render_num(p, "value");

			if (strcmp(render_str(p, "side"), key) != 0 || isnan(v))
				continue;
			GROW(g->x, g->total, cap);
			g->x[g->total++] = v;
			g->n[k]++;
		}
	}
}

/* What forbids a trend test: a comparison that allows no test. */
static const char *no_trend(const json_t *items)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		const char *word = render_str(json_object_get(item, "verdict"), "word");

		if (!strcmp(word, "not_comparable") || !strcmp(word, "not_enough_runs"))
			return word;
		if (json_is_true(json_object_get(json_object_get(item, "design"), "confounded")))
			return "unclear";
		if (strcmp(render_str(json_object_get(item, "a"), "replicate"), "run") != 0)
			return "unclear";
	}
	return NULL;
}

static void list_values(const json_t *items, size_t sides, const char *stat, struct strbuf *out)
{
	for (size_t k = 0; k < sides; k++) {
		const char *key;
		const json_t *item = side_of(items, k, &key), *row;
		char v[40];
		size_t i;

		json_array_foreach(json_object_get(item, "rows"), i,
				   row) if (!strcmp(render_str(row, "stat"), stat))
			strbuf_printf(out, "%s%s", k ? ", " : "",
				      format_value(render_str(row, "unit"),
						   render_num(json_object_get(row, key), "avg"), v,
						   sizeof(v)));
	}
}

static void list_names(const json_t *names, struct strbuf *out)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
		strbuf_printf(out, "%s%s", i ? ", " : "", json_string_value(name));
}

static json_t *trend_json(const json_t *items, size_t sides, const json_t *names, double alpha)
{
	const char *stat =
		render_str(json_object_get(json_array_get(items, 0), "verdict"), "primary");
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const char *why = no_trend(items), *reading = why;
	struct calc_trend t = {.p = NAN};
	struct groups g;
	char p[32];

	collect(items, sides, &g);
	if (!why)
		calc_trend(g.x, g.n, g.len, &t);
	free(g.x);
	strbuf_printf(&text, "%s is ", stat);
	list_values(items, sides, stat, &text);
	strbuf_puts(&text, " along ");
	list_names(names, &text);
	if (t.tested) {
		reading = t.p >= alpha			    ? "unclear"
			  : t.p_decreasing < t.p_increasing ? "lower"
							    : "higher";
		strbuf_printf(&text, ": %s (Jonckheere-Terpstra, %s)",
			      t.p >= alpha			? "no clear trend"
			      : t.p_decreasing < t.p_increasing ? "it falls"
								: "it rises",
			      format_p(t.p, p, sizeof(p)));
	} else if (!reading) {
		reading = "not_enough_runs";
	}
	if (!t.tested)
		strbuf_printf(&text, ": no trend can be tested (%s)", reading);
	return PACK("{s:s,s:o,s:s,s:o}", "stat", stat, "p", json_num(t.p), "reading", reading,
		    "text", json_text(text.data));
}

/* --- does the end of the tail follow the levels? --- */

/* The level of the factor that tells the sides apart, else the side's name, as a number. */
static bool level_of(const json_t *items, size_t k, double *ret)
{
	const char *key;
	const json_t *item = side_of(items, k, &key),
		     *first = side_of(items, 1, &(const char *){0});
	const json_t *factors = json_object_get(json_object_get(item, key), "factors"), *v;
	const char *name;
	struct err ignored;

	json_object_foreach((json_t *)json_object_get(json_object_get(first, "a"), "factors"), name,
			    v)
	{
		const char *other =
			render_str(json_object_get(json_object_get(first, "b"), "factors"), name);

		if (strcmp(json_string_value(v), other) != 0)
			return parse_double(render_str(factors, name), ret, &ignored) == 0;
	}
	return parse_double(render_str(json_object_get(item, key), "name"), ret, &ignored) == 0;
}

/* Where the tail ends: the last stable section, else the maximum; its standard error or NAN. */
static bool end_of(const json_t *items, size_t k, double z, double *ret, double *ret_se)
{
	const char *key;
	const json_t *item = side_of(items, k, &key);
	const json_t *guess = json_object_get(json_object_get(item, "tail"), "hypothesis");
	const json_t *side = json_object_get(guess, key), *step;
	size_t i;

	*ret = render_num(side, "max");
	*ret_se = NAN;
	json_array_foreach(json_object_get(side, "sections"), i, step)
	{
		const json_t *ci = json_object_get(step, "edge_ci");

		if (!json_is_true(json_object_get(step, "stable")) || !json_is_array(ci))
			continue;
		*ret = render_num(step, "edge");
		*ret_se = (json_number_value(json_array_get(ci, 1)) -
			   json_number_value(json_array_get(ci, 0))) /
			  (2 * z);
	}
	return isfinite(*ret);
}

/* end = a + b * level over three or more levels, weighted by the errors of the ends when they are
 * known; without them the misses are shown and nothing is tested. */
static json_t *prediction_json(const json_t *items, size_t sides)
{
	double level[SIDES_MAX], end[SIDES_MAX], se[SIDES_MAX], x[2 * SIDES_MAX], y[SIDES_MAX];
	double resid[SIDES_MAX], chi2 = 0, worst = 0, p = NAN;
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const char *unit = render_str(json_object_get(json_array_get(items, 0), "metric"), "unit");
	struct regress_fit fit;
	bool errors = true;
	char miss[40], pt[32];
	struct err e;

	for (size_t k = 0; k < sides; k++) {
		if (!level_of(items, k, &level[k]) || !end_of(items, k, 1.96, &end[k], &se[k]))
			return json_null();
		errors &= se[k] > 0;
	}
	if (sides < 3)
		return json_null();
	for (size_t k = 0; k < sides; k++) {
		double w = errors ? 1 / se[k] : 1;

		x[2 * k] = w;
		x[2 * k + 1] = w * level[k];
		y[k] = w * end[k];
	}
	CHECK(regress_ols(y, x, sides, 2, &fit, resid, &e) == 0);
	if (fit.state != STAT_OK && fit.state != STAT_NO_VARIANCE)
		return json_null();
	strbuf_puts(&text, "Ends of the tails: ");
	for (size_t k = 0; k < sides; k++) {
		double off = errors ? resid[k] * se[k] : resid[k];

		chi2 += resid[k] * resid[k];
		worst = fmax(worst, fabs(off));
		strbuf_printf(&text, "%s%s at %g", k ? ", " : "",
			      format_value(unit, end[k], miss, sizeof(miss)), level[k]);
	}
	if (errors)
		p = calc_chi2_p(chi2, (double)sides - 2);
	format_value(unit, worst, miss, sizeof(miss));
	strbuf_printf(&text, ". A straight line misses them by up to %s", miss);
	if (errors)
		strbuf_printf(&text, " (%s)", format_p(p, pt, sizeof(pt)));
	else
		strbuf_puts(&text, "; their own error is not known, so that is not a test");
	return PACK("{s:s,s:o,s:f,s:f,s:f,s:o}", "label", "hypothesis", "p", json_num(p),
		    "intercept", fit.coef[0], "slope", fit.coef[1], "worst", worst, "text",
		    json_text(text.data));
}

/* One threshold for all sides: the one that the first pair gave. */
static void share_threshold(json_t *item, const json_t *first)
{
	json_t *tail = json_object_get(item, "tail");

	if (json_is_object(tail))
		json_object_set(tail, "basis",
				json_object_get(json_object_get(first, "tail"), "basis"));
}

static int compare_all(const struct compare_side *sides, size_t n, const struct compare_options *o,
		       json_t *items, struct err *reterr)
{
	struct compare_options same = *o;

	for (size_t i = 1; i < n; i++) {
		json_t *doc;

		if (compare_lettered(&sides[0], &sides[i], &same, letters[i], &doc, reterr) < 0)
			return i > 1 ? err_prefix(reterr, "side %s: ", letters[i]) : reterr->code;
		json_array_append_new(items, doc);
		if (i == 1) {
			double t = render_num(json_object_get(doc, "tail"), "threshold_ns");

			same.tail_threshold = isnan(t) ? 0 : (int64_t)t;
			same.metric = render_str(json_object_get(doc, "metric"), "name");
		} else {
			share_threshold(doc, json_array_get(items, 0));
		}
	}
	return 0;
}

int compare_many(const struct compare_side *sides, size_t n, const struct compare_options *o,
		 json_t **ret, struct err *reterr)
{
	json_t *items, *names;
	double alpha = 1 - (o->confidence != 0 ? o->confidence : 0.95);

	if (n < 2 || n > SIDES_MAX)
		return err_set(reterr, ERR_INVALID, "%zu sides: between 2 and %d can be compared",
			       n, SIDES_MAX);
	items = json_array();
	if (compare_all(sides, n, o, items, reterr) < 0) {
		json_decref(items);
		return reterr->code;
	}
	names = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(names, json_text(sides[i].name ? sides[i].name : letters[i]));
	*ret = PACK("{s:o,s:o,s:o,s:o}", "trend",
		    n > 2 ? trend_json(items, n, names, alpha) : json_null(), "prediction",
		    n > 2 ? prediction_json(items, n) : json_null(), "sides", names, "items",
		    items);
	return 0;
}
