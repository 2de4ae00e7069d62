/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules and their judgements. Intervals of the made document are written by hand. */
#include "common/compare/gate.h"

#include "compare_data.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text, *stat;
		bool at_most;
		int kind;
		double limit;
	} good[] = {
		{"p99<=+5%", "p99", true, GATE_RELATIVE, 0.05},
		{"mean>=-2%", "mean", false, GATE_RELATIVE, -0.02},
		{"max<=200us", "max", true, GATE_ABSOLUTE, 200000},
		{"mean <= 70.5", "mean", true, GATE_ABSOLUTE, 70.5},
		{"over(100us)<=1/h", "over(100us)", true, GATE_PER_HOUR, 1},
		{"p99.99<=1.5ms", "p99.99", true, GATE_ABSOLUTE, 1500000},
	};
	static const char *const bad[] = {
		"",	    "p99",	 "p99<5%",	"p99<=",   "<=5%",     "p99<=x%",
		"p99<=5%%", "mean<=1/h", "max<=200usx", "p99==5%", "p99<=nan%"};
	struct gate_rule r;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (gate_rule_parse(good[i].text, &r, &e) < 0)
			fail_msg("%s: %s", good[i].text, e.text);
		assert_string_equal(r.stat, good[i].stat);
		assert_int_equal(r.at_most, good[i].at_most);
		assert_int_equal(r.kind, good[i].kind);
		assert_near(r.limit, good[i].limit, 1e-9 * fabs(good[i].limit));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (gate_rule_parse(bad[i], &r, &e) == 0)
			fail_msg("\"%s\" was accepted", bad[i]);
}

/* A document with one row: B is `rel` above A with that interval, lost samples, a verdict. */
static json_t *made(const char *word, double rel, double lo, double hi, int lost)
{
	return json_pack("{s:f,s:{s:i,s:i},s:{s:i,s:i,s:s},s:{s:s,s:[{s:s,s:s}]},"
			 "s:[{s:s,s:s,s:{s:i,s:f},s:{s:i,s:f,s:f,s:f,s:f},s:{s:f,s:[f,f]}}]}",
			 "confidence", 0.95, "a", "samples", 1000000, "lost", 0, "b", "samples",
			 1000000, "lost", lost, "name", "B", "verdict", "word", word, "reasons",
			 "code", "why", "text", "because", "rows", "stat", "p99", "unit", "ns", "a",
			 "n", 10, "avg", 100000.0, "b", "n", 10, "avg", 100000 * (1 + rel), "sdev",
			 1000.0, "min", 90000.0, "max", 120000.0, "delta", "rel", rel, "ci_rel", lo,
			 hi);
}

static void test_modes(void **state)
{
	static const struct {
		double rel, lo, hi;
		const char *rule;
		enum gate_result normal, strict, prove;
	} cases[] = {
		{0.02, 0.01, 0.03, "p99<=+5%", GATE_PASS, GATE_PASS, GATE_PASS},
		{0.08, 0.06, 0.10, "p99<=+5%", GATE_FAIL, GATE_FAIL, GATE_FAIL},
		{0.04, 0.01, 0.07, "p99<=+5%", GATE_INCONCLUSIVE, GATE_INCONCLUSIVE, GATE_FAIL},
		{0.06, 0.03, 0.09, "p99<=+5%", GATE_INCONCLUSIVE, GATE_FAIL, GATE_FAIL},
		{-0.01, -0.015, 0.0, "p99>=-2%", GATE_PASS, GATE_PASS, GATE_PASS},
		{-0.05, -0.06, -0.03, "p99>=-2%", GATE_FAIL, GATE_FAIL, GATE_FAIL},
		/* of B alone: 10 runs, sdev 1000: half a width of 715 (qt(.975, 9) / sqrt(10)) */
		{0.0, 0, 0, "p99<=100716ns", GATE_PASS, GATE_PASS, GATE_PASS},
		{0.0, 0, 0, "p99<=100714ns", GATE_INCONCLUSIVE, GATE_INCONCLUSIVE, GATE_FAIL},
		{0.0, 0, 0, "p99<=99284ns", GATE_FAIL, GATE_FAIL, GATE_FAIL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (int mode = GATE_NORMAL; mode <= GATE_PROVE; mode++) {
			json_t *doc = made("unclear", cases[i].rel, cases[i].lo, cases[i].hi, 0);
			enum gate_result want[] = {cases[i].normal, cases[i].strict,
						   cases[i].prove};
			enum gate_result got;
			struct err e;

			assert_int_equal(
				gate_apply(doc, &cases[i].rule, 1, (enum gate_mode)mode, &got, &e),
				0);
			if (got != want[mode])
				fail_msg("case %zu mode %d: %s", i, mode, gate_result_name(got));
			json_decref(doc);
		}
	}
}

static void test_blocked_and_lost(void **state)
{
	const char *rule = "p99<=+5%", *unknown = "p50<=+5%";
	json_t *doc = made("not_comparable", 0.5, 0.4, 0.6, 0);
	enum gate_result got;
	struct err e;

	(void)state;
	assert_int_equal(gate_apply(doc, &rule, 1, GATE_NORMAL, &got, &e), 0);
	assert_int_equal(got, GATE_INCONCLUSIVE);
	assert_string_equal(text_at(doc, "gate/blocked_by/0/code"), "why");
	json_decref(doc);

	doc = made("better", -0.1, -0.2, -0.05, 5000); /* half a percent lost */
	assert_int_equal(gate_apply(doc, &rule, 1, GATE_NORMAL, &got, &e), 0);
	assert_int_equal(got, GATE_INCONCLUSIVE);
	json_decref(doc);

	doc = made("worse", 0.5, 0.4, 0.6, 5000); /* ... but a failure stays one */
	assert_int_equal(gate_apply(doc, &rule, 1, GATE_NORMAL, &got, &e), 0);
	assert_int_equal(got, GATE_FAIL);
	assert_true(gate_apply(doc, &unknown, 1, GATE_NORMAL, &got, &e) < 0);
	assert_non_null(strstr(e.text, "p50"));
	json_decref(doc);
}

/* Counts of a part of the time are shown, and no rule passes or fails by them. */
static void test_doubtful(void **state)
{
	static const char *const sides[] = {"a", "b"};
	static const char *const rules[] = {"p99<=+5%", "p99<=+0.1%", "p99<=1ms"};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sides); k++)
		for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
			json_t *doc = made("worse", 0.02, 0.01, 0.03, 0);
			enum gate_result got;
			struct err e;

			json_object_set_new(json_object_get(doc, sides[k]), "doubtful",
					    json_integer(1));
			assert_int_equal(gate_apply(doc, &rules[i], 1, GATE_NORMAL, &got, &e), 0);
			assert_int_equal(got, GATE_INCONCLUSIVE);
			assert_non_null(strstr(text_at(doc, "gate/rules/0/why"), "doubtful"));
			json_decref(doc);
		}
}

static void test_list(void **state)
{
	json_t *one = made("same", 0.0, -0.01, 0.01, 0), *two = made("worse", 0.5, 0.4, 0.6, 0);
	json_t *doc = json_pack("{s:[o,o]}", "items", one, two);
	const char *rule = "p99<=+5%";
	struct strbuf xml = {0};
	enum gate_result got;
	struct err e;

	(void)state;
	assert_int_equal(gate_apply(doc, &rule, 1, GATE_NORMAL, &got, &e), 0);
	assert_int_equal(got, GATE_FAIL);
	assert_string_equal(text_at(doc, "items/0/gate/result"), "pass");
	assert_string_equal(text_at(doc, "gate/result"), "fail");
	assert_int_equal(json_array_size(at_path(doc, "gate/rules")), 2);
	gate_render_junit(doc, &xml);
	assert_non_null(strstr(xml.data, "tests=\"2\" failures=\"1\" errors=\"0\""));
	strbuf_done(&xml);
	json_decref(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_blocked_and_lost),
		cmocka_unit_test(test_doubtful),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
