/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What else differed: classes, what the factor implies, differences inside a side, methods. */
#include "compare_data.h"

static struct run *run_with(double v, uint32_t order, const char *level, const char *facts)
{
	struct run *r = value_run("elapsed", v, order);

	labels_set(&r->factors, "rq_affinity", level);
	r->environment = json_loads(facts, 0, NULL);
	assert_non_null(r->environment);
	return r;
}

static json_t *compare_facts(const char *facts_a, const char *facts_b,
			     const struct compare_options *o)
{
	struct runs a = {0}, b = {0};
	json_t *doc;

	for (uint32_t i = 0; i < 5; i++) {
		runs_add(&a, run_with(10 + i * 0.01, 2 * i + 1, "0", facts_a));
		runs_add(&b, run_with(9 + i * 0.01, 2 * i + 2, "1", facts_b));
	}
	doc = compare_runs(&a, &b, o);
	runs_done(&a);
	runs_done(&b);
	return doc;
}

static size_t count_of(json_t *doc, const char *list)
{
	return json_array_size(json_object_get(at_path(doc, "environment"), list));
}

static void test_classes(void **state)
{
	static const struct {
		const char *a, *b;
		size_t blocking, intended, unexpected, equal;
		const char *word;
	} cases[] = {
		{"{\"cpu.model\":\"X\"}", "{\"cpu.model\":\"X\"}", 0, 0, 0, 1, "better"},
		{"{\"cpu.model\":\"X\"}", "{\"cpu.model\":\"Y\"}", 1, 0, 0, 0, "not_comparable"},
		{"{\"cpu.microcode\":\"1\"}", "{\"cpu.microcode\":\"2\"}", 0, 0, 1, 0, "better"},
		{"{\"cpu.microcode\":\"1\"}", "{}", 0, 0, 0, 0, "better"},
		{"{\"cpu.microcode\":\"1\",\"x\":1}", "{\"x\":1}", 0, 0, 1, 1, "better"},
		{"{\"block.vda.queue.rq_affinity\":0}", "{\"block.vda.queue.rq_affinity\":1}", 0, 1,
		 0, 0, "better"},
		{"{\"cpu.mhz\":2000}", "{\"cpu.mhz\":2010}", 0, 0, 0, 1, "better"},
		{"{\"cpu.mhz\":2000}", "{\"cpu.mhz\":2100}", 0, 0, 1, 0, "better"},
		{"{\"uptime\":5}", "{\"uptime\":999}", 0, 0, 0, 0, "better"},
	};
	struct compare_options o = default_options();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *doc = compare_facts(cases[i].a, cases[i].b, &o);

		assert_int_equal(count_of(doc, "blocking"), cases[i].blocking);
		assert_int_equal(count_of(doc, "intended"), cases[i].intended);
		assert_int_equal(count_of(doc, "unexpected"), cases[i].unexpected);
		assert_true(num_at(doc, "environment/equal") == (double)cases[i].equal);
		assert_string_equal(text_at(doc, "verdict/word"), cases[i].word);
		json_decref(doc);
	}
}

static void test_anyway(void **state)
{
	struct compare_options o = default_options();
	json_t *doc;

	(void)state;
	o.anyway = true;
	doc = compare_facts("{\"cpu.model\":\"X\"}", "{\"cpu.model\":\"Y\"}", &o);
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_true(has_reason(doc, "compared_anyway"));
	assert_int_equal(count_of(doc, "blocking"), 1);
	json_decref(doc);
}

static void test_within(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		runs_add(&a, run_with(10 + i * 0.01, 2 * i + 1, "0", "{\"cpu.microcode\":\"1\"}"));
		runs_add(&b, run_with(9 + i * 0.01, 2 * i + 2, "1",
				      i < 3 ? "{\"cpu.microcode\":\"1\"}"
					    : "{\"cpu.microcode\":\"2\"}"));
	}
	doc = compare_runs(&a, &b, &o);
	assert_int_equal(count_of(doc, "within"), 1);
	assert_string_equal(text_at(doc, "environment/within/0/side"), "b");
	assert_true(has_reason(doc, "differs_within"));
	assert_int_equal(json_array_size(at_path(doc, "environment/within/0/values")), 2);
	assert_int_equal(count_of(doc, "unexpected"), 1);
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

/* A method is never compared with another one, whatever is asked. */
static void test_methods(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	o.anyway = true;
	for (uint32_t i = 0; i < 5; i++) {
		runs_add(&a, run_with(10 + i * 0.01, 2 * i + 1, "0", "{}"));
		runs_add(&b, run_with(9 + i * 0.01, 2 * i + 2, "1", "{}"));
		a.v[i]->series[0].method = xstrdup("rigstat-wakeup/1");
		b.v[i]->series[0].method = xstrdup("rigstat-wakeup/2");
	}
	doc = compare_runs(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_true(has_reason(doc, "different_methods"));
	assert_true(json_is_null(at_path(doc, "rows/0/delta/rel")));
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

/* Samples beyond the range are a bound, never the edge's value; unlike grids go to the coarser. */
static struct run *hist_run(enum hist_scheme scheme, int64_t width, uint64_t over)
{
	struct run *r = run_new(RUN_MEASURED);
	struct series *s = run_add_series(r, "wakeup_latency", SERIES_HIST, "ns");
	struct err e;

	r->state = RUN_OK;
	s->hist.scheme = scheme;
	s->hist.width = scheme == HIST_LINEAR ? width : 0;
	for (int64_t k = 0; k < 12000 / width; k++)
		assert_int_equal(hist_append(&s->hist, k * width, (k + 1) * width,
					     (uint64_t)(100 * width / 1000), &e),
				 0);
	s->hist.overflow = over;
	s->hist.overflow_lo = over ? 12000 : 0;
	s->hist.count += over;
	return r;
}

static void test_overflow_and_grids(void **state)
{
	const char *stats[] = {"p50", "p99", NULL};
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	o.stats = stats;
	o.primary = "p50";
	for (int i = 0; i < 4; i++) {
		runs_add(&a, hist_run(HIST_LINEAR, 1000, 100));
		runs_add(&b, hist_run(HIST_LINEAR, 4000, 0));
	}
	doc = compare_runs(&a, &b, &o);
	assert_string_equal(text_at(row_of(doc, "p99"), "delta/reading"), "not_resolvable");
	assert_true(json_is_true(at_path(row_of(doc, "p99"), "a/at_least")));
	assert_true(num_at(row_of(doc, "p99"), "a/avg") == 12000);
	assert_true(has_reason(doc, "grids_differ"));
	assert_true(has_reason(doc, "overflow"));
	assert_int_equal(json_array_size(at_path(doc, "charts/histogram/a/lo")), 3);
	assert_int_equal(json_array_size(at_path(doc, "charts/histogram/b/lo")), 3);
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_anyway),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_overflow_and_grids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
