/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/track_find.h"

#include <math.h>

#include "common/stats/changepoint.h"
#include "common/stats/summary.h"
#include "server/api_common.h"

/* A series is looked at after each of its runs: with 0.01, 13 % of steady histories of 200 points
 * would show a change at some look, with this 2 % (docs/STATISTICS.md, 9). */
#define ALPHA 0.002
#define DRAWS 999
#define NEAR  2 /* points beside the plausible ones that still are the same place */

void track_trend_done(struct track_trend *t)
{
	free(t->run_ids);
	free(t->values);
}

static const char *direction(const struct track_trend *t, double before, double after)
{
	if (t->better == BETTER_NONE)
		return "none";
	return (after > before) == (t->better == BETTER_LOWER) ? "worse" : "better";
}

static json_t *run_at(const struct track_trend *t, size_t i)
{
	return json_integer(t->run_ids[i]);
}

static json_t *step_json(const struct track_trend *t, const struct changepoint_step *s)
{
	json_t *o = json_object();
	size_t lo = s->lo > NEAR ? s->lo - NEAR : 0;
	size_t hi = s->hi + NEAR < t->n ? s->hi + NEAR : t->n - 1;

	json_object_set_new(o, "prev", run_at(t, s->at - 1));
	json_object_set_new(o, "at", run_at(t, s->at));
	json_object_set_new(o, "lo", run_at(t, s->lo));
	json_object_set_new(o, "hi", run_at(t, s->hi));
	json_object_set_new(o, "near_lo", run_at(t, lo));
	json_object_set_new(o, "near_hi", run_at(t, hi));
	json_object_set_new(o, "before", json_real(s->before));
	json_object_set_new(o, "after", json_real(s->after));
	json_object_set_new(o, "rel", js_number(s->rel));
	json_object_set_new(o, "p", json_real(s->p));
	json_object_set_new(o, "direction", json_string(direction(t, s->before, s->after)));
	return o;
}

/* Median of the level that holds now. */
static double level(const struct track_trend *t, const struct changepoint_result *r)
{
	size_t from = r->steps ? r->step[r->steps - 1].at : 0, n = t->n - from;
	double *x CLEANUP(freep) = xcalloc(n + 1, sizeof(*x));

	if (!n)
		return NAN;
	memcpy(x, t->values + from, n * sizeof(*x));
	stat_sort(x, n);
	return summary_median(x, n);
}

static json_t *result_json(const struct track_trend *t, const struct changepoint_result *r)
{
	json_t *o = json_object(), *outliers = json_array(), *steps = json_array();

	json_object_set_new(o, "reading", json_string(changepoint_reading_name(r->reading)));
	json_object_set_new(o, "points", json_integer((json_int_t)t->n));
	json_object_set_new(o, "from_run", t->n ? run_at(t, 0) : json_null());
	json_object_set_new(o, "level", js_number(level(t, r)));
	json_object_set_new(o, "level_from_run",
			    r->steps ? run_at(t, r->step[r->steps - 1].at) : json_null());
	json_object_set_new(o, "lag1", js_number(r->lag1));
	json_object_set_new(o, "block", json_integer((json_int_t)r->block));
	json_object_set_new(o, "needed", json_integer((json_int_t)r->needed));
	json_object_set_new(o, "drift_per_point", js_number(r->drift_per_point));
	json_object_set_new(o, "drift_p", js_number(r->drift_p));
	json_object_set_new(o, "seed", json_integer((json_int_t)r->seed));
	json_object_set_new(o, "min_rel", json_real(t->margin_rel));
	for (size_t i = 0; i < r->outliers; i++)
		json_array_append_new(outliers, run_at(t, r->outlier[i]));
	for (size_t i = 0; i < r->steps; i++)
		json_array_append_new(steps, step_json(t, &r->step[i]));
	json_object_set_new(o, "outliers", outliers);
	json_object_set_new(o, "steps", steps);
	return o;
}

json_t *track_find(const struct track_trend *t)
{
	const struct changepoint_options o = {.alpha = ALPHA,
					      .draws = DRAWS,
					      .min_rel = t->margin_rel,
					      .seed = (uint64_t)t->trend_id,
					      .known = t->known,
					      .n_known = t->n_known};
	struct changepoint_result r = {0};
	struct err err;
	json_t *doc;

	if (changepoint_find(t->values, t->n, &o, &r, &err) == 0)
		return result_json(t, &r);
	/* values that are no numbers, or too large to subtract: said, not tried for ever */
	r = (struct changepoint_result){
		.reading = CHANGEPOINT_SHORT, .lag1 = NAN, .drift_per_point = NAN, .drift_p = NAN};
	doc = result_json(t, &r);
	json_object_set_new(doc, "error", json_string(err.text));
	return doc;
}
