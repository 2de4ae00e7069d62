/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON form of a run: one writer and one strict reader (docs/PROTOCOL.md, "Run document"). */
#include "common/clock.h"
#include "common/model/run.h"
#include "common/parse.h"

#include <inttypes.h>
#include <math.h>

/* ---- writing ---- */

static void set_text(json_t *o, const char *key, const char *text)
{
	if (text)
		json_object_set_new(o, key, json_string(text));
}

static json_t *labels_json(const struct labels *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->len; i++)
		set_text(o, l->v[i].key, l->v[i].value);
	return o;
}

static void set_time(json_t *o, const char *key, int64_t ns)
{
	char buf[40];

	if (ns)
		set_text(o, key, clock_rfc3339(ns, buf, sizeof(buf)));
}

static json_t *hist_json(const struct hist *h)
{
	static const char *const schemes[] = {"log128", "linear", "edges"};
	json_t *o = json_object(), *lo = json_array(), *hi = json_array(), *n = json_array();

	for (size_t i = 0; i < h->len; i++) {
		json_array_append_new(lo, json_integer(h->b[i].lo));
		json_array_append_new(hi, json_integer(h->b[i].hi));
		json_array_append_new(n, json_integer((json_int_t)h->b[i].n));
	}
	set_text(o, "scheme", schemes[h->scheme]);
	if (h->scheme == HIST_LINEAR) {
		json_object_set_new(o, "base_ns", json_integer(h->base));
		json_object_set_new(o, "width_ns", json_integer(h->width));
	}
	json_object_set_new(o, "count", json_integer((json_int_t)h->count));
	json_object_set_new(o, "overflow", json_integer((json_int_t)h->overflow));
	json_object_set_new(o, "negative", json_integer((json_int_t)h->negative));
	json_object_set_new(o, "lost", json_integer((json_int_t)h->lost));
	if (h->overflow)
		json_object_set_new(o, "overflow_lo_ns", json_integer(h->overflow_lo));
	if (h->has_min)
		json_object_set_new(o, "min_ns", json_integer(h->min));
	if (h->has_max)
		json_object_set_new(o, "max_ns", json_integer(h->max));
	if (h->has_sum)
		json_object_set_new(o, "sum_ns", json_integer(h->sum));
	if (h->coarsened)
		json_object_set_new(o, "coarsened", json_true());
	json_object_set_new(o, "lo_ns", lo);
	json_object_set_new(o, "hi_ns", hi);
	json_object_set_new(o, "n", n);
	return o;
}

static json_t *summary_json(const struct summary *s)
{
	json_t *o = json_pack("{s:I}", "n", (json_int_t)s->n);

	if (s->has_min)
		json_object_set_new(o, "min", json_real(s->min));
	if (s->has_avg)
		json_object_set_new(o, "avg", json_real(s->avg));
	if (s->has_max)
		json_object_set_new(o, "max", json_real(s->max));
	if (s->has_sdev)
		json_object_set_new(o, "sdev", json_real(s->sdev));
	return o;
}

static const char *const state_names[] = {"exact", "estimated", "doubtful"};

static json_t *series_json(const struct series *s)
{
	json_t *o = json_object();

	set_text(o, "metric", s->metric);
	set_text(o, "kind", series_kind_name(s->kind));
	set_text(o, "unit", s->unit);
	json_object_set_new(o, "labels", labels_json(&s->labels));
	set_text(o, "method", s->method);
	set_text(o, "reason", s->reason);
	if (s->omission)
		set_text(o, "omission", omission_name(s->omission));
	if (s->state)
		set_text(o, "state", state_names[s->state]);
	if (s->interval_ns)
		json_object_set_new(o, "interval_ns", json_integer(s->interval_ns));
	if (s->resolution_ns)
		json_object_set_new(o, "resolution_ns", json_integer(s->resolution_ns));
	if (s->missed)
		json_object_set_new(o, "missed", json_integer((json_int_t)s->missed));
	if (s->kind == SERIES_HIST)
		json_object_set_new(o, "hist", hist_json(&s->hist));
	else if (s->kind == SERIES_VALUE)
		json_object_set_new(o, "value", json_real(s->value));
	else if (s->kind == SERIES_SUMMARY)
		json_object_set_new(o, "summary", summary_json(&s->summary));
	return o;
}

json_t *run_to_json(const struct run *r)
{
	json_t *o = json_object(), *series = json_array(), *notes = json_array();

	if (r->uid[0])
		set_text(o, "uid", r->uid);
	set_text(o, "kind", run_kind_name(r->kind));
	set_text(o, "state", run_state_name(r->state));
	set_text(o, "host", r->host);
	set_text(o, "experiment", r->experiment);
	set_text(o, "source", r->source);
	json_object_set_new(o, "factors", labels_json(&r->factors));
	json_object_set_new(o, "tags", labels_json(&r->tags));
	set_time(o, "started", r->started_ns);
	set_time(o, "ended", r->ended_ns);
	if (r->measured_ns)
		json_object_set_new(o, "measured_ns", json_integer(r->measured_ns));
	if (r->order)
		json_object_set_new(o, "order", json_integer(r->order));
	if (r->block)
		json_object_set_new(o, "block", json_integer(r->block));
	set_text(o, "boot_id", r->boot_id);
	set_text(o, "excluded", r->excluded);
	for (size_t i = 0; i < r->series_len; i++)
		json_array_append_new(series, series_json(&r->series[i]));
	json_object_set_new(o, "series", series);
	for (size_t i = 0; i < r->notes_len; i++)
		json_array_append_new(notes, json_pack("{s:s,s:s}", "code", r->notes[i].code,
						       "text", r->notes[i].text));
	json_object_set_new(o, "notes", notes);
	if (r->environment)
		json_object_set(o, "environment", r->environment);
	if (r->extra)
		json_object_set(o, "extra", r->extra);
	return o;
}

/* ---- reading: every field checked, the error names it ---- */

#define TEXT_MAX 4096

static int get_text(const json_t *o, const char *key, char **ret, struct err *reterr)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v) || json_string_length(v) > TEXT_MAX ||
	    !text_is_clean(json_string_value(v), json_string_length(v)))
		return err_set(reterr, ERR_INVALID,
			       "\"%s\" must be text of at most %d bytes without control characters",
			       key, TEXT_MAX);
	free(*ret);
	*ret = xstrdup(json_string_value(v));
	return 0;
}

static int get_int(const json_t *o, const char *key, int64_t min, int64_t *ret, bool *ret_have,
		   struct err *reterr)
{
	const json_t *v = json_object_get(o, key);

	if (ret_have)
		*ret_have = false;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < min)
		return err_set(reterr, ERR_INVALID,
			       "\"%s\" must be a whole number of at least %" PRId64, key, min);
	*ret = json_integer_value(v);
	if (ret_have)
		*ret_have = true;
	return 0;
}

static int get_real(const json_t *o, const char *key, double *ret, bool *ret_have,
		    struct err *reterr)
{
	const json_t *v = json_object_get(o, key);

	*ret_have = false;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_number(v) || !isfinite(json_number_value(v)))
		return err_set(reterr, ERR_INVALID, "\"%s\" must be a number", key);
	*ret = json_number_value(v);
	*ret_have = true;
	return 0;
}

/* One of the names of a closed set; the first when the field is absent. */
static int get_name(const json_t *o, const char *key, const char *const *names, size_t n, int *ret,
		    struct err *reterr)
{
	const json_t *v = json_object_get(o, key);

	*ret = 0;
	if (!v || json_is_null(v))
		return 0;
	for (size_t i = 0; i < n && json_is_string(v); i++) {
		if (strcmp(names[i], json_string_value(v)))
			continue;
		*ret = (int)i;
		return 0;
	}
	return err_set(reterr, ERR_INVALID, "\"%s\" must be one of \"%s\" .. \"%s\"", key, names[0],
		       names[n - 1]);
}

static int get_labels(const json_t *o, const char *key, struct labels *ret, struct err *reterr)
{
	const json_t *v = json_object_get(o, key);
	const char *k;
	json_t *item;

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v) || json_object_size(v) > 64)
		return err_set(reterr, ERR_INVALID, "\"%s\" must be an object of at most 64 texts",
			       key);
	json_object_foreach((json_t *)v, k, item)
	{
		if (!json_is_string(item) || !*k || strlen(k) > 128 ||
		    json_string_length(item) > TEXT_MAX || !text_is_clean(k, strlen(k)) ||
		    !text_is_clean(json_string_value(item), json_string_length(item)))
			return err_set(reterr, ERR_INVALID, "\"%s\": \"%.40s\" must be clean text",
				       key, k);
		labels_set(ret, k, json_string_value(item));
	}
	return 0;
}

static int get_time(const json_t *o, const char *key, int64_t *ret, struct err *reterr)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v) || !clock_parse_rfc3339(json_string_value(v), ret))
		return err_set(reterr, ERR_INVALID, "\"%s\" must be a time as 2026-11-30T17:00:00Z",
			       key);
	return 0;
}

static int read_buckets(const json_t *o, struct hist *h, struct err *reterr)
{
	const json_t *lo = json_object_get(o, "lo_ns"), *hi = json_object_get(o, "hi_ns"),
		     *n = json_object_get(o, "n");
	size_t len = json_array_size(n);

	if (!json_is_array(lo) || !json_is_array(hi) || !json_is_array(n) ||
	    json_array_size(lo) != len || json_array_size(hi) != len)
		return err_set(reterr, ERR_INVALID,
			       "\"lo_ns\", \"hi_ns\" and \"n\" must be arrays of one length");
	for (size_t i = 0; i < len; i++) {
		const json_t *l = json_array_get(lo, i), *u = json_array_get(hi, i),
			     *c = json_array_get(n, i);
		int rc;

		if (!json_is_integer(l) || !json_is_integer(u) || !json_is_integer(c) ||
		    json_integer_value(c) < 0)
			return err_set(reterr, ERR_INVALID,
				       "bucket %zu: edges and count must be whole numbers", i);
		rc = hist_append(h, json_integer_value(l), json_integer_value(u),
				 (uint64_t)json_integer_value(c), reterr);
		if (rc)
			return rc;
	}
	return 0;
}

/* A scheme is a promise about the edges; one that does not hold is read as plain edges. */
static void settle_scheme(struct hist *h)
{
	bool ok = true;

	if (h->scheme == HIST_LINEAR) {
		ok = h->width > 0;
		for (size_t i = 0; ok && i < h->len; i++)
			ok = h->b[i].hi - h->b[i].lo == h->width &&
			     (h->b[i].lo - h->base) % h->width == 0 && h->b[i].lo >= h->base;
	} else if (h->scheme == HIST_LOG128) {
		for (size_t i = 0; ok && i < h->len; i++)
			ok = h->b[i].lo >= 0 && hist_slot_lo(hist_slot(h->b[i].lo)) == h->b[i].lo &&
			     hist_slot_hi(hist_slot(h->b[i].lo)) == h->b[i].hi;
	}
	if (!ok)
		h->scheme = HIST_EDGES;
}

static int read_hist(const json_t *o, struct hist *h, struct err *reterr)
{
	static const char *const schemes[] = {"edges", "log128", "linear"};
	static const enum hist_scheme values[] = {HIST_EDGES, HIST_LOG128, HIST_LINEAR};
	int64_t count = 0, overflow = 0, negative = 0, lost = 0;
	bool have_count;
	int scheme, rc;

	if (!json_is_object(o))
		return err_set(reterr, ERR_INVALID, "\"hist\" must be an object");
	rc = get_name(o, "scheme", schemes, ARRAY_LEN(schemes), &scheme, reterr);
	rc = rc ? rc : get_int(o, "base_ns", INT64_MIN, &h->base, NULL, reterr);
	rc = rc ? rc : get_int(o, "width_ns", 1, &h->width, NULL, reterr);
	rc = rc ? rc : get_int(o, "overflow", 0, &overflow, NULL, reterr);
	rc = rc ? rc : get_int(o, "negative", 0, &negative, NULL, reterr);
	rc = rc ? rc : get_int(o, "lost", 0, &lost, NULL, reterr);
	rc = rc ? rc : get_int(o, "overflow_lo_ns", INT64_MIN, &h->overflow_lo, NULL, reterr);
	rc = rc ? rc : get_int(o, "min_ns", INT64_MIN, &h->min, &h->has_min, reterr);
	rc = rc ? rc : get_int(o, "max_ns", INT64_MIN, &h->max, &h->has_max, reterr);
	rc = rc ? rc : get_int(o, "sum_ns", INT64_MIN, &h->sum, &h->has_sum, reterr);
	rc = rc ? rc : get_int(o, "count", 0, &count, &have_count, reterr);
	rc = rc ? rc : read_buckets(o, h, reterr);
	if (rc)
		return rc;
	h->scheme = values[scheme];
	h->coarsened = json_is_true(json_object_get(o, "coarsened"));
	h->overflow = (uint64_t)overflow;
	h->negative = (uint64_t)negative;
	h->lost = (uint64_t)lost;
	h->count += h->overflow + h->negative;
	if (have_count && h->count != (uint64_t)count)
		return err_set(reterr, ERR_INVALID,
			       "\"count\" is %" PRId64 " but the parts sum to %" PRIu64, count,
			       h->count);
	settle_scheme(h);
	return hist_check(h, reterr);
}

static int read_summary(const json_t *o, struct summary *s, struct err *reterr)
{
	int64_t n = 0;
	int rc;

	if (!json_is_object(o))
		return err_set(reterr, ERR_INVALID, "\"summary\" must be an object");
	rc = get_int(o, "n", 1, &n, NULL, reterr);
	rc = rc ? rc : get_real(o, "min", &s->min, &s->has_min, reterr);
	rc = rc ? rc : get_real(o, "avg", &s->avg, &s->has_avg, reterr);
	rc = rc ? rc : get_real(o, "max", &s->max, &s->has_max, reterr);
	rc = rc ? rc : get_real(o, "sdev", &s->sdev, &s->has_sdev, reterr);
	s->n = (uint64_t)n;
	if (!rc && (!n || !s->has_avg))
		return err_set(reterr, ERR_INVALID, "a summary needs \"n\" and \"avg\"");
	return rc;
}

static int read_series_fields(const json_t *o, struct series *s, struct err *reterr)
{
	static const char *const omissions[] = {"unknown", "keeps_deadlines", "skips_missed",
						"intended_time"};
	int64_t missed = 0;
	int omission, state, rc;

	rc = get_labels(o, "labels", &s->labels, reterr);
	rc = rc ? rc : get_text(o, "method", &s->method, reterr);
	rc = rc ? rc : get_text(o, "reason", &s->reason, reterr);
	rc = rc ? rc : get_int(o, "interval_ns", 0, &s->interval_ns, NULL, reterr);
	rc = rc ? rc : get_int(o, "resolution_ns", 0, &s->resolution_ns, NULL, reterr);
	rc = rc ? rc : get_int(o, "missed", 0, &missed, NULL, reterr);
	rc = rc ? rc : get_name(o, "omission", omissions, ARRAY_LEN(omissions), &omission, reterr);
	rc = rc ? rc : get_name(o, "state", state_names, ARRAY_LEN(state_names), &state, reterr);
	if (rc)
		return rc;
	s->missed = (uint64_t)missed;
	s->omission = (enum omission)omission;
	s->state = (enum value_state)state;
	return 0;
}

static int read_series(const json_t *o, struct run *r, struct err *reterr)
{
	static const char *const kinds[] = {"hist", "value", "summary", "absent"};
	char *metric CLEANUP(freep) = NULL, *unit CLEANUP(freep) = NULL;
	struct series *s;
	bool have;
	int kind, rc;

	rc = get_text(o, "metric", &metric, reterr);
	rc = rc ? rc : get_text(o, "unit", &unit, reterr);
	rc = rc ? rc : get_name(o, "kind", kinds, ARRAY_LEN(kinds), &kind, reterr);
	if (rc)
		return rc;
	if (!metric || !*metric || strlen(metric) > 128)
		return err_set(reterr, ERR_INVALID, "\"metric\" must be a name of 1 to 128 bytes");
	s = run_add_series(r, metric, (enum series_kind)kind, unit ? unit : "1");
	rc = read_series_fields(o, s, reterr);
	if (rc)
		return rc;
	if (kind == SERIES_HIST)
		return read_hist(json_object_get(o, "hist"), &s->hist, reterr);
	if (kind == SERIES_SUMMARY)
		return read_summary(json_object_get(o, "summary"), &s->summary, reterr);
	if (kind == SERIES_ABSENT)
		return s->reason ? 0
				 : err_set(reterr, ERR_INVALID,
					   "an absent series needs a \"reason\"");
	rc = get_real(o, "value", &s->value, &have, reterr);
	if (!rc && !have)
		return err_set(reterr, ERR_INVALID, "\"value\" is missing");
	return rc;
}

static int read_all_series(const json_t *j, struct run *r, struct err *reterr)
{
	const json_t *list = json_object_get(j, "series");

	if (!json_is_array(list) || json_array_size(list) > 100000)
		return err_set(reterr, ERR_INVALID,
			       "\"series\" must be an array of at most 100,000 items");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_series(json_array_get(list, i), r, reterr))
			return err_prefix(reterr, "series[%zu]: ", i);
	return 0;
}

static int read_notes(const json_t *j, struct run *r, struct err *reterr)
{
	const json_t *list = json_object_get(j, "notes");

	for (size_t i = 0; i < json_array_size(list); i++) {
		char *code CLEANUP(freep) = NULL, *text CLEANUP(freep) = NULL;
		const json_t *n = json_array_get(list, i);

		if (get_text(n, "code", &code, reterr) || get_text(n, "text", &text, reterr))
			return err_prefix(reterr, "notes[%zu]: ", i);
		if (code && text)
			run_note(r, code, "%s", text);
	}
	return 0;
}

static int read_uid(const json_t *j, struct run *r, struct err *reterr)
{
	char *uid CLEANUP(freep) = NULL;
	int rc = get_text(j, "uid", &uid, reterr);

	if (rc || !uid)
		return rc;
	if (strlen(uid) != 32 || strspn(uid, "0123456789abcdef") != 32)
		return err_set(reterr, ERR_INVALID, "\"uid\" must be 32 hex digits");
	memcpy(r->uid, uid, 33);
	return 0;
}

static int read_design(const json_t *j, struct run *r, struct err *reterr)
{
	int64_t order = 0, block = 0;
	int rc;

	rc = get_time(j, "started", &r->started_ns, reterr);
	rc = rc ? rc : get_time(j, "ended", &r->ended_ns, reterr);
	rc = rc ? rc : get_int(j, "measured_ns", 0, &r->measured_ns, NULL, reterr);
	rc = rc ? rc : get_int(j, "order", 0, &order, NULL, reterr);
	rc = rc ? rc : get_int(j, "block", 0, &block, NULL, reterr);
	if (!rc && (order > UINT32_MAX || block > UINT32_MAX))
		return err_set(reterr, ERR_INVALID, "\"order\" and \"block\" must be below 2^32");
	r->order = (uint32_t)order;
	r->block = (uint32_t)block;
	return rc;
}

static int read_run(const json_t *j, struct run *r, struct err *reterr)
{
	static const char *const kinds[] = {"imported", "measured", "watch"};
	static const enum run_kind kind_values[] = {RUN_IMPORTED, RUN_MEASURED, RUN_WATCH};
	static const char *const states[] = {"ok", "failed", "aborted", "running"};
	static const enum run_state state_values[] = {RUN_OK, RUN_FAILED, RUN_ABORTED, RUN_RUNNING};
	int kind, state, rc;

	rc = read_uid(j, r, reterr);
	rc = rc ? rc : get_name(j, "kind", kinds, ARRAY_LEN(kinds), &kind, reterr);
	rc = rc ? rc : get_name(j, "state", states, ARRAY_LEN(states), &state, reterr);
	rc = rc ? rc : get_text(j, "host", &r->host, reterr);
	rc = rc ? rc : get_text(j, "experiment", &r->experiment, reterr);
	rc = rc ? rc : get_text(j, "source", &r->source, reterr);
	rc = rc ? rc : get_text(j, "boot_id", &r->boot_id, reterr);
	rc = rc ? rc : get_text(j, "excluded", &r->excluded, reterr);
	rc = rc ? rc : get_labels(j, "factors", &r->factors, reterr);
	rc = rc ? rc : get_labels(j, "tags", &r->tags, reterr);
	rc = rc ? rc : read_design(j, r, reterr);
	rc = rc ? rc : read_notes(j, r, reterr);
	rc = rc ? rc : read_all_series(j, r, reterr);
	if (rc)
		return rc;
	r->kind = kind_values[kind];
	r->state = state_values[state];
	return 0;
}

static int copy_object(const json_t *j, const char *key, json_t **ret, struct err *reterr)
{
	const json_t *v = json_object_get(j, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v) || json_object_size(v) > 10000)
		return err_set(reterr, ERR_INVALID, "\"%s\" must be an object", key);
	*ret = json_deep_copy(v);
	return 0;
}

int run_from_json(const json_t *j, struct run **ret, struct err *reterr)
{
	struct run *r CLEANUP(run_freep) = run_new(RUN_IMPORTED);
	int rc;

	if (!json_is_object(j))
		return err_set(reterr, ERR_INVALID, "a run must be a JSON object");
	rc = read_run(j, r, reterr);
	rc = rc ? rc : copy_object(j, "environment", &r->environment, reterr);
	rc = rc ? rc : copy_object(j, "extra", &r->extra, reterr);
	if (rc)
		return rc;
	*ret = TAKE(r);
	return 0;
}
