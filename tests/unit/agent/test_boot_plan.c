/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes next in an experiment over boots, and its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/boot_plan.h"

#define MIN (60 * NS_PER_SEC)

/* Boots A B B A of two runs each: runs 0-1, 2-3, 4-5, 6-7. */
static void make(struct design *d)
{
	struct err err;

	*d = (struct design){.order = ORDER_ABBA, .boots = 2, .runs_per_boot = 2};
	assert_int_equal(design_add_factor(d, "kernel=A,B", &err), 0);
	assert_int_equal(design_set_boot(d, "kernel=k", &err), 0);
	assert_int_equal(design_make(d, &err), 0);
	assert_int_equal(design_boots(d), 4);
}

static void test_decisions(void **state)
{
	static const struct {
		uint32_t boot;
		bool running;
		size_t next;
		const char *boot_id;
		int64_t asked_ns;
		struct boot_now now;
		enum boot_step step;
		uint32_t want_boot;
		size_t first, end;
		const char *why;
	} cases[] = {
		{0, false, 0, "", 0, {"b0", "A", MIN}, BOOT_ASK, 1, 0, 0, ""},
		{2, false, 0, "b1", MIN, {"b1", "A", MIN}, BOOT_WAIT, 2, 2, 4, ""},
		{2, false, 0, "b1", MIN, {"b1", "B", MIN}, BOOT_WAIT, 2, 2, 4, ""},
		{2,
		 false,
		 0,
		 "b1",
		 MIN,
		 {"b1", "A", 7 * MIN},
		 BOOT_SKIP,
		 2,
		 2,
		 4,
		 "did not go down"},
		{2, false, 0, "b1", MIN, {"b2", "B", 2 * MIN}, BOOT_RUN, 2, 2, 4, ""},
		{2, false, 0, "b1", MIN, {"b2", "A", 2 * MIN}, BOOT_SKIP, 2, 2, 4, "in place of B"},
		{2,
		 false,
		 0,
		 "b1",
		 MIN,
		 {"b2", "B", 7 * MIN},
		 BOOT_SKIP,
		 2,
		 2,
		 4,
		 "after the limit"},
		{2, true, 3, "b2", MIN, {"b2", "B", 9 * MIN}, BOOT_RUN, 2, 3, 4, ""},
		{2, true, 3, "b2", MIN, {"b3", "B", 2 * MIN}, BOOT_SKIP, 2, 3, 4, "in the middle"},
		{2, true, 4, "b2", MIN, {"b2", "B", 2 * MIN}, BOOT_ASK, 3, 2, 4, ""},
		{4, true, 8, "b4", MIN, {"b4", "A", 2 * MIN}, BOOT_END, 5, 6, 8, ""},
		{4, true, 8, "b4", MIN, {"b5", "A", 2 * MIN}, BOOT_END, 5, 6, 8, ""},
	};
	struct design d;

	(void)state;
	make(&d);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct boot_plan p = {.boot = cases[i].boot,
				      .running = cases[i].running,
				      .next = cases[i].next,
				      .asked_ns = cases[i].asked_ns,
				      .timeout_ns = 5 * MIN};
		struct boot_decision got;

		snprintf(p.boot_id, sizeof(p.boot_id), "%s", cases[i].boot_id);
		boot_plan_decide(&p, &d, &cases[i].now, &got);
		if (got.step != cases[i].step || got.boot != cases[i].want_boot)
			fail_msg("case %zu: step %d boot %u: %s", i, got.step, got.boot, got.why);
		assert_non_null(strstr(got.why, cases[i].why));
		if (got.step == BOOT_RUN || got.step == BOOT_SKIP) {
			if (!cases[i].running)
				assert_int_equal(got.first, cases[i].first);
			assert_int_equal(got.end, cases[i].end);
		}
	}
	design_done(&d);
}

static void test_file(void **state)
{
	char dir[] = "/tmp/rigstat-boot-plan-XXXXXX", root[] = "/", name[] = "n";
	char option[] = "--experiment", value[] = "<b> \"ä\"", *argv[] = {option, value, NULL};
	struct boot_plan p = {.argv = argv,
			      .directory = root,
			      .name = name,
			      .seed = UINT64_MAX,
			      .boot = 3,
			      .running = true,
			      .next = 5,
			      .asked_ns = 1796101985290395980,
			      .timeout_ns = MIN,
			      .ok = 4,
			      .failed = 1};
	struct boot_plan got;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(boot_plan_load(dir, &got, &err), ERR_NOT_FOUND);
	assert_false(boot_plan_exists(dir));
	assert_int_equal(boot_plan_save(dir, &p, &err), 0);
	assert_true(boot_plan_exists(dir));
	assert_int_equal(boot_plan_load(dir, &got, &err), 0);
	assert_string_equal(got.argv[1], argv[1]);
	assert_null(got.argv[2]);
	assert_true(got.seed == UINT64_MAX && got.running && got.next == 5 && got.ok == 4);
	assert_true(got.asked_ns == p.asked_ns && got.timeout_ns == MIN && got.failed == 1);
	boot_plan_done(&got);
	assert_int_equal(boot_plan_remove(dir, &err), 0);
	assert_int_equal(boot_plan_remove(dir, &err), ERR_NOT_FOUND);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
