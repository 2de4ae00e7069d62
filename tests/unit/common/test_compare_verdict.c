/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, reasons and numbers of comparisons. Expected figures: scipy 1.10 on the same data
 * (ttest_1samp on log ratios of blocks, ttest_ind_from_stats, f.sf) and tests/data/INDEX.md. */
#include "compare_data.h"

static json_t *compare_arms(const char *file, const char *better)
{
	struct compare_options o = default_options();
	struct runs all = {0}, a, b;
	json_t *doc;

	o.better = better;
	data_import(file, &all);
	a = with_level(&all, "arm", "A");
	b = with_level(&all, "arm", "B");
	doc = compare_runs(&a, &b, &o);
	free(a.v);
	free(b.v);
	runs_done(&all);
	return doc;
}

static void test_abba_with_drift(void **state)
{
	json_t *doc = compare_arms("compare/synth-ab-abba-drift.csv", "lower"), *row;

	(void)state;
	row = row_of(doc, "mean");
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_string_equal(text_at(doc, "design/order"), "abba");
	assert_true(json_is_true(at_path(doc, "design/paired")));
	assert_true(num_at(doc, "design/blocks") == 10);
	assert_near(num_at(row, "delta/rel"), -0.010524686338230893, 1e-12);
	assert_near(num_at(row, "delta/ci_rel/0"), -0.01628139567757292, 1e-9);
	assert_near(num_at(row, "delta/ci_rel/1"), -0.00473428880566773, 1e-9);
	assert_near(num_at(row, "delta/p"), 0.002668866985215978, 1e-9);
	assert_near(num_at(row, "delta/abs"), -0.5362, 1e-9);
	assert_string_equal(text_at(doc, "design/drift/reading"), "drift");
	assert_near(num_at(doc, "design/drift/p"), 0.000436104196551986, 1e-9);
	assert_near(num_at(doc, "methods/mean/welch/p"), 0.03037434211553806, 1e-9);
	json_decref(doc);
}

static void test_no_change_with_drift(void **state)
{
	json_t *doc = compare_arms("compare/synth-aa-abba-drift.csv", "lower");

	(void)state;
	assert_string_equal(text_at(doc, "verdict/word"), "unclear");
	assert_near(num_at(row_of(doc, "mean"), "delta/p"), 0.13511211004258367, 1e-9);
	assert_true(json_is_array(at_path(row_of(doc, "mean"), "delta/more_blocks")));
	assert_true(num_at(row_of(doc, "mean"), "delta/mde_rel") > 0);
	json_decref(doc);
}

/* Welch would say p = 0.0006 here; the truth is "no difference". */
static void test_one_after_the_other(void **state)
{
	json_t *doc = compare_arms("compare/synth-aa-sequential-drift.csv", "lower");

	(void)state;
	assert_string_equal(text_at(doc, "verdict/word"), "unclear");
	assert_true(has_reason(doc, "confounded_with_time"));
	assert_true(json_is_true(at_path(doc, "design/confounded")));
	assert_true(json_is_null(at_path(row_of(doc, "mean"), "delta/p")));
	assert_true(json_is_null(at_path(row_of(doc, "mean"), "delta/ci_rel")));
	assert_near(num_at(doc, "design/drift/p"), 0.006394991270348501, 1e-9);
	json_decref(doc);
}

static json_t *compare_2008(const char *metric)
{
	struct compare_options o = default_options();
	struct runs all = {0}, a, b;
	json_t *doc;

	o.metric = metric;
	data_import("rq-affinity-2008/summary.csv", &all);
	a = with_level(&all, "rq_affinity", "0");
	b = with_level(&all, "rq_affinity", "1");
	doc = compare_runs(&a, &b, &o);
	free(a.v);
	free(b.v);
	runs_done(&all);
	return doc;
}

static void test_2008_stalls(void **state)
{
	json_t *doc = compare_2008("unstalled_instructions"), *mean = row_of(doc, "mean");

	(void)state;
	assert_string_equal(text_at(doc, "verdict/word"), "unclear");
	assert_string_equal(text_at(doc, "a/data"), "summary_only");
	assert_near(num_at(mean, "delta/rel"), 24.469 / 24.001 - 1, 1e-12);
	assert_near(num_at(mean, "delta/p"), 0.4634526176550575, 1e-9);
	assert_near(num_at(doc, "methods/mean/welch/t"), 0.7617708768182041, 1e-9);
	assert_near(num_at(doc, "methods/mean/f_test/f"), 1 / 14.97976680384088, 1e-9);
	assert_near(num_at(row_of(doc, "sdev"), "delta/p"), 0.0004229434534968229, 1e-9);
	assert_string_equal(text_at(row_of(doc, "sdev"), "delta/reading"), "lower");
	assert_non_null(strstr(text_at(doc, "verdict/sentence"), "normal theory on summaries"));
	assert_true(has_reason(doc, "summary_only"));
	json_decref(doc);
}

static void test_2008_cycles(void **state)
{
	json_t *doc = compare_2008("cycles_in_application");

	(void)state;
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_near(num_at(row_of(doc, "mean"), "delta/rel"), 71.520 / 70.231 - 1, 1e-12);
	assert_near(num_at(row_of(doc, "mean"), "delta/p"), 1.1744293903632522e-06, 1e-12);
	json_decref(doc);
}

static void test_histograms_by_blocks(void **state)
{
	const char *stats[] = {"p50", "p99.99", "over(44us)", "over(50us)", NULL};
	struct compare_options o = default_options();
	struct runs all = {0}, a, b;
	json_t *doc, *row;

	(void)state;
	o.stats = stats;
	o.primary = "over(44us)";
	synth_hists(&all);
	a = with_level(&all, "arm", "A");
	b = with_level(&all, "arm", "B");
	doc = compare_runs(&a, &b, &o);
	row = row_of(doc, "over(44us)");
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_near(num_at(row, "delta/rel"), -0.33854882925175067, 1e-9);
	assert_near(num_at(row, "delta/ci_rel/0"), -0.45435920520119166, 1e-9);
	assert_near(num_at(row, "delta/ci_rel/1"), -0.19815810061351158, 1e-9);
	assert_near(num_at(row, "delta/p"), 0.0008986558934955098, 1e-9);
	assert_near(num_at(row_of(doc, "p50"), "delta/p"), 0.7705721240283724, 1e-6);
	/* Interpolated inside the bucket, cut at the run's own extremes. */
	assert_near(num_at(row_of(doc, "p99.99"), "delta/rel"), -0.2093798949, 1e-6);
	assert_string_equal(text_at(row_of(doc, "p50"), "delta/reading"), "unclear");
	json_decref(doc);
	free(a.v);
	free(b.v);
	runs_done(&all);
}

/* --- made runs --- */

static const double slow[] = {10.0, 10.1, 9.9, 10.2, 10.0, 9.8, 10.1, 10.0, 9.9, 10.0};
static const double fast[] = {9.0, 9.1, 8.9, 9.2, 9.0, 8.8, 9.1, 9.0, 8.9, 9.0};

/* ABAB..., both sides on one host, every run of a side in `boots` boots. */
static void alternating(struct runs *a, struct runs *b, size_t n, const char *factor, size_t boots)
{
	for (size_t i = 0; i < n; i++) {
		struct run *ra = value_run("elapsed", slow[i], (uint32_t)(2 * i + 1));
		struct run *rb = value_run("elapsed", fast[i], (uint32_t)(2 * i + 2));

		labels_set(&ra->factors, factor, "old");
		labels_set(&rb->factors, factor, "new");
		ra->boot_id = boots ? xasprintf("a%zu", i % boots) : NULL;
		rb->boot_id = boots ? xasprintf("b%zu", i % boots) : NULL;
		ra->host = xstrdup("box1");
		rb->host = xstrdup("box1");
		runs_add(a, ra);
		runs_add(b, rb);
	}
}

static json_t *compare_made(struct runs *a, struct runs *b, const struct compare_options *o)
{
	json_t *doc = compare_runs(a, b, o);

	runs_done(a);
	runs_done(b);
	return doc;
}

static void test_boot_is_replicate(void **state)
{
	static const struct {
		const char *factor;
		size_t boots;
		const char *word, *replicate;
		double n;
	} cases[] = {
		{"rq_affinity", 1, "better", "run", 10},
		{"kernel", 1, "not_enough_runs", "boot", 1},
		{"kernel", 2, "not_enough_runs", "boot", 2},
		{"kernel", 10, "better", "boot", 10},
		{"cmdline", 0, "not_enough_runs", "boot", 1},
		{"boot.mitigations", 10, "better", "boot", 10},
	};
	struct compare_options o = default_options();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct runs a = {0}, b = {0};
		json_t *doc;

		alternating(&a, &b, 10, cases[i].factor, cases[i].boots);
		doc = compare_made(&a, &b, &o);
		assert_string_equal(text_at(doc, "verdict/word"), cases[i].word);
		assert_string_equal(text_at(doc, "a/replicate"), cases[i].replicate);
		assert_true(num_at(doc, "a/n") == cases[i].n);
		json_decref(doc);
	}
}

/* Without a declared factor a kernel that differs makes the boot the replicate. */
static void test_kernel_fact_is_boot(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	alternating(&a, &b, 10, "variant", 1);
	for (size_t i = 0; i < 10; i++) {
		a.v[i]->environment = json_pack("{s:s}", "kernel.release", "6.1.0");
		b.v[i]->environment = json_pack("{s:s}", "kernel.release", "6.2.0");
	}
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "not_enough_runs");
	assert_true(has_reason(doc, "boot_is_replicate"));
	json_decref(doc);
}

static void test_few_runs(void **state)
{
	struct compare_options o = default_options();

	(void)state;
	for (size_t n = 1; n <= 3; n++) {
		struct runs a = {0}, b = {0};
		json_t *doc;

		alternating(&a, &b, n, "f", 1);
		doc = compare_made(&a, &b, &o);
		assert_string_equal(text_at(doc, "verdict/word"),
				    n < 3 ? "not_enough_runs" : "better");
		assert_near(num_at(row_of(doc, "mean"), "delta/abs"), -1, 1e-9);
		json_decref(doc);
	}
}

/* An excluded run stays listed with its reason and does not shift the blocks after it. */
static void test_excluded(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	alternating(&a, &b, 10, "f", 1);
	a.v[3]->excluded = xstrdup("someone logged in");
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_true(num_at(doc, "a/n") == 9);
	assert_int_equal(json_array_size(at_path(doc, "a/runs")), 10);
	assert_string_equal(text_at(doc, "a/runs/9/excluded"), "excluded: someone logged in");
	assert_true(num_at(doc, "design/blocks") == 9);
	json_decref(doc);
}

static void test_same_run_on_both_sides(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	alternating(&a, &b, 10, "f", 1);
	memset(a.v[2]->uid, 'a', 32);
	memset(b.v[5]->uid, 'a', 32);
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_true(has_reason(doc, "same_runs"));
	json_decref(doc);
}

static void test_unequal_and_unordered(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	value_runs(&a, "elapsed", slow, 10);
	value_runs(&b, "elapsed", fast, 6);
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_true(has_reason(doc, "order_unknown"));
	assert_true(num_at(doc, "b/n") == 6);
	assert_true(json_is_false(at_path(doc, "design/paired")));
	json_decref(doc);
}

static void test_hosts(void **state)
{
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	for (size_t h = 0; h < 4; h++) {
		for (size_t i = 0; i < 4; i++) {
			struct run *ra = value_run("elapsed", (10 + (double)h) * slow[i] / 10,
						   (uint32_t)(2 * i + 1));
			struct run *rb = value_run("elapsed", (10 + (double)h) * fast[i + h] / 10,
						   (uint32_t)(2 * i + 2));

			ra->host = xasprintf("box%zu", h);
			rb->host = xasprintf("box%zu", h);
			runs_add(&a, ra);
			runs_add(&b, rb);
		}
	}
	doc = compare_runs(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_string_equal(text_at(doc, "a/replicate"), "host");
	assert_true(num_at(doc, "a/n") == 4);
	assert_int_equal(json_array_size(at_path(doc, "hosts/items")), 4);
	assert_true(num_at(doc, "hosts/better") == 4);
	assert_true(json_is_object(at_path(doc, "hosts/heterogeneity")));
	json_decref(doc);

	/* A host that only one side has. */
	a.v[0]->host[0] = 'x';
	doc = compare_runs(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_true(has_reason(doc, "unbalanced_hosts"));
	assert_true(json_is_null(at_path(row_of(doc, "mean"), "delta/rel")));
	json_decref(doc);

	/* Two CPU models in one pool. */
	a.v[0]->host[0] = 'b';
	for (size_t i = 0; i < a.len; i++) {
		a.v[i]->environment = json_pack("{s:s}", "cpu.model", i < 4 ? "Old" : "New");
		b.v[i]->environment = json_pack("{s:s}", "cpu.model", i < 4 ? "Old" : "New");
	}
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_true(has_reason(doc, "mixed_cpu_models"));
	json_decref(doc);
}

static void test_margin(void **state)
{
	static const struct {
		double margin;
		const char *word, *reading;
	} cases[] = {{0.01, "better", "better"},
		     {0.2, "same", "below_margin"},
		     {0.1001, "unclear", "unclear"}};
	struct compare_options o = default_options();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct runs a = {0}, b = {0};
		json_t *doc;

		alternating(&a, &b, 10, "f", 1);
		/* Makes the blocks differ a little, so that the interval has a width. */
		b.v[0]->series[0].value += 0.2;
		b.v[1]->series[0].value -= 0.2;
		o.margin_rel = cases[i].margin;
		doc = compare_made(&a, &b, &o);
		assert_string_equal(text_at(doc, "verdict/word"), cases[i].word);
		assert_string_equal(text_at(row_of(doc, "mean"), "delta/reading"),
				    cases[i].reading);
		json_decref(doc);
	}
}

/* No variation at all: the exact test answers, not a division by zero. */
static void test_no_variation(void **state)
{
	static const double ten[] = {10, 10, 10, 10, 10}, nine[] = {9, 9, 9, 9, 9};
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	value_runs(&a, "elapsed", ten, 5);
	value_runs(&b, "elapsed", nine, 5);
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_near(num_at(row_of(doc, "mean"), "delta/p"), 2.0 / 252, 1e-12);
	json_decref(doc);
	value_runs(&a, "elapsed", ten, 5);
	value_runs(&b, "elapsed", ten, 5);
	doc = compare_made(&a, &b, &o);
	assert_string_equal(text_at(doc, "verdict/word"), "same");
	json_decref(doc);
}

/* One wild run a side: the averages fall, four of five runs rise. Both must be said. */
static void test_average_against_typical(void **state)
{
	static const double wild[] = {10, 11, 10, 10, 900}, tame[] = {14, 15, 14, 14, 500};
	struct compare_options o = default_options();
	struct runs a = {0}, b = {0};
	const char *sentence;
	json_t *doc;

	(void)state;
	value_runs(&a, "elapsed", wild, ARRAY_LEN(wild));
	value_runs(&b, "elapsed", tame, ARRAY_LEN(tame));
	doc = compare_made(&a, &b, &o);
	sentence = text_at(doc, "verdict/sentence");
	assert_non_null(strstr(sentence, "the average of mean fell from"));
	assert_non_null(strstr(sentence, "but typically it rose (+"));
	json_decref(doc);
}

static void count_in(struct runs *rs, size_t n, const char *scope, const char *method)
{
	for (size_t i = 0; i < n; i++) {
		struct run *r = value_run("ipc", 1 + 0.01 * (double)i, 0);

		labels_set(&r->series[0].labels, "scope", scope);
		r->series[0].method = xstrdup(method);
		runs_add(rs, r);
	}
}

static json_t *compare_scopes(struct runs *a, struct runs *b)
{
	const struct compare_side sa = {.runs = a->v, .n = a->len},
				  sb = {.runs = b->v, .n = b->len};
	const struct compare_options o = {.metric = "ipc"};
	json_t *doc = NULL;
	struct err e;

	if (compare_document(&sa, &sb, &o, &doc, &e) < 0)
		fail_msg("%s", e.text);
	runs_done(a);
	runs_done(b);
	return doc;
}

/* Counters of the box and of a workload are never put into one comparison. */
static void test_scopes_are_not_mixed(void **state)
{
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	count_in(&a, 4, "box", "ipc/1");
	count_in(&b, 4, "workload", "ipc-workload/1");
	doc = compare_scopes(&a, &b);
	assert_string_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_string_equal(text_at(doc, "verdict/reasons/0/code"), "different_methods");
	json_decref(doc);
	count_in(&a, 4, "cgroup:/x", "ipc-cgroup/1");
	count_in(&b, 2, "cgroup:/x", "ipc-cgroup/1");
	count_in(&b, 2, "cgroup:/y", "ipc-cgroup/1");
	doc = compare_scopes(&a, &b);
	assert_string_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_string_equal(text_at(doc, "verdict/reasons/0/code"), "mixed_scopes");
	json_decref(doc);
	count_in(&a, 4, "workload", "ipc-workload/1");
	count_in(&b, 4, "workload", "ipc-workload/1");
	doc = compare_scopes(&a, &b);
	assert_string_not_equal(text_at(doc, "verdict/word"), "not_comparable");
	assert_true(has_reason(doc, "scope"));
	json_decref(doc);
}

static void count_as(struct runs *rs, double mean, enum value_state state)
{
	for (size_t i = 0; i < 5; i++) {
		struct run *r = value_run("ipc", mean + 0.001 * (double)i, 0);

		r->series[0].state = state;
		runs_add(rs, r);
	}
}

/* Twice the ipc: a verdict from exact and estimated counts, none from doubtful ones. */
static void test_doubtful_counts_decide_nothing(void **state)
{
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	count_as(&a, 1, VALUE_EXACT);
	count_as(&b, 2, VALUE_ESTIMATED);
	doc = compare_scopes(&a, &b);
	assert_string_equal(text_at(doc, "verdict/word"), "better");
	assert_true(has_reason(doc, "estimated_counts") && !has_reason(doc, "doubtful_counts"));
	assert_true(num_at(doc, "b/estimated") == 5 && num_at(doc, "b/doubtful") == 0);
	json_decref(doc);
	count_as(&a, 1, VALUE_EXACT);
	count_as(&b, 2, VALUE_DOUBTFUL);
	doc = compare_scopes(&a, &b);
	assert_string_equal(text_at(doc, "verdict/word"), "unclear");
	assert_string_equal(text_at(row_of(doc, "mean"), "delta/reading"), "unclear");
	assert_true(has_reason(doc, "doubtful_counts"));
	assert_true(num_at(doc, "b/doubtful") == 5);
	/* Shown it is all the same. */
	assert_near(num_at(row_of(doc, "mean"), "delta/abs"), 1, 1e-9);
	json_decref(doc);
}

/* A hybrid CPU's total stands for it, not the mean of its core types. */
static void test_a_total_goes_before_its_parts(void **state)
{
	struct runs rs[2] = {{0}, {0}};
	json_t *doc;

	(void)state;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < 4; i++) {
			struct run *r = value_run("ipc", 3, 0);
			struct series *s = &r->series[0];

			labels_set(&s->labels, "pmu", "cpu_core");
			labels_set(&s->labels, "scope", "box");
			s = run_add_series(r, "ipc", SERIES_VALUE, "1");
			s->value = 2.6 + 0.001 * (double)i;
			labels_set(&s->labels, "scope", "box");
			runs_add(&rs[k], r);
		}
	doc = compare_scopes(&rs[0], &rs[1]);
	assert_near(num_at(row_of(doc, "mean"), "a/avg"), 2.6015, 1e-9);
	json_decref(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abba_with_drift),
		cmocka_unit_test(test_no_change_with_drift),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_2008_stalls),
		cmocka_unit_test(test_2008_cycles),
		cmocka_unit_test(test_histograms_by_blocks),
		cmocka_unit_test(test_boot_is_replicate),
		cmocka_unit_test(test_kernel_fact_is_boot),
		cmocka_unit_test(test_few_runs),
		cmocka_unit_test(test_excluded),
		cmocka_unit_test(test_same_run_on_both_sides),
		cmocka_unit_test(test_unequal_and_unordered),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_margin),
		cmocka_unit_test(test_no_variation),
		cmocka_unit_test(test_average_against_typical),
		cmocka_unit_test(test_scopes_are_not_mixed),
		cmocka_unit_test(test_doubtful_counts_decide_nothing),
		cmocka_unit_test(test_a_total_goes_before_its_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
