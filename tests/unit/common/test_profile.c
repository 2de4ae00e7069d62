/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences of profiles. Means, intervals and p by scipy 1.10 (ttest_rel; ttest_ind with
 * equal_var=False), Holm by hand. */
#include "common/compare/profile.h"
#include "common/model/profile.h"
#include "compare_data.h"

#define N 5

static const double foo_a[N] = {3.0, 3.2, 3.1, 3.1, 2.9}, foo_b[N] = {5.2, 5.6, 5.4, 5.5, 5.3};
static const double bar_a[N] = {10.0, 10.4, 9.8, 10.1, 10.3};
static const double bar_b[N] = {10.1, 10.2, 10.0, 10.3, 10.0};
static const double lib_a[N] = {40, 41, 42, 40, 41}, lib_b[N] = {38.5, 39, 39.5, 38.5, 39.3};
static const double bound[N] = {0.40, 0.38, 0.42, 0.41, 0.39};

static void add(struct run *r, const char *metric, const char *key, const char *label, double v)
{
	struct series *s = run_add_series(r, metric, SERIES_VALUE, "%");

	s->value = v;
	s->method = xasprintf("rigstat-shares-%.*s/1", (int)strcspn(metric, "_"), metric);
	if (key)
		labels_set(&s->labels, key, label);
}

/* A run with only its idle share; ABBA over 2 * N places. Order 0: unknown. */
static struct run *profiled(const char *basis, size_t i, int side, bool ordered)
{
	struct run *r = run_new(RUN_MEASURED);
	char metric[40];

	r->state = RUN_OK;
	run_mint_uid(r->uid);
	if (ordered) {
		r->block = (uint32_t)i + 1;
		r->order = (uint32_t)(2 * i + 1 + (i % 2 ? 1 - side : side));
	}
	snprintf(metric, sizeof(metric), "%s_idle", basis);
	add(r, metric, NULL, NULL, 50);
	return r;
}

/* The three known names; `with_foo` 0: A has no foo. */
static void known_runs(struct runs ret[2], bool ordered, bool a_has_foo)
{
	for (size_t i = 0; i < N; i++) {
		for (int s = 0; s < 2; s++) {
			struct run *r = profiled("time", i, s, ordered);

			if (s || a_has_foo)
				add(r, "time_symbol", "symbol", "foo", s ? foo_b[i] : foo_a[i]);
			add(r, "time_symbol", "symbol", "bar", s ? bar_b[i] : bar_a[i]);
			add(r, "time_object", "object", "lib.so", s ? lib_b[i] : lib_a[i]);
			add(r, "time_command", "comm", "prog", 70);
			runs_add(&ret[s], r);
		}
	}
}

static json_t *diff_of(struct runs r[2], const struct compare_options *o)
{
	struct compare_side a = {.name = "A", .runs = r[0].v, .n = r[0].len};
	struct compare_side b = {.name = "B", .runs = r[1].v, .n = r[1].len};
	struct err e = {0};
	json_t *doc = NULL;

	if (profile_diff(&a, &b, o, &doc, &e) < 0)
		fail_msg("%s", e.text);
	return doc;
}

static void done(struct runs r[2], json_t *doc)
{
	json_decref(doc);
	runs_done(&r[0]);
	runs_done(&r[1]);
}

static json_t *table_of(json_t *doc, const char *name)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_object_get(doc, "tables"), i,
			   t) if (!strcmp(text_at(t, "name"), name)) return t;
	return NULL;
}

static json_t *name_of(json_t *doc, const char *table, const char *name)
{
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(table_of(doc, table), "rows"), i,
			   row) if (!strcmp(text_at(row, "name"), name)) return row;
	return NULL;
}

static bool says(json_t *doc, const char *code)
{
	size_t i;
	json_t *r;

	json_array_foreach(json_object_get(doc, "reasons"), i,
			   r) if (!strcmp(text_at(r, "code"), code)) return true;
	return false;
}

static void assert_text_form(const json_t *doc)
{
	struct strbuf out = {0};

	profile_render_text(doc, &out);
	for (char *line = out.data; *line; line += strcspn(line, "\n") + 1) {
		assert_true(strcspn(line, "\n") <= 76);
		for (size_t i = 0; line[i] && line[i] != '\n'; i++)
			assert_true(line[i] >= ' ' && line[i] < 127);
	}
	strbuf_done(&out);
}

static void test_paired(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc, *foo, *lib;

	(void)state;
	known_runs(r, true, true);
	doc = diff_of(r, &o);
	assert_string_equal(text_at(doc, "state"), "tested");
	assert_string_equal(text_at(doc, "basis"), "time");
	assert_true(json_is_true(at_path(doc, "design/paired")));
	foo = name_of(doc, "code", "foo");
	assert_near(num_at(foo, "a/avg"), 3.06, 1e-12);
	assert_near(num_at(foo, "b/avg"), 5.40, 1e-12);
	assert_near(num_at(foo, "delta/abs"), 2.34, 1e-12);
	assert_near(num_at(foo, "delta/ci/0"), 2.2289421957920887, 1e-9);
	assert_near(num_at(foo, "delta/ci/1"), 2.451057804207912, 1e-9);
	assert_near(num_at(foo, "delta/p") / 5.113075883545423e-07, 1, 1e-9);
	/* Three names in the code: the smallest p times 3, the next times 2. */
	assert_near(num_at(foo, "delta/p_adjusted") / (3 * 5.113075883545423e-07), 1, 1e-9);
	assert_string_equal(text_at(foo, "delta/reading"), "higher");
	lib = name_of(doc, "code", "lib.so");
	assert_string_equal(text_at(lib, "kind"), "object");
	assert_near(num_at(lib, "delta/abs"), -1.84, 1e-12);
	assert_near(num_at(lib, "delta/ci/0"), -2.363858614732539, 1e-9);
	assert_near(num_at(lib, "delta/p_adjusted") / (2 * 0.0006193451776450106), 1, 1e-9);
	assert_string_equal(text_at(lib, "delta/reading"), "lower");
	assert_string_equal(text_at(name_of(doc, "code", "bar"), "delta/reading"), "unclear");
	/* What moved comes first; the sentence names it with its numbers. */
	assert_string_equal(text_at(doc, "tables/0/rows/2/name"), "bar");
	assert_non_null(strstr(text_at(doc, "sentence"), "from 3.06 % to 5.40 % of non-idle CPU "
							 "time (+2.34 points, 95 % interval +2.23 "
							 "to +2.45); 1 other place in the code "
							 "moved clearly."));
	assert_near(num_at(table_of(doc, "code"), "covered/0"), 3.06 + 10.12 + 40.8, 1e-9);
	assert_text_form(doc);
	done(r, doc);
}

/* Without an order there are no blocks: Welch. */
static void test_unpaired(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc, *foo;

	(void)state;
	known_runs(r, false, true);
	doc = diff_of(r, &o);
	foo = name_of(doc, "code", "foo");
	assert_false(json_is_true(at_path(doc, "design/paired")));
	assert_near(num_at(foo, "delta/p") / 1.522907380032741e-08, 1, 1e-9);
	assert_near(num_at(foo, "delta/ci/0"), 2.135423613955453, 1e-9);
	assert_near(num_at(foo, "delta/ci/1"), 2.5445763860445476, 1e-9);
	assert_true(says(doc, "order_unknown"));
	done(r, doc);
}

/* A's lists are full and end at `bound`: foo lies below that, never at 0. The interval is what the
 * two ends span, p the larger one. */
static void test_absent_is_bounded(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc, *foo;

	(void)state;
	known_runs(r, true, false);
	for (size_t i = 0; i < N; i++) {
		for (int k = 2; k < PROFILE_TOP; k++) {
			char name[20];

			snprintf(name, sizeof(name), "filler%d", k);
			add(r[0].v[i], "time_symbol", "symbol", name, k == 2 ? bound[i] : 1);
		}
		add(r[0].v[i], "time_symbol", "symbol", "filler1", 1);
	}
	doc = diff_of(r, &o);
	foo = name_of(doc, "code", "foo");
	assert_near(num_at(foo, "a/lo"), 0, 0);
	assert_near(num_at(foo, "a/hi"), 0.40, 1e-12);
	assert_true(json_is_null(at_path(foo, "a/avg")));
	assert_true(num_at(foo, "a/seen") == 0 && num_at(foo, "b/seen") == N);
	assert_true(json_is_null(at_path(foo, "delta/abs")));
	assert_near(num_at(foo, "delta/between/0"), 5.0, 1e-12);
	assert_near(num_at(foo, "delta/between/1"), 5.4, 1e-12);
	assert_near(num_at(foo, "delta/ci/0"), 4.798827439827326, 1e-9);
	assert_near(num_at(foo, "delta/ci/1"), 5.596324316147756, 1e-9);
	assert_near(num_at(foo, "delta/p") / 2.642299679988177e-07, 1, 1e-9);
	assert_non_null(strstr(text_at(doc, "sentence"),
			       "foo rose from at most 0.40 % to 5.40 % of non-idle CPU time (at "
			       "least +5.00 points"));
	assert_text_form(doc);
	done(r, doc);
}

/* A list with room left is complete: what it does not have was not sampled. */
static void test_absent_of_a_short_list_is_zero(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc, *foo;

	(void)state;
	known_runs(r, true, false);
	doc = diff_of(r, &o);
	foo = name_of(doc, "code", "foo");
	assert_true(num_at(foo, "a/avg") == 0 && num_at(foo, "a/hi") == 0);
	assert_near(num_at(foo, "delta/ci/0"), 5.203675683852245, 1e-9);
	done(r, doc);
}

/* One end says up, the other down: nothing is told apart. */
static void test_bound_above_the_other_side(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc, *foo;

	(void)state;
	known_runs(r, true, false);
	for (size_t i = 0; i < N; i++)
		for (int k = 1; k < PROFILE_TOP; k++) {
			char name[20];

			snprintf(name, sizeof(name), "filler%d", k);
			add(r[0].v[i], "time_symbol", "symbol", name, 6);
		}
	doc = diff_of(r, &o);
	foo = name_of(doc, "code", "foo");
	assert_true(num_at(foo, "delta/p") == 1);
	assert_string_equal(text_at(foo, "delta/reading"), "unclear");
	assert_near(num_at(foo, "delta/between/0"), 5.4 - 6, 1e-12);
	assert_near(num_at(foo, "delta/between/1"), 5.4, 1e-12);
	done(r, doc);
}

static void test_margin(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc;

	(void)state;
	o.margin_rel = 0.03; /* 3 points */
	known_runs(r, true, true);
	doc = diff_of(r, &o);
	assert_string_equal(text_at(name_of(doc, "code", "foo"), "delta/reading"), "below_margin");
	assert_string_equal(text_at(name_of(doc, "code", "bar"), "delta/reading"), "same");
	assert_non_null(strstr(text_at(doc, "sentence"), "Nothing moved clearly"));
	done(r, doc);
}

static void test_cycles_and_time_never_mix(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc;

	(void)state;
	for (size_t i = 0; i < N; i++)
		for (int s = 0; s < 2; s++)
			runs_add(&r[s], profiled(s ? "time" : "cycle", i, s, true));
	doc = diff_of(r, &o);
	assert_string_equal(text_at(doc, "state"), "not_comparable");
	assert_true(json_is_null(at_path(doc, "basis")));
	assert_non_null(strstr(text_at(doc, "sentence"), "never mixed"));
	json_decref(doc);
	/* A run of another basis is left out by name, not mixed in. */
	runs_add(&r[1], profiled("cycle", N, 1, true));
	doc = diff_of(r, &o);
	assert_string_equal(text_at(doc, "basis"), "cycle");
	assert_true(num_at(doc, "b/runs_counted") == 1);
	assert_string_equal(text_at(doc, "state"), "not_enough_runs");
	json_decref(doc);
	o.metric = "time_share";
	doc = diff_of(r, &o);
	assert_string_equal(text_at(doc, "state"), "not_comparable");
	done(r, doc);
}

static void test_no_profile(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	const double v[] = {1, 2, 3};
	json_t *doc;

	(void)state;
	value_runs(&r[0], "elapsed", v, 3);
	value_runs(&r[1], "elapsed", v, 3);
	doc = diff_of(r, &o);
	assert_string_equal(text_at(doc, "state"), "no_profile");
	assert_text_form(doc);
	done(r, doc);
}

static void test_too_few_and_confounded(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}}, few[2];
	json_t *doc, *foo;

	(void)state;
	known_runs(r, true, true);
	for (int s = 0; s < 2; s++)
		few[s] = (struct runs){r[s].v, 2, 2};
	doc = diff_of(few, &o);
	foo = name_of(doc, "code", "foo");
	assert_string_equal(text_at(doc, "state"), "not_enough_runs");
	assert_true(json_is_null(at_path(foo, "delta/p")) &&
		    json_is_null(at_path(foo, "delta/ci")));
	assert_string_equal(text_at(foo, "delta/reading"), "not_enough_runs");
	assert_non_null(strstr(text_at(doc, "sentence"), "Too few runs"));
	assert_true(says(doc, "few_replicates"));
	assert_text_form(doc);
	json_decref(doc);

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < N; i++) {
			r[s].v[i]->block = 0;
			r[s].v[i]->order = (uint32_t)(s * N + (int)i + 1);
		}
	doc = diff_of(r, &o);
	foo = name_of(doc, "code", "foo");
	assert_string_equal(text_at(doc, "state"), "confounded");
	assert_near(num_at(foo, "delta/abs"), 2.34, 1e-12);
	assert_true(json_is_null(at_path(foo, "delta/p")));
	assert_true(says(doc, "confounded_with_time"));
	done(r, doc);
}

/* Kernel symbols hidden in one run: symbols are not compared, the rest is. */
static void test_hidden_symbols(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	struct run *x;
	json_t *doc;

	(void)state;
	known_runs(r, true, true);
	x = r[0].v[2];
	for (size_t i = 0; i < x->series_len; i++)
		if (!strcmp(x->series[i].metric, "time_symbol"))
			x->series[i].kind = SERIES_ABSENT;
	doc = diff_of(r, &o);
	assert_null(name_of(doc, "code", "foo"));
	assert_non_null(name_of(doc, "code", "lib.so"));
	assert_true(says(doc, "not_in_all_runs"));
	done(r, doc);
}

static void test_rare_names_and_apps(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc;

	(void)state;
	known_runs(r, true, true);
	add(r[0].v[1], "time_symbol", "symbol", "once", 0.7);
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < N; i++)
			add(r[s].v[i], "time_share", "app", "oracle", s ? foo_b[i] : foo_a[i]);
	doc = diff_of(r, &o);
	assert_null(name_of(doc, "code", "once"));
	assert_true(num_at(table_of(doc, "code"), "rare") == 1);
	assert_near(num_at(table_of(doc, "code"), "rare_at_most"), 0.7, 0);
	assert_near(num_at(name_of(doc, "applications", "oracle"), "delta/p_adjusted") /
			    5.113075883545423e-07,
		    1, 1e-9);
	assert_string_equal(text_at(name_of(doc, "whole", ""), "of"), "all");
	done(r, doc);
}

/* Other names in every run: that is said, and not that the CPUs were idle. */
static void test_only_rare_names(void **state)
{
	struct compare_options o = default_options();
	struct runs r[2] = {{0}};
	json_t *doc;

	(void)state;
	for (size_t i = 0; i < N; i++)
		for (int s = 0; s < 2; s++) {
			struct run *run = profiled("time", i, s, true);
			char name[20];

			snprintf(name, sizeof(name), "fn%zu", 2 * i + (size_t)s);
			add(run, "time_symbol", "symbol", name, 3);
			runs_add(&r[s], run);
		}
	doc = diff_of(r, &o);
	assert_non_null(strstr(text_at(doc, "sentence"), "no name is in half of the runs"));
	assert_true(says(doc, "rare_names"));
	assert_text_form(doc);
	done(r, doc);
}

static void test_one_run(void **state)
{
	struct runs r[2] = {{0}};
	struct strbuf csv = {0};
	json_t *doc;

	(void)state;
	known_runs(r, true, true);
	doc = profile_document(r[0].v[0]);
	assert_string_equal(text_at(doc, "profiles/0/basis"), "time");
	assert_string_equal(text_at(doc, "profiles/0/code/0/name"), "lib.so");
	assert_string_equal(text_at(doc, "profiles/0/code/2/name"), "foo");
	assert_true(num_at(doc, "profiles/0/other_symbol_at_most") == 0);
	assert_text_form(doc);
	profile_render_csv(doc, &csv);
	assert_non_null(strstr(csv.data, ",time,symbol,foo,non-idle,3\r\n"));
	strbuf_done(&csv);
	done(r, doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paired),
		cmocka_unit_test(test_unpaired),
		cmocka_unit_test(test_absent_is_bounded),
		cmocka_unit_test(test_absent_of_a_short_list_is_zero),
		cmocka_unit_test(test_bound_above_the_other_side),
		cmocka_unit_test(test_margin),
		cmocka_unit_test(test_cycles_and_time_never_mix),
		cmocka_unit_test(test_no_profile),
		cmocka_unit_test(test_too_few_and_confounded),
		cmocka_unit_test(test_hidden_symbols),
		cmocka_unit_test(test_rare_names_and_apps),
		cmocka_unit_test(test_only_rare_names),
		cmocka_unit_test(test_one_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
