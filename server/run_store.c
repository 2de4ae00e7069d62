/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/run_store.h"

#include <math.h>
#include <stdio.h>

#include "common/exceed.h"
#include "common/model/metric.h"
#include "common/parse.h"
#include "common/sha256.h"
#include "server/api_common.h"
#include "server/run_row.h"

#define SERIES_MAX 2000
#define NAME_MAX   128
#define NOTES_MAX  1000
#define LABELS_MAX 64
#define LEVEL_MAX  1000

static int check_name(const char *what, const char *s, struct err *reterr)
{
	size_t len = s ? strlen(s) : 0;

	if (s && (!len || len > NAME_MAX || !text_is_clean(s, len)))
		return err_set(reterr, ERR_INVALID,
			       "%s '%.40s' must be clean text of 1 to %d bytes", what, s, NAME_MAX);
	return 0;
}

static int check_labels(const char *what, const struct labels *l, struct err *reterr)
{
	if (l->len > LABELS_MAX)
		return err_set(reterr, ERR_LIMIT, "%zu %ss; at most %d", l->len, what, LABELS_MAX);
	for (size_t i = 0; i < l->len; i++) {
		int rc = check_name(what, l->v[i].key, reterr);

		if (rc)
			return rc;
		if (strlen(l->v[i].value) > LEVEL_MAX)
			return err_set(reterr, ERR_LIMIT,
				       "%s '%s': the value is longer than %d bytes", what,
				       l->v[i].key, LEVEL_MAX);
	}
	return 0;
}

static json_t *labels_json(const struct labels *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->len; i++)
		json_object_set_new(o, l->v[i].key, json_string(l->v[i].value));
	return o;
}

/* ---- values of a distribution ---- */

static json_t *value_json(const char *stat, double v)
{
	json_t *o = json_pack("{s:s}", "stat", stat);

	json_object_set_new(o, "value", js_number(v));
	return o;
}

static void put_quantile(json_t *out, const struct hist *h, const char *stat, double q)
{
	static const char *const answers[] = {"value", "at_least", "negative", "not_resolvable"};
	struct hist_quantile at = hist_quantile(h, q);
	bool known = at.answer == HIST_VALUE || at.answer == HIST_AT_LEAST;
	json_t *o = value_json(stat, known ? (double)at.lo : NAN);

	if (known)
		json_object_set_new(o, "lo", js_number((double)at.lo));
	if (known && at.hi != INT64_MAX)
		json_object_set_new(o, "hi", js_number((double)at.hi));
	json_object_set_new(o, "answer", json_string(answers[at.answer]));
	json_object_set_new(o, "n", json_integer((json_int_t)h->count));
	json_array_append_new(out, o);
}

static void put_value(json_t *out, const struct hist *h, const char *stat, double v,
		      const char *answer)
{
	json_t *o = value_json(stat, v);

	json_object_set_new(o, "answer", json_string(answer));
	json_object_set_new(o, "n", json_integer((json_int_t)h->count));
	json_array_append_new(out, o);
}

/* The extremes are exact, or the lower edge of their bucket. */
static void put_extremes(json_t *out, const struct hist *h)
{
	double min = h->has_min ? (double)h->min : h->len ? (double)h->b[0].lo : NAN;
	double max = h->has_max	   ? (double)h->max
		     : h->overflow ? (double)h->overflow_lo
		     : h->len	   ? (double)h->b[h->len - 1].lo
				   : NAN;

	put_value(out, h, "min", min, "value");
	put_value(out, h, "max", max, !h->has_max && h->overflow ? "at_least" : "value");
}

static json_t *hist_values(const struct hist *h)
{
	static const struct {
		const char *stat;
		double q;
	} quantiles[] = {
		{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
	json_t *out = json_array();
	bool exact;

	for (size_t i = 0; h->count && i < ARRAY_LEN(quantiles); i++)
		put_quantile(out, h, quantiles[i].stat, quantiles[i].q);
	if (h->count) {
		put_extremes(out, h);
		put_value(out, h, "mean", hist_mean(h, &exact), "value");
	}
	put_value(out, h, "count", (double)h->count, "value");
	return out;
}

static void put_exceedance(json_t *out, const struct hist *h)
{
	for (size_t i = 0; h->count && i < EXCEED_STEPS; i++) {
		struct exceed_share s = exceed_share(h, exceed_steps[i].ns);
		json_t *o = value_json(exceed_steps[i].stat, s.lo_ppm);

		json_object_set_new(o, "lo", js_number(s.lo_ppm));
		json_object_set_new(o, "hi", js_number(s.hi_ppm));
		json_object_set_new(o, "n", json_integer((json_int_t)h->count));
		json_array_append_new(out, o);
	}
}

/* ---- series ---- */

static void put_metric(json_t *o, const char *name, const char *unit)
{
	const struct metric *m = metric_find(name);

	json_object_set_new(o, "metric", json_string(name));
	json_object_set_new(o, "unit", json_string(unit));
	json_object_set_new(o, "title", json_string(*m->name ? m->title : name));
	json_object_set_new(o, "better", json_string(better_name(m->better)));
	json_object_set_new(o, "description", json_string(m->description));
}

static json_t *total_json(const struct hist *h)
{
	struct strbuf bytes CLEANUP(strbuf_done) = {0}, hex CLEANUP(strbuf_done) = {0};

	hist_encode(h, &bytes);
	hex_put(&hex, bytes.data, bytes.len);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "bucketed",
			 (json_int_t)(h->count - h->overflow - h->negative), "overflow",
			 (json_int_t)h->overflow, "negative", (json_int_t)h->negative, "count",
			 (json_int_t)h->count, "lost", (json_int_t)h->lost, "d", hex.data);
}

static void put_summary(json_t *o, const struct summary *s)
{
	json_object_set_new(o, "summary_n", json_integer((json_int_t)s->n));
	json_object_set_new(o, "summary_min", js_number(s->has_min ? s->min : NAN));
	json_object_set_new(o, "summary_avg", js_number(s->has_avg ? s->avg : NAN));
	json_object_set_new(o, "summary_max", js_number(s->has_max ? s->max : NAN));
	json_object_set_new(o, "summary_sdev", js_number(s->has_sdev ? s->sdev : NAN));
}

static json_t *series_json(const struct series *s, size_t no)
{
	static const char *const states[] = {"exact", "estimated", "doubtful"};
	json_t *o = json_object();

	json_object_set_new(o, "no", json_integer((json_int_t)no));
	put_metric(o, s->metric, s->unit);
	json_object_set_new(o, "kind", json_string(series_kind_name(s->kind)));
	json_object_set_new(o, "labels", labels_json(&s->labels));
	json_object_set_new(o, "method", js_text(s->method));
	json_object_set_new(o, "omission", json_string(omission_name(s->omission)));
	json_object_set_new(o, "state", json_string(states[s->state]));
	json_object_set_new(o, "reason", js_text(s->reason));
	json_object_set_new(o, "interval_ns", json_integer(s->interval_ns));
	json_object_set_new(o, "resolution_ns", json_integer(s->resolution_ns));
	json_object_set_new(o, "missed", json_integer((json_int_t)s->missed));
	if (s->kind == SERIES_HIST) {
		json_object_set_new(o, "total", total_json(&s->hist));
		json_object_set_new(o, "values", hist_values(&s->hist));
	} else if (s->kind == SERIES_VALUE) {
		json_object_set_new(o, "values", json_pack("[o]", value_json("value", s->value)));
	} else if (s->kind == SERIES_SUMMARY) {
		put_summary(o, &s->summary);
	}
	return o;
}

static bool first_of_metric(const struct run *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(r->series[k].metric, r->series[i].metric))
			return false;
	return true;
}

/* The values of a metric over all its series: one merged histogram, or a single value. */
static int merged_json(const struct run *r, size_t first, json_t *out, struct err *reterr)
{
	struct hist all CLEANUP(hist_done) = {0};
	const struct series *f = &r->series[first];
	size_t hists = 0, n = 0;
	json_t *o, *values;

	for (size_t i = first; i < r->series_len; i++) {
		const struct series *s = &r->series[i];
		int rc = 0;

		if (strcmp(s->metric, f->metric))
			continue;
		n++;
		if (s->kind != SERIES_HIST)
			continue;
		if (hists++)
			rc = hist_merge(&all, &s->hist, reterr);
		else
			hist_copy(&all, &s->hist);
		if (rc)
			return err_prefix(reterr, "%s: ", s->metric);
	}
	if (!hists && !(n == 1 && f->kind == SERIES_VALUE))
		return 0;
	o = json_object();
	put_metric(o, f->metric, f->unit);
	values = hists ? hist_values(&all) : json_pack("[o]", value_json("value", f->value));
	if (hists)
		put_exceedance(values, &all);
	json_object_set_new(o, "values", values);
	json_array_append_new(out, o);
	return 0;
}

/* ---- the run ---- */

/* Canonical bytes: the same facts have the same address wherever they come from. */
static json_t *environment_json(json_t *facts)
{
	char *text CLEANUP(freep) = json_dumps(facts, JSON_SORT_KEYS | JSON_COMPACT);
	char hex[SHA256_HEX];

	return json_pack("{s:s, s:O}", "sha256", sha256_hex(text, strlen(text), hex), "facts",
			 facts);
}

static json_t *notes_json(const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->notes_len && i < NOTES_MAX; i++)
		json_array_append_new(a, json_pack("{s:s, s:s}", "code", r->notes[i].code, "text",
						   r->notes[i].text));
	return a;
}

static int check_run(const struct run *r, struct err *reterr)
{
	int rc = check_name("host", r->host, reterr);

	rc = rc ? rc : check_name("experiment", r->experiment, reterr);
	if (rc)
		return rc;
	if (!r->series_len)
		return err_set(reterr, ERR_INVALID, "the run has no series");
	if (r->series_len > SERIES_MAX)
		return err_set(reterr, ERR_LIMIT, "the run has %zu series; at most %d",
			       r->series_len, SERIES_MAX);
	rc = check_labels("factor", &r->factors, reterr);
	rc = rc ? rc : check_labels("tag", &r->tags, reterr);
	for (size_t i = 0; i < r->series_len && !rc; i++) {
		rc = check_name("metric", r->series[i].metric, reterr);
		if (!rc && r->series[i].kind == SERIES_HIST)
			rc = hist_check(&r->series[i].hist, reterr);
	}
	return rc;
}

static void put_totals(json_t *o, const struct run *r)
{
	uint64_t samples = 0, lost = 0, missed = 0;

	for (size_t i = 0; i < r->series_len; i++) {
		const struct series *s = &r->series[i];

		missed += s->missed;
		if (s->kind == SERIES_HIST) {
			samples += s->hist.count;
			lost += s->hist.lost;
		}
	}
	json_object_set_new(o, "samples", json_integer((json_int_t)samples));
	json_object_set_new(o, "lost", json_integer((json_int_t)lost));
	json_object_set_new(o, "missed", json_integer((json_int_t)missed));
}

static json_t *positive(int64_t v)
{
	return v > 0 ? json_integer(v) : json_null();
}

static json_t *run_json(const struct run *r, const struct run_store_place *p)
{
	json_t *o = json_object(), *series = json_array();

	json_object_set_new(o, "demo", json_boolean(p->demo));
	json_object_set_new(o, "host", json_string(r->host ? r->host : HOST_UNKNOWN));
	json_object_set_new(o, "experiment", js_text(r->experiment));
	json_object_set_new(o, "uid", json_string(r->uid));
	json_object_set_new(o, "kind", json_string(run_kind_name(r->kind)));
	json_object_set_new(o, "state", json_string(run_state_name(r->state)));
	json_object_set_new(o, "factors", labels_json(&r->factors));
	json_object_set_new(o, "tags", labels_json(&r->tags));
	json_object_set_new(o, "order", positive(r->order));
	json_object_set_new(o, "block", positive(r->block));
	json_object_set_new(o, "boot_id", js_text(r->boot_id));
	json_object_set_new(o, "source", js_text(r->source));
	json_object_set_new(o, "import_id", positive(p->import_id));
	json_object_set_new(o, "import_index",
			    p->import_id ? json_integer(p->import_index) : json_null());
	json_object_set_new(o, "labels_sha256", js_text(p->labels_sha256));
	json_object_set_new(o, "started_ns", positive(r->started_ns));
	json_object_set_new(o, "ended_ns", positive(r->ended_ns));
	json_object_set_new(o, "measured_ns", positive(r->measured_ns));
	json_object_set_new(o, "excluded", js_text(r->excluded));
	json_object_set_new(o, "notes", notes_json(r));
	if (json_object_size(r->environment))
		json_object_set_new(o, "environment", environment_json(r->environment));
	if (r->extra)
		json_object_set(o, "extra", r->extra);
	put_totals(o, r);
	for (size_t i = 0; i < r->series_len; i++)
		json_array_append_new(series, series_json(&r->series[i], i + 1));
	json_object_set_new(o, "series", series);
	return o;
}

int run_store_json(struct run *r, const struct run_store_place *place, char **ret,
		   struct err *reterr)
{
	json_t *o, *merged;
	int rc = check_run(r, reterr);

	if (rc)
		return rc;
	if (!*r->uid)
		run_mint_uid(r->uid);
	o = run_json(r, place);
	merged = json_array();
	for (size_t i = 0; i < r->series_len && !rc; i++)
		if (first_of_metric(r, i))
			rc = merged_json(r, i, merged, reterr);
	json_object_set_new(o, "merged", merged);
	if (!rc)
		*ret = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return rc;
}

/* ---- texts of foreign files ---- */

static void clean(char **s)
{
	json_t *j;
	char *copy;

	if (!*s || text_is_clean(*s, strlen(*s)))
		return;
	j = js_text(*s);
	copy = xstrdup(json_string_value(j));
	json_decref(j);
	for (char *p = copy; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f)
			*p = ' ';
	free(*s);
	*s = copy;
}

static void clean_labels(struct labels *l)
{
	struct labels old = *l;

	memset(l, 0, sizeof(*l));
	for (size_t i = 0; i < old.len; i++) {
		clean(&old.v[i].key);
		clean(&old.v[i].value);
		labels_set(l, old.v[i].key, old.v[i].value);
	}
	labels_done(&old);
}

void run_store_clean(struct run *r)
{
	char **texts[] = {&r->host, &r->experiment, &r->source, &r->boot_id, &r->excluded};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		clean(texts[i]);
	clean_labels(&r->factors);
	clean_labels(&r->tags);
	for (size_t i = 0; i < r->notes_len; i++) {
		clean(&r->notes[i].code);
		clean(&r->notes[i].text);
	}
	for (size_t i = 0; i < r->series_len; i++) {
		struct series *s = &r->series[i];
		char **own[] = {&s->metric, &s->unit, &s->method, &s->reason};

		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			clean(own[k]);
		clean_labels(&s->labels);
	}
}
