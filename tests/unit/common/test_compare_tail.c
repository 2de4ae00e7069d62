/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The staircase on data with known truth: tests/data/compare/synth-histogram-runs.json, and the
 * 2004 tables with the figures of stat-cases.json (delays-2004-tail, by R and scipy). */
#include "compare_data.h"

static json_t *compare_delays(const char *a, const char *b)
{
	struct compare_options o = default_options();
	struct runs ra = {0}, rb = {0};
	json_t *doc;

	data_import(a, &ra);
	data_import(b, &rb);
	doc = compare_runs(&ra, &rb, &o);
	runs_done(&ra);
	runs_done(&rb);
	return doc;
}

static void test_delays_2004(void **state)
{
	static const struct {
		const char *file;
		double above, p50, max, p_flat, rel, classes[5];
		bool hump;
	} cases[] = {
		{"iozone-64", 28, 12e3, 161e3, 0.416123497289, 1e-9, {9, 5, 6, 3, 4}, false},
		{"iozone-32", 77, 10e3, 132e3, 1.83635259536e-14, 1e-9, {1, 34, 31, 9, 1}, true},
		{"iozone-16", 58, 10e3, 101e3, 0.0230625155764, 1e-9, {11, 17, 14, 13, 2}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char file[80];
		json_t *doc, *h;

		snprintf(file, sizeof(file), "wakeup-delay-2004/%s.txt", cases[i].file);
		doc = compare_delays("wakeup-delay-2004/iozone-64.txt", file);
		h = at_path(doc, "tail/hypothesis/b");
		assert_string_equal(text_at(doc, "verdict/word"), "not_enough_runs");
		assert_true(num_at(doc, "b/samples") == 10400);
		assert_true(num_at(doc, "tail/threshold_ns") == 47000);
		assert_true(num_at(doc, "tail/b/above") == cases[i].above);
		assert_true(num_at(row_of(doc, "p50"), "b/avg") == cases[i].p50);
		assert_true(num_at(row_of(doc, "max"), "b/avg") == cases[i].max);
		assert_near(num_at(h, "p_flat") / cases[i].p_flat, 1, cases[i].rel);
		for (size_t k = 0; k < 5; k++)
			assert_true(json_number_value(json_object_get(
					    json_array_get(json_object_get(h, "classes"), k),
					    "n")) == cases[i].classes[k]);
		assert_true(json_is_object(json_object_get(h, "hump")) == cases[i].hump);
		assert_non_null(strstr(text_at(doc, "tail/hypothesis/text"), "not a verdict"));
		json_decref(doc);
	}
}

static void test_hump_of_32(void **state)
{
	json_t *doc = compare_delays("wakeup-delay-2004/iozone-64.txt",
				     "wakeup-delay-2004/iozone-32.txt");

	(void)state;
	/* The dense classes hold the window 65..94 us that a reader of the table chose. */
	assert_true(num_at(doc, "tail/hypothesis/b/hump/from") == 65000);
	assert_true(num_at(doc, "tail/hypothesis/b/hump/to") >= 95000);
	/* Naive ratio of counts as R's poisson.test gives it. */
	assert_near(num_at(doc, "tail/naive_ratio/ratio"), 2.75, 1e-9);
	assert_near(num_at(doc, "tail/naive_ratio/ci/0"), 1.76352451173, 1e-6);
	assert_near(num_at(doc, "tail/naive_ratio/ci/1"), 4.40322586883, 1e-6);
	json_decref(doc);
}

/* One step of the staircase near `length`; its interval holds the truth. */
static void assert_section(json_t *side, double length_us)
{
	size_t i;
	json_t *s;

	json_array_foreach(json_object_get(side, "sections"), i, s)
	{
		if (fabs(num_at(s, "length") / 1000 - length_us) > 1.01)
			continue;
		assert_true(json_is_true(json_object_get(s, "stable")));
		assert_true(num_at(s, "length_ci/0") / 1000 <= length_us + 1e-9);
		assert_true(num_at(s, "length_ci/1") / 1000 >= length_us - 1e-9);
		return;
	}
	fail_msg("no section of %g us: %s", length_us, json_dumps(side, 0));
}

static void test_known_sections(void **state)
{
	struct compare_options o = default_options();
	struct runs all = {0}, a, b;
	json_t *doc;

	(void)state;
	synth_hists(&all);
	a = with_level(&all, "arm", "A");
	b = with_level(&all, "arm", "B");
	doc = compare_runs(&a, &b, &o);
	assert_section(at_path(doc, "tail/hypothesis/a"), 42);
	assert_section(at_path(doc, "tail/hypothesis/a"), 60);
	assert_section(at_path(doc, "tail/hypothesis/b"), 42);
	assert_section(at_path(doc, "tail/hypothesis/b"), 46);
	assert_int_equal(json_array_size(at_path(doc, "tail/hypothesis/a/sections")), 2);
	assert_int_equal(json_array_size(at_path(doc, "tail/hypothesis/b/sections")), 2);
	json_decref(doc);
	free(a.v);
	free(b.v);
	runs_done(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delays_2004),
		cmocka_unit_test(test_hump_of_32),
		cmocka_unit_test(test_known_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
