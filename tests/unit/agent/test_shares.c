/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names an application, and when samples cannot stand for a window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/shares.h"

static void test_apps(void **state)
{
	static const struct {
		const char *text, *name, *pattern;
		enum share_key key;
	} good[] = {
		{"oracle=comm:oracle*", "oracle", "oracle*", SHARE_COMM},
		{"db=leader:postgres", "db", "postgres", SHARE_LEADER},
		{"fio=exe:*/fio", "fio", "*/fio", SHARE_EXE},
		{"web=cgroup:/system.slice/nginx.service", "web", "/system.slice/nginx.service",
		 SHARE_CGROUP},
		{"odd=comm:a:b=c", "odd", "a:b=c", SHARE_COMM},
	};
	static const char *const bad[] = {
		"",	      "oracle", "oracle=", "oracle=comm", "oracle=comm:", "=comm:oracle",
		"a=thread:x", "a=com:x"};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct share_app a = {0};

		assert_int_equal(share_app_parse(good[i].text, &a, &e), 0);
		assert_string_equal(a.name, good[i].name);
		assert_string_equal(a.pattern, good[i].pattern);
		assert_int_equal(a.key, good[i].key);
		share_app_done(&a);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct share_app a = {0};

		assert_int_equal(share_app_parse(bad[i], &a, &e), ERR_INVALID);
		assert_non_null(strstr(e.text, "NAME=KEY:PATTERN"));
	}
}

static void test_lost_above_one_percent_is_refused(void **state)
{
	struct perf_sampler_counts c = {.samples = 9900, .lost = 100};
	char buf[120];

	(void)state;
	assert_null(shares_refusal(&c, 1e9, buf, sizeof(buf))); /* just 1 % */
	c.lost = 101;
	assert_string_equal(shares_refusal(&c, 1e9, buf, sizeof(buf)),
			    "101 of 10001 samples were lost: no share is given");
}

static void test_throttled_above_one_percent_is_refused(void **state)
{
	struct perf_sampler_counts c = {.samples = 1000, .throttled = 5, .throttled_ns = 40000000};
	char buf[120];

	(void)state;
	assert_null(shares_refusal(&c, 2 * 2e9, buf, sizeof(buf))); /* two CPUs, 2 s: just 1 % */
	c.throttled_ns = 60000000;
	assert_string_equal(
		shares_refusal(&c, 2 * 2e9, buf, sizeof(buf)),
		"the kernel throttled sampling for 1.5 % of the time: no share is given");
}

static void test_throttle_meter(void **state)
{
	struct throttle t = {0};

	(void)state;
	throttle_end(&t, 500); /* began before the sampler looked */
	assert_int_equal(t.total_ns, 0);
	throttle_begin(&t, 1000);
	throttle_begin(&t, 1500); /* a lost end: still the same time */
	throttle_end(&t, 4000);
	assert_int_equal(t.total_ns, 3000);
	throttle_begin(&t, 5000);
	throttle_end(&t, 6000);
	assert_int_equal(t.total_ns, 4000);
	assert_int_equal(t.times, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apps),
		cmocka_unit_test(test_lost_above_one_percent_is_refused),
		cmocka_unit_test(test_throttled_above_one_percent_is_refused),
		cmocka_unit_test(test_throttle_meter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
