/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent counts by name: the value of all beside its parts, metrics that a box lacks, and
 * the flags of disturbed runs. */
#include "tests/unit/common/compare_data.h"

static void add(struct run *r, const char *label, double v)
{
	struct series *s = run_add_series(r, "interrupts", SERIES_VALUE, "1/s");

	s->value = v;
	if (label)
		labels_set(&s->labels, "irq", label);
}

/* Each side has names of its own; "eth0" is on both. */
static void fill(struct runs *rs, double base, const char *own)
{
	for (int i = 0; i < 4; i++) {
		struct run *r = run_new(RUN_MEASURED);

		r->state = RUN_OK;
		add(r, "eth0", base + i);
		add(r, own, 7);
		add(r, NULL, 10 * base + i);
		runs_add(rs, r);
	}
}

static json_t *compare(const struct runs *a, const struct runs *b, const char *label)
{
	struct compare_side sa = {.name = "A", .runs = a->v, .n = a->len};
	struct compare_side sb = {.name = "B", .runs = b->v, .n = b->len};
	struct compare_options o = default_options();
	struct labels labels = {0};
	struct err err = {0};
	json_t *doc = NULL;

	o.metric = "interrupts";
	if (label) {
		labels_set(&labels, "irq", label);
		o.labels = &labels;
	}
	if (compare_document(&sa, &sb, &o, &doc, &err))
		fail_msg("%s", err.text);
	labels_done(&labels);
	return doc;
}

static double avg_of(const json_t *doc, const char *side)
{
	const json_t *row = json_array_get(json_object_get(doc, "rows"), 0);

	return json_number_value(json_object_get(json_object_get(row, side), "avg"));
}

static void the_value_of_all_is_no_merge_of_its_parts(void **state)
{
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	fill(&a, 100, "sda");
	fill(&b, 200, "nvme0q1");
	doc = compare(&a, &b, NULL);
	assert_float_equal(avg_of(doc, "a"), 1001.5, 1e-9);
	assert_float_equal(avg_of(doc, "b"), 2001.5, 1e-9);
	assert_false(has_reason(doc, "labels_differ"));
	json_decref(doc);
	doc = compare(&a, &b, "eth0");
	assert_float_equal(avg_of(doc, "a"), 101.5, 1e-9);
	assert_false(has_reason(doc, "labels_differ"));
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

/* Without a value of all, different parts are merged, and that is said. */
static void different_parts_are_said(void **state)
{
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct run *ra = run_new(RUN_MEASURED), *rb = run_new(RUN_MEASURED);

		ra->state = rb->state = RUN_OK;
		add(ra, "sda", 5 + i);
		add(rb, "sdb", 6 + i);
		runs_add(&a, ra);
		runs_add(&b, rb);
	}
	doc = compare(&a, &b, NULL);
	assert_true(has_reason(doc, "labels_differ"));
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

static void what_a_box_lacks_says_why(void **state)
{
	struct runs a = {0}, b = {0};
	struct compare_side sa, sb;
	struct compare_options o = default_options();
	struct err err = {0};
	json_t *doc = NULL;
	struct series *s;

	(void)state;
	fill(&a, 1, "x");
	fill(&b, 2, "x");
	s = run_add_series(b.v[0], "lockstat_wait", SERIES_ABSENT, "ns/s");
	s->reason = xstrdup("this kernel has no /proc/lock_stat");
	run_add_series(a.v[0], "lockstat_wait", SERIES_VALUE, "ns/s")->value = 5;
	sa = (struct compare_side){.name = "A", .runs = a.v, .n = a.len};
	sb = (struct compare_side){.name = "B", .runs = b.v, .n = b.len};
	o.metric = "lockstat_wait";
	assert_int_equal(compare_document(&sa, &sb, &o, &doc, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "not measured in B: this kernel has no /proc/lock_stat"));
	o.metric = "nothing_of_the_kind";
	assert_int_equal(compare_document(&sa, &sb, &o, &doc, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "A has: interrupts"));
	runs_done(&a);
	runs_done(&b);
}

static void disturbed_runs_are_flagged(void **state)
{
	struct strbuf text CLEANUP(strbuf_done) = {0}, markdown CLEANUP(strbuf_done) = {0};
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	fill(&a, 100, "sda");
	fill(&b, 200, "sda");
	run_note(a.v[1], "steal", "the hypervisor gave 1 %%");
	run_note(b.v[0], "throttled", "too hot");
	run_note(b.v[2], "throttled", "too hot");
	run_note(b.v[2], "something", "else");
	doc = compare(&a, &b, NULL);
	compare_render_text(doc, &text);
	assert_non_null(
		strstr(text.data, "flagged: CPU time stolen by the hypervisor in 1 of 4 A"));
	compare_render_markdown(doc, &markdown);
	assert_non_null(strstr(markdown.data, "throttling by heat in 0 of 4 A and 2 of 4 B runs"));
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

static void times_a_second_have_a_scale(void **state)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	struct runs a = {0}, b = {0};
	json_t *doc;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct run *ra = run_new(RUN_MEASURED), *rb = run_new(RUN_MEASURED);

		ra->state = rb->state = RUN_OK;
		run_add_series(ra, "interrupts", SERIES_VALUE, "ns/s")->value = 117600000 + i;
		run_add_series(rb, "interrupts", SERIES_VALUE, "ns/s")->value = 261500000 + i;
		runs_add(&a, ra);
		runs_add(&b, rb);
	}
	doc = compare(&a, &b, NULL);
	compare_render_text(doc, &text);
	assert_non_null(strstr(text.data, "117.6 ms/s"));
	json_decref(doc);
	runs_done(&a);
	runs_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_value_of_all_is_no_merge_of_its_parts),
		cmocka_unit_test(different_parts_are_said),
		cmocka_unit_test(what_a_box_lacks_says_why),
		cmocka_unit_test(disturbed_runs_are_flagged),
		cmocka_unit_test(times_a_second_have_a_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
