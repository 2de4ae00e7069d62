/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/run_load.h"

#include <math.h>

#include "common/check.h"
#include "common/model/metric.h"
#include "server/api_common.h"
#include "server/run_row.h"

enum {
	R_RUN_ID,
	R_UID,
	R_HOST,
	R_EXPERIMENT,
	R_KIND,
	R_STATE,
	R_STARTED,
	R_ENDED,
	R_MEASURED,
	R_FACTORS,
	R_TAGS,
	R_ORDER,
	R_BLOCK,
	R_BOOT_ID,
	R_EXCLUDED,
	R_SOURCE,
	R_NOTES,
	R_ENV,
	R_FACTS,
	R_EXTRA,
	R_GAP_SAMPLES,
	R_REVISION,
	R_DEMO,
	R_COLUMNS,
};

enum {
	S_RUN_ID,
	S_NO,
	S_METRIC,
	S_KIND,
	S_LABELS,
	S_UNIT,
	S_METHOD,
	S_OMISSION,
	S_STATE,
	S_REASON,
	S_INTERVAL,
	S_RESOLUTION,
	S_MISSED,
	S_SUM_N,
	S_SUM_MIN,
	S_SUM_AVG,
	S_SUM_MAX,
	S_SUM_SDEV,
	S_COUNT,
	S_LOST,
	S_OVERFLOW,
	S_NEGATIVE,
	S_DELTA,
	S_SECONDS,
	S_HIST,
	S_VALUE,
	S_ANSWER,
	S_COLUMNS,
};

static json_t *load(const struct db_result *r, size_t row, unsigned int col)
{
	json_t *v = json_loads(db_text(r, row, col), 0, NULL);

	CHECK(v); /* the text came from a jsonb column */
	return v;
}

static void load_labels(const struct db_result *r, size_t row, unsigned int col, struct labels *l)
{
	json_t *o = load(r, row, col), *v;
	const char *key;

	json_object_foreach(o, key, v) if (json_is_string(v))
		labels_set(l, key, json_string_value(v));
	json_decref(o);
}

static char *dup_or_null(const struct db_result *r, size_t row, unsigned int col)
{
	const char *s = db_text_or_null(r, row, col);

	return s ? xstrdup(s) : NULL;
}

static enum run_kind kind_of(const char *name)
{
	for (int k = RUN_MEASURED; k <= RUN_IMPORTED; k++)
		if (!strcmp(run_kind_name((enum run_kind)k), name))
			return (enum run_kind)k;
	return RUN_MEASURED;
}

static enum run_state state_of(const char *name)
{
	for (int s = RUN_RUNNING; s <= RUN_ABORTED; s++)
		if (!strcmp(run_state_name((enum run_state)s), name))
			return (enum run_state)s;
	return RUN_RUNNING;
}

static void load_notes(const struct db_result *r, size_t row, struct run *run)
{
	json_t *a = load(r, row, R_NOTES), *v;
	size_t i;

	json_array_foreach(a, i, v)
	{
		const char *code = json_string_value(json_object_get(v, "code"));
		const char *text = json_string_value(json_object_get(v, "text"));

		run_note(run, code ? code : "note", "%s", text ? text : "");
	}
	json_decref(a);
	if (db_i64(r, row, R_GAP_SAMPLES))
		run_note(run, "gap", "%lld samples were lost on the way from the agent",
			 (long long)db_i64(r, row, R_GAP_SAMPLES));
}

/* The facts come once a result; the other runs of the environment share them. */
static json_t *environment_of(const struct db_result *r, size_t row, const struct runs *before)
{
	size_t len, other_len;
	const void *sha = db_bytes(r, row, R_ENV, &len);

	if (!db_is_null(r, row, R_FACTS))
		return load(r, row, R_FACTS);
	for (size_t i = row; sha && i-- > 0;) {
		const void *other = db_bytes(r, i, R_ENV, &other_len);

		if (other && other_len == len && !memcmp(other, sha, len))
			return json_incref(before->v[i]->environment);
	}
	return NULL;
}

static struct run *load_row(const struct db_result *r, size_t row)
{
	struct run *run = run_new(kind_of(db_text(r, row, R_KIND)));
	const char *host = db_text(r, row, R_HOST);

	CHECK(db_columns(r) == R_COLUMNS);
	(void)db_uid(r, row, R_UID, run->uid);
	run->state = state_of(db_text(r, row, R_STATE));
	run->host = strcmp(host, HOST_UNKNOWN) ? xstrdup(host) : NULL;
	run->experiment = dup_or_null(r, row, R_EXPERIMENT);
	run->source = dup_or_null(r, row, R_SOURCE);
	load_labels(r, row, R_FACTORS, &run->factors);
	load_labels(r, row, R_TAGS, &run->tags);
	run->started_ns = db_i64(r, row, R_STARTED);
	run->ended_ns = db_i64(r, row, R_ENDED);
	run->measured_ns = db_i64(r, row, R_MEASURED);
	run->order = (uint32_t)db_i64(r, row, R_ORDER);
	run->block = (uint32_t)db_i64(r, row, R_BLOCK);
	run->boot_id = dup_or_null(r, row, R_BOOT_ID);
	run->excluded = dup_or_null(r, row, R_EXCLUDED);
	load_notes(r, row, run);
	if (!db_is_null(r, row, R_EXTRA))
		run->extra = load(r, row, R_EXTRA);
	return run;
}

void run_load_rows(const struct db_result *r, struct runs *ret)
{
	CHECK(!ret->len);
	for (size_t i = 0; i < db_rows(r); i++) {
		struct run *run = load_row(r, i);

		run->environment = environment_of(r, i, ret);
		runs_add(ret, run);
	}
}

int64_t run_load_row_id(const struct db_result *r, size_t row)
{
	return db_i64(r, row, R_RUN_ID);
}

int64_t run_load_row_revision(const struct db_result *r, size_t row)
{
	return db_i64(r, row, R_REVISION);
}

bool run_load_row_demo(const struct db_result *r, size_t row)
{
	return db_bool(r, row, R_DEMO);
}

/* ---- series ---- */

static enum series_kind series_kind_of(const char *name)
{
	for (int k = SERIES_HIST; k <= SERIES_ABSENT; k++)
		if (!strcmp(series_kind_name((enum series_kind)k), name))
			return (enum series_kind)k;
	return SERIES_VALUE; /* counter: its rate is the run's value */
}

static enum omission omission_of(const char *name)
{
	for (int o = OMISSION_UNKNOWN; o <= OMISSION_INTENDED_TIME; o++)
		if (!strcmp(omission_name((enum omission)o), name))
			return (enum omission)o;
	return OMISSION_UNKNOWN;
}

static enum value_state value_state_of(const char *name)
{
	return !strcmp(name, "estimated")  ? VALUE_ESTIMATED
	       : !strcmp(name, "doubtful") ? VALUE_DOUBTFUL
					   : VALUE_EXACT;
}

static double number(const struct db_result *r, size_t row, unsigned int col, bool *ret_has)
{
	*ret_has = !db_is_null(r, row, col);
	return db_f64(r, row, col);
}

/* The value of a counter series: events a second over the measured window. */
static double row_value(const struct db_result *r, size_t row)
{
	if (!db_is_null(r, row, S_VALUE))
		return db_f64(r, row, S_VALUE);
	if (!db_is_null(r, row, S_DELTA) && db_f64(r, row, S_SECONDS) > 0)
		return db_f64(r, row, S_DELTA) / db_f64(r, row, S_SECONDS);
	return NAN;
}

static int load_hist(const struct db_result *r, size_t row, struct series *s, struct err *reterr)
{
	struct reader rd;
	size_t len;
	const void *bytes = db_bytes(r, row, S_HIST, &len);

	if (!bytes)
		return 0; /* declared, but nothing came in the measured window */
	rd = reader_of(bytes, len);
	if (hist_decode(&s->hist, &rd, reterr))
		return err_set(reterr, ERR_DB, "stored histogram of %s, run %lld: damaged",
			       s->metric, (long long)db_i64(r, row, S_RUN_ID));
	return 0;
}

/* A counter's series is declared in what it counts; its value here is a rate. */
static char *unit_of(const struct db_result *r, size_t row)
{
	const char *unit = db_text(r, row, S_UNIT), *end = strrchr(unit, '/');
	const struct metric *m = metric_find(db_text(r, row, S_METRIC));

	if (strcmp(db_text(r, row, S_KIND), "counter"))
		return xstrdup(unit);
	if (*m->name)
		return xstrdup(m->unit);
	return end && !strcmp(end, "/s") ? xstrdup(unit) : xasprintf("%s/s", unit);
}

static int load_series(const struct db_result *r, size_t row, struct run *run, struct err *reterr)
{
	char *unit CLEANUP(freep) = unit_of(r, row);
	enum series_kind kind = series_kind_of(db_text(r, row, S_KIND));
	double value = row_value(r, row);
	struct series *s;

	if (kind == SERIES_VALUE && !isfinite(value) && run->state == RUN_RUNNING)
		return 0;
	if (kind == SERIES_VALUE && !isfinite(value))
		kind = SERIES_ABSENT;
	s = run_add_series(run, db_text(r, row, S_METRIC), kind, unit);
	load_labels(r, row, S_LABELS, &s->labels);
	s->method = dup_or_null(r, row, S_METHOD);
	s->reason = dup_or_null(r, row, S_REASON);
	s->omission = omission_of(db_text(r, row, S_OMISSION));
	s->state = value_state_of(db_text(r, row, S_STATE));
	s->interval_ns = db_i64(r, row, S_INTERVAL);
	s->resolution_ns = db_i64(r, row, S_RESOLUTION);
	s->missed = (uint64_t)db_i64(r, row, S_MISSED);
	if (kind == SERIES_VALUE)
		s->value = value;
	if (kind == SERIES_SUMMARY) {
		s->summary.n = (uint64_t)db_i64(r, row, S_SUM_N);
		s->summary.min = number(r, row, S_SUM_MIN, &s->summary.has_min);
		s->summary.avg = number(r, row, S_SUM_AVG, &s->summary.has_avg);
		s->summary.max = number(r, row, S_SUM_MAX, &s->summary.has_max);
		s->summary.sdev = number(r, row, S_SUM_SDEV, &s->summary.has_sdev);
	}
	return kind == SERIES_HIST ? load_hist(r, row, s, reterr) : 0;
}

int run_load_series(const struct db_result *r, struct run *const *runs, const int64_t *ids,
		    size_t n, struct err *reterr)
{
	size_t at = 0;

	CHECK(db_columns(r) == S_COLUMNS);
	for (size_t i = 0; i < db_rows(r); i++) {
		int64_t id = db_i64(r, i, S_RUN_ID);
		int rc;

		while (at < n && ids[at] < id)
			at++;
		if (at == n || ids[at] != id)
			continue;
		rc = load_series(r, i, runs[at], reterr);
		if (rc)
			return rc;
	}
	return 0;
}

static json_t *known_or_null(int64_t v)
{
	return v ? json_integer(v) : json_null();
}

/* Extremes and mean of a stored histogram. */
static void put_hist(json_t *o, const struct db_result *r, size_t row)
{
	struct hist h CLEANUP(hist_done) = {0};
	size_t len;
	const void *bytes = db_bytes(r, row, S_HIST, &len);
	struct reader rd;
	struct err err;
	bool exact;

	if (!bytes)
		return;
	rd = reader_of(bytes, len);
	if (hist_decode(&h, &rd, &err))
		return;
	json_object_set_new(o, "min", h.has_min ? json_integer(h.min) : json_null());
	json_object_set_new(o, "max", h.has_max ? json_integer(h.max) : json_null());
	json_object_set_new(o, "mean", js_number(hist_mean(&h, &exact)));
}

/* A counter that was declared and never had a number, with the reason that the run's end gave. */
static bool is_unmeasured(const struct db_result *r, size_t row)
{
	return !strcmp(db_text(r, row, S_KIND), "counter") && !isfinite(row_value(r, row)) &&
	       db_text_or_null(r, row, S_REASON);
}

bool run_series_is_sum(const struct db_result *r, size_t row)
{
	return !db_i64(r, row, S_NO) && !strcmp(db_text(r, row, S_KIND), "counter");
}

json_t *run_series_json(const struct db_result *r, size_t row)
{
	bool summary = !db_is_null(r, row, S_SUM_N);
	json_t *o = json_object();

	CHECK(db_columns(r) == S_COLUMNS);
	json_object_set_new(o, "metric", json_string(db_text(r, row, S_METRIC)));
	json_object_set_new(o, "labels", load(r, row, S_LABELS));
	json_object_set_new(o, "unit", json_string(db_text(r, row, S_UNIT)));
	json_object_set_new(
		o, "kind", json_string(is_unmeasured(r, row) ? "absent" : db_text(r, row, S_KIND)));
	json_object_set_new(o, "method", js_text(db_text_or_null(r, row, S_METHOD)));
	json_object_set_new(o, "omission", json_string(db_text(r, row, S_OMISSION)));
	json_object_set_new(o, "state", json_string(db_text(r, row, S_STATE)));
	json_object_set_new(o, "reason", js_text(db_text_or_null(r, row, S_REASON)));
	json_object_set_new(o, "interval_ns", known_or_null(db_i64(r, row, S_INTERVAL)));
	json_object_set_new(o, "resolution_ns", known_or_null(db_i64(r, row, S_RESOLUTION)));
	json_object_set_new(o, "missed", json_integer(db_i64(r, row, S_MISSED)));
	json_object_set_new(o, "count", js_i64_or_null(r, row, S_COUNT));
	json_object_set_new(o, "lost", json_integer(db_i64(r, row, S_LOST)));
	json_object_set_new(o, "overflow", js_i64_or_null(r, row, S_OVERFLOW));
	json_object_set_new(o, "negative", js_i64_or_null(r, row, S_NEGATIVE));
	json_object_set_new(o, "n", js_i64_or_null(r, row, S_SUM_N));
	json_object_set_new(o, "min", js_f64_or_null(r, row, S_SUM_MIN));
	json_object_set_new(o, "max", js_f64_or_null(r, row, S_SUM_MAX));
	json_object_set_new(o, "mean", js_f64_or_null(r, row, S_SUM_AVG));
	json_object_set_new(o, "sdev", js_f64_or_null(r, row, S_SUM_SDEV));
	json_object_set_new(o, "value",
			    summary ? js_f64_or_null(r, row, S_SUM_AVG)
				    : js_number(row_value(r, row)));
	put_hist(o, r, row);
	return o;
}
