/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs on their way into the database: bounds, values of distributions, foreign texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include "server/run_store.h"

static const struct run_store_place nowhere = {0};

static json_t *store(struct run *r)
{
	char *text CLEANUP(freep) = NULL;
	struct err err;
	json_t *doc;

	if (run_store_json(r, &nowhere, &text, &err))
		fail_msg("%s", err.text);
	doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	return doc;
}

static const json_t *value_of(const json_t *values, const char *stat)
{
	json_t *v;
	size_t i;

	json_array_foreach(
		(json_t *)values, i,
		v) if (!strcmp(json_string_value(json_object_get(v, "stat")), stat)) return v;
	fail_msg("no %s", stat);
	return NULL;
}

static void add_hist(struct run *r, const char *cpu, int64_t lo, uint64_t n)
{
	struct series *s = run_add_series(r, "wakeup_latency", SERIES_HIST, "ns");
	struct err err;

	labels_set(&s->labels, "cpu", cpu);
	s->hist.scheme = HIST_EDGES;
	assert_int_equal(hist_append(&s->hist, lo, lo + 10, n, &err), 0);
}

static void test_values_of_merged_series(void **state)
{
	struct run *r CLEANUP(run_freep) = run_new(RUN_MEASURED);
	const json_t *merged, *values;
	json_t *doc;

	(void)state;
	add_hist(r, "0", 100, 90);
	add_hist(r, "1", 200, 10);
	r->series[1].hist.overflow = 5;
	r->series[1].hist.count += 5;
	r->series[1].hist.overflow_lo = 1000;
	r->series[0].hist.lost = 7;
	doc = store(r);
	assert_int_equal(json_integer_value(json_object_get(doc, "samples")), 105);
	assert_int_equal(json_integer_value(json_object_get(doc, "lost")), 7);
	assert_int_equal(strlen(json_string_value(json_object_get(doc, "uid"))), 32);
	merged = json_array_get(json_object_get(doc, "merged"), 0);
	values = json_object_get(merged, "values");
	assert_int_equal(json_integer_value(json_object_get(value_of(values, "p50"), "lo")), 100);
	assert_int_equal(json_integer_value(json_object_get(value_of(values, "p50"), "hi")), 109);
	assert_string_equal(json_string_value(json_object_get(value_of(values, "p99"), "answer")),
			    "at_least");
	assert_string_equal(json_string_value(json_object_get(value_of(values, "max"), "answer")),
			    "at_least");
	assert_int_equal(json_integer_value(json_object_get(value_of(values, "max"), "value")),
			 1000);
	assert_string_equal(
		json_string_value(json_object_get(value_of(values, "p99.99"), "answer")),
		"not_resolvable");
	assert_true(json_is_null(json_object_get(value_of(values, "p99.99"), "value")));
	json_decref(doc);
}

static void test_a_summary_has_no_values(void **state)
{
	struct run *r CLEANUP(run_freep) = run_new(RUN_IMPORTED);
	struct series *s = run_add_series(r, "m", SERIES_SUMMARY, "%");
	const json_t *series;
	json_t *doc;

	(void)state;
	s->summary = (struct summary){.n = 10, .avg = 70.231, .has_avg = true};
	doc = store(r);
	series = json_array_get(json_object_get(doc, "series"), 0);
	assert_int_equal(json_integer_value(json_object_get(series, "summary_n")), 10);
	assert_true(json_is_null(json_object_get(series, "summary_min")));
	assert_null(json_object_get(series, "total"));
	assert_int_equal(json_array_size(json_object_get(doc, "merged")), 0);
	json_decref(doc);
}

static void refused(struct run *r, int code)
{
	char *text CLEANUP(freep) = NULL;
	struct err err;

	assert_int_equal(run_store_json(r, &nowhere, &text, &err), code);
	assert_null(text);
}

static void test_bounds(void **state)
{
	struct run *r CLEANUP(run_freep) = run_new(RUN_MEASURED);
	char name[200];

	(void)state;
	refused(r, ERR_INVALID); /* nothing in it */
	add_hist(r, "0", 0, 1);
	memset(name, 'x', sizeof(name));
	name[129] = 0;
	r->host = xstrdup(name);
	refused(r, ERR_INVALID);
	free(r->host);
	r->host = xstrdup("a\nb\x01");
	refused(r, ERR_INVALID);
	free(r->host);
	r->host = NULL;
	r->series[0].hist.count = 5; /* the parts no longer make the count */
	refused(r, ERR_INVALID);
	r->series[0].hist.count = 1;
	for (int i = 0; i < 65; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "k%d", i);
		labels_set(&r->factors, key, "v");
	}
	refused(r, ERR_LIMIT);
}

static void test_foreign_texts_become_clean(void **state)
{
	struct run *r CLEANUP(run_freep) = run_new(RUN_IMPORTED);

	(void)state;
	add_hist(r, "\xff", 0, 1);
	r->host = xstrdup("\xc3(\x01");
	labels_set(&r->factors, "k\xf0\x9f", "gr\xc3\xbc\xc3\x9f");
	run_note(r, "c", "cut in the middle \xe6\x9d");
	run_store_clean(r);
	assert_string_equal(r->host, "?( ");
	assert_string_equal(labels_get(&r->factors, "k??"), "gr\xc3\xbc\xc3\x9f");
	assert_string_equal(r->notes[0].text, "cut in the middle ??");
	assert_string_equal(labels_get(&r->series[0].labels, "cpu"), "?");
	json_decref(store(r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_merged_series),
		cmocka_unit_test(test_a_summary_has_no_values),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_foreign_texts_become_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
