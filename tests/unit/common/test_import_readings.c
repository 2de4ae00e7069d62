/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every sample file against its right reading: tests/data/samples/readings.json, which was made by
 * reading the files independently (readings.py), never from our output.
 *
 * An entry is {"file", "text"? (the bytes, when there is no file), "options"?, "format", "runs",
 * "series": [...], "notes": [...]} or
 * {"file", "error": "part of the message"}. A series names what to look for: run (index), metric,
 * labels; and what must hold: kind, unit, count, overflow, negative, min, max, value, state,
 * reason (part), summary, omission, resolution, interval, q: {"0.99": [lo, hi] | ">=n"}. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/import/import.h"

static int failures;

#define FAIL(file, ...)                                                                            \
	do {                                                                                       \
		(void)fprintf(stderr, "%s: ", file);                                               \
		(void)fprintf(stderr, __VA_ARGS__);                                                \
		(void)fputc('\n', stderr);                                                         \
		failures++;                                                                        \
	} while (0)

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *data;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	/* An exact allocation lets ASan see a read past the end. */
	data = xcalloc(1, (size_t)st.st_size ? (size_t)st.st_size : 1);
	*ret_len = fread(data, 1, (size_t)st.st_size, f);
	assert_int_equal(*ret_len, st.st_size);
	(void)fclose(f);
	return data;
}

static struct import_options options_of(const json_t *entry, const char *file)
{
	const json_t *j = json_object_get(entry, "options");
	struct import_options o = {
		.source = file,
		.format = json_string_value(json_object_get(j, "format")),
		.metric = json_string_value(json_object_get(j, "metric")),
		.unit_ns = json_integer_value(json_object_get(j, "unit_ns")),
		.overflow_lo_ns = json_integer_value(json_object_get(j, "overflow_lo_ns")),
		.interval_ns = json_integer_value(json_object_get(j, "interval_ns")),
	};

	return o;
}

static bool labels_match(const struct labels *l, const json_t *wanted)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)wanted, key, v)
	{
		const char *have = labels_get(l, key);

		if (!have || strcmp(have, json_string_value(v)))
			return false;
	}
	return true;
}

static const struct series *find_series(const struct run *r, const json_t *wanted)
{
	const char *metric = json_string_value(json_object_get(wanted, "metric"));

	for (size_t i = 0; i < r->series_len; i++)
		if (!strcmp(r->series[i].metric, metric) &&
		    labels_match(&r->series[i].labels, json_object_get(wanted, "labels")))
			return &r->series[i];
	return NULL;
}

static void check_int(const char *file, const json_t *wanted, const char *key, bool has,
		      int64_t got)
{
	const json_t *v = json_object_get(wanted, key);

	if (json_is_null(v) && has)
		FAIL(file, "%s is %lld, but must not be known", key, (long long)got);
	else if (json_is_integer(v) && !has)
		FAIL(file, "%s is not known", key);
	else if (json_is_integer(v) && json_integer_value(v) != got)
		FAIL(file, "%s is %lld, not %lld", key, (long long)got, json_integer_value(v));
}

static void check_text(const char *file, const json_t *wanted, const char *key, const char *got)
{
	const char *v = json_string_value(json_object_get(wanted, key));

	if (v && strcmp(v, got ? got : ""))
		FAIL(file, "%s is '%s', not '%s'", key, got ? got : "", v);
}

static void check_quantiles(const char *file, const json_t *wanted, const struct hist *h)
{
	const char *key;
	json_t *v;

	json_object_foreach(json_object_get(wanted, "q"), key, v)
	{
		struct hist_quantile q = hist_quantile(h, strtod(key, NULL));
		const char *text = json_string_value(v);
		bool right;

		if (text && !strcmp(text, "not resolvable"))
			right = q.answer == HIST_NOT_RESOLVABLE;
		else if (text)
			right = q.answer == HIST_AT_LEAST && q.lo == strtoll(text + 2, NULL, 10);
		else
			right = q.answer == HIST_VALUE &&
				q.lo == json_integer_value(json_array_get(v, 0)) &&
				q.hi == json_integer_value(json_array_get(v, 1));
		if (!right)
			FAIL(file, "quantile %s is [%lld, %lld] (answer %d)", key, (long long)q.lo,
			     (long long)q.hi, q.answer);
	}
}

static void check_number(const char *file, const json_t *wanted, const char *key, bool has,
			 double got)
{
	const json_t *v = json_object_get(wanted, key);
	double want = json_number_value(v);

	if (json_is_null(v) && has)
		FAIL(file, "%s is %g, but must not be known", key, got);
	else if (json_is_number(v) && (!has || fabs(got - want) > 1e-9 * fabs(want)))
		FAIL(file, "%s is %.12g, not %.12g", key, has ? got : NAN, want);
}

static void check_summary(const char *file, const json_t *wanted, const struct summary *s)
{
	if (!wanted)
		return;
	check_int(file, wanted, "n", true, (int64_t)s->n);
	check_number(file, wanted, "min", s->has_min, s->min);
	check_number(file, wanted, "avg", s->has_avg, s->avg);
	check_number(file, wanted, "max", s->has_max, s->max);
	check_number(file, wanted, "sdev", s->has_sdev, s->sdev);
}

static void check_series(const char *file, const struct runs *rs, const json_t *wanted)
{
	static const char *const states[] = {"exact", "estimated", "doubtful"};
	size_t run = (size_t)json_integer_value(json_object_get(wanted, "run"));
	const char *reason = json_string_value(json_object_get(wanted, "reason"));
	const struct series *s = run < rs->len ? find_series(rs->v[run], wanted) : NULL;
	char *text = json_dumps(wanted, JSON_COMPACT);
	int before = failures;

	if (!s) {
		FAIL(file, "no series for %s", text);
		free(text);
		return;
	}
	check_text(file, wanted, "kind", series_kind_name(s->kind));
	check_text(file, wanted, "unit", s->unit);
	check_text(file, wanted, "omission", omission_name(s->omission));
	check_text(file, wanted, "state", states[s->state]);
	check_int(file, wanted, "interval", true, s->interval_ns);
	check_int(file, wanted, "resolution", true, s->resolution_ns);
	check_int(file, wanted, "count", true, (int64_t)s->hist.count);
	check_int(file, wanted, "overflow", true, (int64_t)s->hist.overflow);
	check_int(file, wanted, "overflow_lo", true, s->hist.overflow_lo);
	check_int(file, wanted, "negative", true, (int64_t)s->hist.negative);
	check_int(file, wanted, "lost", true, (int64_t)s->hist.lost);
	check_int(file, wanted, "buckets", true, (int64_t)s->hist.len);
	check_int(file, wanted, "min", s->hist.has_min, s->hist.min);
	check_int(file, wanted, "max", s->hist.has_max, s->hist.max);
	check_number(file, wanted, "value", s->kind == SERIES_VALUE, s->value);
	check_summary(file, json_object_get(wanted, "summary"), &s->summary);
	check_quantiles(file, wanted, &s->hist);
	if (reason && (!s->reason || !strstr(s->reason, reason)))
		FAIL(file, "the reason is '%s', not '%s'", s->reason ? s->reason : "", reason);
	if (failures > before)
		(void)fprintf(stderr, "  wanted: %s\n", text);
	free(text);
}

/* All series of a metric in one run, merged: what a page shows first. */
static void check_merged(const char *file, const struct run *r, const json_t *wanted)
{
	const char *metric = json_string_value(json_object_get(wanted, "metric"));
	struct hist sum = {0};
	struct err err;
	bool first = true;

	if (!wanted)
		return;
	for (size_t i = 0; i < r->series_len; i++) {
		if (strcmp(r->series[i].metric, metric))
			continue;
		if (first)
			hist_copy(&sum, &r->series[i].hist);
		else if (hist_merge(&sum, &r->series[i].hist, &err))
			FAIL(file, "merge: %s", err.text);
		first = false;
	}
	check_int(file, wanted, "count", true, (int64_t)sum.count);
	check_int(file, wanted, "overflow", true, (int64_t)sum.overflow);
	check_quantiles(file, wanted, &sum);
	hist_done(&sum);
}

static void check_notes(const char *file, const json_t *entry, const struct run *r)
{
	const json_t *wanted = json_object_get(entry, "notes");

	for (size_t i = 0; i < json_array_size(wanted); i++) {
		const char *code = json_string_value(json_array_get(wanted, i));
		bool found = false;

		for (size_t k = 0; k < r->notes_len; k++)
			found |= !strcmp(r->notes[k].code, code);
		if (!found)
			FAIL(file, "no note %s", code);
	}
	if (wanted && r->notes_len != json_array_size(wanted))
		FAIL(file, "%zu notes, not %zu", r->notes_len, json_array_size(wanted));
}

static void check_factors(const char *file, const json_t *entry, const struct runs *rs)
{
	const json_t *list = json_object_get(entry, "factors");

	for (size_t i = 0; i < json_array_size(list); i++)
		if (i >= rs->len || !labels_match(&rs->v[i]->factors, json_array_get(list, i)))
			FAIL(file, "the factors of run %zu are wrong", i);
}

/* Whatever was read survives our own JSON form. */
static void check_round_trip(const char *file, const struct run *r)
{
	json_t *j = run_to_json(r);
	struct run *back = NULL;
	struct err err = {0};
	json_t *again;

	if (run_from_json(j, &back, &err)) {
		FAIL(file, "round trip: %s", err.text);
		json_decref(j);
		return;
	}
	again = run_to_json(back);
	if (!json_equal(j, again))
		FAIL(file, "the run changes when it is written and read as JSON");
	json_decref(again);
	json_decref(j);
	run_free(back);
}

/* The file's bytes, or the entry's own text. */
static char *bytes_of(const char *dir, const json_t *entry, size_t *ret_len)
{
	const json_t *text = json_object_get(entry, "text");
	char *path, *data;

	if (text) {
		*ret_len = json_string_length(text);
		data = xcalloc(1, *ret_len ? *ret_len : 1);
		memcpy(data, json_string_value(text), *ret_len);
		return data;
	}
	path = xasprintf("%s/%s", dir, json_string_value(json_object_get(entry, "file")));
	data = read_file(path, ret_len);
	free(path);
	return data;
}

static void check_entry(const char *dir, const json_t *entry)
{
	const char *file = json_string_value(json_object_get(entry, "file"));
	const char *error = json_string_value(json_object_get(entry, "error"));
	const json_t *list = json_object_get(entry, "series"),
		     *runs = json_object_get(entry, "runs");
	struct import_options o = options_of(entry, file);
	struct import_result result;
	struct err err = {0};
	size_t len;
	char *data = bytes_of(dir, entry, &len);
	int rc = import_bytes(data, len, &o, &result, &err);

	if (error && !rc)
		FAIL(file, "must be refused (%s), but was read as %s", error, result.format);
	else if (error && !strstr(err.text, error))
		FAIL(file, "refused with '%s', not '%s'", err.text, error);
	else if (!error && rc)
		FAIL(file, "refused: %s", err.text);
	if (!error && !rc) {
		check_text(file, entry, "format", result.format);
		if (runs && (size_t)json_integer_value(runs) != result.runs.len)
			FAIL(file, "%zu runs, not %lld", result.runs.len, json_integer_value(runs));
		for (size_t i = 0; i < json_array_size(list); i++)
			check_series(file, &result.runs, json_array_get(list, i));
		if (result.runs.len) {
			check_merged(file, result.runs.v[0], json_object_get(entry, "merged"));
			check_notes(file, entry, result.runs.v[0]);
		}
		check_factors(file, entry, &result.runs);
		for (size_t i = 0; i < result.runs.len; i++)
			check_round_trip(file, result.runs.v[i]);
	}
	import_result_done(&result);
	free(data);
}

static json_t *load_table(const char *dir)
{
	char *path = xasprintf("%s/samples/readings.json", dir);
	json_error_t err;
	json_t *table = json_load_file(path, 0, &err);

	if (!table)
		fail_msg("%s: %s (line %d)", path, err.text, err.line);
	free(path);
	return table;
}

static void test_readings(void **state)
{
	json_t *table = load_table(TEST_DATA);

	(void)state;
	assert_true(json_array_size(table) > 0);
	failures = 0;
	for (size_t i = 0; i < json_array_size(table); i++)
		check_entry(TEST_DATA, json_array_get(table, i));
	json_decref(table);
	assert_int_equal(failures, 0);
}

/* Every file below tests/data/samples has an entry. */
static void find_missing(const json_t *table, const char *relative)
{
	char *path = xasprintf("%s/%s", TEST_DATA, relative);
	DIR *d = opendir(path);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char *child = xasprintf("%s/%s", relative, e->d_name);
		bool found = e->d_name[0] == '.' || !strncmp(e->d_name, "readings.", 9) ||
			     !strcmp(e->d_name, "INDEX.md");

		if (!found && e->d_type == DT_DIR) {
			find_missing(table, child);
			found = true;
		}
		for (size_t i = 0; !found && i < json_array_size(table); i++)
			found = !strcmp(json_string_value(
						json_object_get(json_array_get(table, i), "file")),
					child);
		if (!found)
			FAIL(child, "has no entry in readings.json");
		free(child);
	}
	(void)closedir(d);
	free(path);
}

static void test_complete(void **state)
{
	json_t *table = load_table(TEST_DATA);

	(void)state;
	failures = 0;
	find_missing(table, "samples");
	json_decref(table);
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
