/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change points on series with known truth (tests/data/compare/INDEX.md) and on made ones. Rates of
 * false and missed calls: tests/bench/changepoint_rates.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "common/stats/changepoint.h"
#include "common/stats/rng.h"

#define N_MAX 500

static size_t load_csv(const char *name, double *x)
{
	char path[300], line[100];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/compare/%s", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f)); /* index,value */
	while (fgets(line, sizeof(line), f)) {
		char *comma = strchr(line, ',');

		assert_non_null(comma);
		assert_true(n < N_MAX && (size_t)atoi(line) == n);
		x[n++] = strtod(comma + 1, NULL);
	}
	fclose(f);
	assert_true(n >= 50);
	return n;
}

static struct changepoint_result find(const double *x, size_t n)
{
	struct changepoint_options o = {.seed = 1};
	struct changepoint_result c;
	struct err err;

	if (changepoint_find(x, n, &o, &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void test_step_with_spikes(void **state)
{
	double x[N_MAX];
	size_t n = load_csv("synth-series-step-spikes.csv", x);
	struct changepoint_result c = find(x, n);

	(void)state;
	assert_int_equal(c.reading, CHANGEPOINT_STEPS);
	assert_int_equal(c.steps, 1);
	assert_int_equal(c.step[0].at, 70);
	assert_true(c.step[0].lo <= 70 && c.step[0].hi >= 70 && c.step[0].hi - c.step[0].lo < 6);
	assert_true(fabs(c.step[0].rel - 0.04) < 0.01);
	assert_true(c.step[0].p <= 0.01 && c.step[0].p > 0);
	assert_int_equal(c.outliers, 3);
	assert_int_equal(c.outlier[0], 22);
	assert_int_equal(c.outlier[1], 51);
	assert_int_equal(c.outlier[2], 95);
}

static void test_bimodal_is_no_change(void **state)
{
	double x[N_MAX];
	size_t n = load_csv("synth-series-bimodal-stationary.csv", x);
	struct changepoint_result c = find(x, n);

	(void)state;
	assert_int_equal(c.reading, CHANGEPOINT_NONE);
	assert_int_equal(c.steps, 0);
	assert_int_equal(c.outliers, 0); /* the second mode is not an outlier */
}

static void test_slow_drift_is_not_steps(void **state)
{
	double x[N_MAX];
	size_t n = load_csv("synth-series-slow-drift.csv", x);
	struct changepoint_result c = find(x, n);

	(void)state;
	assert_int_equal(c.reading, CHANGEPOINT_DRIFT);
	assert_int_equal(c.steps, 0);
	assert_true(fabs(c.drift_per_point - 0.05) < 0.005 && c.drift_p < 1e-6);
}

/* R's Nile: one change, 1899 the first year of the new regime. */
static void test_nile(void **state)
{
	json_t *doc = json_load_file(TEST_DATA "/stat-cases.json", 0, NULL), *spec;
	double x[N_MAX];
	size_t i, k, n = 0;
	json_t *v;

	(void)state;
	json_array_foreach(json_object_get(doc, "cases"), i, spec)
	{
		const char *id = json_string_value(json_object_get(spec, "id"));
		const json_t *in = json_object_get(json_object_get(spec, "input"), "x");
		struct changepoint_result c;

		if (strcmp(id, "ls-segmentation-nile") != 0)
			continue;
		json_array_foreach(in, k, v) x[n++] = json_number_value(v);
		c = find(x, n);
		assert_int_equal(c.reading, CHANGEPOINT_STEPS);
		assert_int_equal(c.steps, 1);
		assert_int_equal(c.step[0].at, 28);
	}
	assert_int_equal(n, 100);
	json_decref(doc);
}

static void make_steps(double *x, size_t n, const double *level, size_t levels, uint64_t seed)
{
	struct rng r;

	rng_init(&r, seed);
	for (size_t i = 0; i < n; i++)
		x[i] = level[i * levels / n] + rng_normal(&r);
}

static void test_several_steps(void **state)
{
	static const double level[] = {100, 104, 101, 110};
	double x[160];
	struct changepoint_result c;

	(void)state;
	make_steps(x, 160, level, 4, 5);
	c = find(x, 160);
	assert_int_equal(c.reading, CHANGEPOINT_STEPS);
	assert_int_equal(c.steps, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_in_range(c.step[i].at, 40 * (i + 1) - 2, 40 * (i + 1) + 2);
		assert_true(fabs(c.step[i].before - level[i]) < 0.8);
		assert_true(fabs(c.step[i].after - level[i + 1]) < 0.8);
	}
}

static void test_small_steps_are_left_out(void **state)
{
	static const double level[] = {100, 104, 101, 130};
	struct changepoint_options o = {.seed = 1, .min_rel = 0.1};
	struct changepoint_result c;
	struct err err;
	double x[160];

	(void)state;
	make_steps(x, 160, level, 4, 6);
	assert_int_equal(changepoint_find(x, 160, &o, &c, &err), 0);
	assert_int_equal(c.steps, 1);
	assert_in_range(c.step[0].at, 119, 121);
}

static void test_short_and_degenerate(void **state)
{
	double x[200] = {0};
	struct changepoint_options bad = {.alpha = 0.01, .draws = 50};
	struct changepoint_result c;
	struct err err;

	(void)state;
	c = find(x, 0);
	assert_int_equal(c.reading, CHANGEPOINT_SHORT);
	c = find(x, 15);
	assert_int_equal(c.reading, CHANGEPOINT_SHORT);
	assert_int_equal(c.needed, 20);
	c = find(x, 200); /* all equal */
	assert_int_equal(c.reading, CHANGEPOINT_NONE);
	for (size_t i = 100; i < 200; i++)
		x[i] = 1; /* a step without any noise */
	c = find(x, 200);
	assert_int_equal(c.reading, CHANGEPOINT_STEPS);
	assert_int_equal(c.steps, 1);
	assert_int_equal(c.step[0].at, 100);
	assert_true(isnan(c.step[0].rel)); /* from 0 */
	for (size_t i = 0; i < 200; i++)
		x[i] = (double)i; /* a line without any noise */
	c = find(x, 200);
	assert_int_equal(c.reading, CHANGEPOINT_DRIFT);
	x[7] = NAN;
	assert_int_equal(changepoint_find(x, 200, NULL, &c, &err), ERR_INVALID);
	assert_non_null(strstr(err.text, "x[7]"));
	x[7] = 7;
	assert_int_equal(changepoint_find(x, 200, &bad, &c, &err), ERR_LIMIT);
	assert_non_null(strstr(err.text, "99"));
}

/* A slow wave: neighbours are alike, so 60 points are few, and its crests are not steps. */
static void test_dependence_makes_it_short(void **state)
{
	double x[60];
	struct changepoint_result c;
	struct rng r;

	(void)state;
	rng_init(&r, 8);
	for (size_t i = 0; i < 60; i++)
		x[i] = 100 + 3 * sin((double)i / 3) + 0.5 * rng_normal(&r);
	c = find(x, 60);
	assert_int_equal(c.reading, CHANGEPOINT_SHORT);
	assert_true(c.needed > 60 && c.lag1 > 0.5);
}

static void test_same_seed_same_answer(void **state)
{
	double x[N_MAX];
	size_t n = load_csv("synth-series-step-spikes.csv", x);
	struct changepoint_result a = find(x, n), b = find(x, n);

	(void)state;
	assert_true(a.step[0].p == b.step[0].p && a.step[0].q == b.step[0].q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_with_spikes),
		cmocka_unit_test(test_bimodal_is_no_change),
		cmocka_unit_test(test_slow_drift_is_not_steps),
		cmocka_unit_test(test_nile),
		cmocka_unit_test(test_several_steps),
		cmocka_unit_test(test_small_steps_are_left_out),
		cmocka_unit_test(test_short_and_degenerate),
		cmocka_unit_test(test_dependence_makes_it_short),
		cmocka_unit_test(test_same_seed_same_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
