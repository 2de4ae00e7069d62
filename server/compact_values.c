/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Per-run scalars: of all series of a metric merged (series 0) on every pass that changes them, so
 * that a running run can be looked at; of each series when the run ends. */
#include <math.h>

#include "common/exceed.h"
#include "common/model/metric.h"
#include "server/compact_model.h"

static const struct {
	const char *stat;
	double q;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};

static json_t *row(const char *metric, uint64_t no, const char *stat, double value, uint64_t n)
{
	json_t *o = json_pack("{s:s, s:I, s:s, s:I}", "metric", metric, "no", (json_int_t)no,
			      "stat", stat, "n", (json_int_t)n);

	if (isfinite(value))
		json_object_set_new(o, "value", json_real(value));
	return o;
}

static void put(struct cmodel *m, const char *metric, uint64_t no, const char *stat, double value,
		uint64_t n)
{
	json_array_append_new(m->values, row(metric, no, stat, value, n));
}

static void put_quantile(struct cmodel *m, const char *metric, uint64_t no, const char *stat,
			 const struct hist *h, double q)
{
	static const char *const answers[] = {"value", "at_least", "negative", "not_resolvable"};
	struct hist_quantile at = hist_quantile(h, q);
	bool known = at.answer == HIST_VALUE || at.answer == HIST_AT_LEAST;
	json_t *o = row(metric, no, stat, known ? (double)at.lo : NAN, h->count);

	if (known)
		json_object_set_new(o, "lo", json_real((double)at.lo));
	if (known && at.hi != INT64_MAX)
		json_object_set_new(o, "hi", json_real((double)at.hi));
	json_object_set_new(o, "answer", json_string(answers[at.answer]));
	json_array_append_new(m->values, o);
}

static void put_exceedance(struct cmodel *m, const char *metric, const struct hist *h)
{
	for (size_t i = 0; i < EXCEED_STEPS; i++) {
		struct exceed_share s = exceed_share(h, exceed_steps[i].ns);
		json_t *o = row(metric, 0, exceed_steps[i].stat, s.lo_ppm, h->count);

		json_object_set_new(o, "lo", json_real(s.lo_ppm));
		json_object_set_new(o, "hi", json_real(s.hi_ppm));
		json_array_append_new(m->values, o);
	}
}

static void put_hist(struct cmodel *m, const char *metric, uint64_t no, const struct hist *h)
{
	bool exact;

	put(m, metric, no, "count", (double)h->count, h->count);
	if (!h->count)
		return;
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
		put_quantile(m, metric, no, quantiles[i].stat, h, quantiles[i].q);
	if (h->has_min)
		put(m, metric, no, "min", (double)h->min, h->count);
	if (h->has_max)
		put(m, metric, no, "max", (double)h->max, h->count);
	put(m, metric, no, "mean", hist_mean(h, &exact), h->count);
	if (!no)
		put_exceedance(m, metric, h);
}

/* Rate with its spread over the intervals; absent when the counter never ran. */
static void put_rate(struct cmodel *m, const char *metric, uint64_t no, const struct crate *r)
{
	json_t *o = row(metric, no, "rate", r->seconds > 0 ? r->delta / r->seconds : NAN, r->count);

	if (r->count) {
		json_object_set_new(o, "vmin", json_real(r->min));
		json_object_set_new(o, "vmax", json_real(r->max));
	} else {
		json_object_set_new(o, "answer", json_string("not_resolvable"));
	}
	if (r->count > 1)
		json_object_set_new(o, "sdev", json_real(sqrt(r->m2 / (double)(r->count - 1))));
	json_array_append_new(m->values, o);
	put(m, metric, no, "total", r->count ? r->delta : NAN, r->count);
	if (r->enabled_ns)
		put(m, metric, no, "running_share", (double)r->running_ns / (double)r->enabled_ns,
		    r->count);
}

static void put_one(struct cmodel *m, const struct cseries *s)
{
	if (s->kind == CKIND_HIST && (s->touched || s->total))
		put_hist(m, s->metric, s->no, &s->merged);
	else if (s->kind == CKIND_COUNTER && (s->rate.count || s->rate.lost))
		put_rate(m, s->metric, s->no, &s->rate);
	else if (s->kind == CKIND_VALUE && s->has_value)
		put(m, s->metric, s->no, "value", s->value, 1);
}

/* Adds the rate of another CPU or device: rates and totals add up, the spread is not known. */
static void rate_merge(struct crate *to, const struct crate *from)
{
	if (!to->count || from->count < to->count)
		to->count = from->count;
	to->lost += from->lost;
	to->delta += from->delta;
	if (from->seconds > to->seconds)
		to->seconds = from->seconds;
	to->enabled_ns += from->enabled_ns;
	to->running_ns += from->running_ns;
}

/* All series of the metric of `first`, which is the first of them. */
static void put_merged(struct cmodel *m, size_t first)
{
	const struct cseries *s = m->series[first];
	struct hist all CLEANUP(hist_done) = {0};
	struct crate rate = s->rate;
	double value = s->value;
	size_t n = 1;

	hist_copy(&all, &s->merged);
	for (size_t i = first + 1; i < m->cap_series; i++) {
		const struct cseries *o = m->series[i];

		if (!o || o->kind != s->kind || strcmp(o->metric, s->metric) != 0)
			continue;
		n++;
		if (s->kind == CKIND_HIST && hist_merge(&all, &o->merged, NULL) < 0)
			return;
		rate_merge(&rate, &o->rate);
	}
	if (s->kind == CKIND_HIST)
		put_hist(m, s->metric, 0, &all);
	else if (s->kind == CKIND_COUNTER && n == 1)
		put_rate(m, s->metric, 0, &s->rate);
	else if (s->kind == CKIND_COUNTER) {
		put(m, s->metric, 0, "rate", rate.seconds > 0 ? rate.delta / rate.seconds : NAN,
		    rate.count);
		put(m, s->metric, 0, "total", rate.count ? rate.delta : NAN, rate.count);
	} else if (s->kind == CKIND_VALUE && n == 1 && s->has_value)
		put(m, s->metric, 0, "value", value, 1);
}

static bool is_first(const struct cmodel *m, size_t i, bool *ret_touched)
{
	const struct cseries *s = m->series[i];

	*ret_touched = s->touched;
	for (size_t k = 0; k < m->cap_series; k++) {
		const struct cseries *o = m->series[k];

		if (!o || o->kind != s->kind || strcmp(o->metric, s->metric) != 0)
			continue;
		if (k < i)
			return false;
		*ret_touched |= o->touched;
	}
	return true;
}

static void declare(struct cmodel *m, const struct cseries *s)
{
	const struct metric *known = metric_find(s->metric);
	json_t *o = json_copy(s->decl);

	json_object_set_new(o, "no", json_integer((json_int_t)s->no));
	json_object_set_new(o, "title", json_string(*known->name ? known->title : s->metric));
	json_object_set_new(o, "better", json_string(better_name(known->better)));
	json_object_set_new(o, "description", json_string(known->description));
	json_array_append_new(m->new_series, o);
}

void compact_values(struct cmodel *m)
{
	bool touched;

	for (size_t i = 0; i < m->cap_series; i++) {
		const struct cseries *s = m->series[i];

		if (!s)
			continue;
		if (s->decl)
			declare(m, s);
		if (m->final || s->kind == CKIND_VALUE)
			put_one(m, s);
		if (is_first(m, i, &touched) && touched)
			put_merged(m, i);
	}
}
