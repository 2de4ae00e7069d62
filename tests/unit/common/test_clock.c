/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as text: read, written, and refused where int64 nanoseconds end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/clock.h"

static void reads_what_it_writes(void **state)
{
	static const char *const same[] = {"1970-01-01T00:00:00Z", "2026-11-30T19:45:07.123456789Z",
					   "1678-01-01T00:00:00Z", "2261-12-31T23:59:59Z"};
	char buf[40];
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		assert_true(clock_parse_rfc3339(same[i], &ns));
		assert_string_equal(clock_rfc3339(ns, buf, sizeof(buf)), same[i]);
	}
	assert_true(clock_parse_rfc3339("1970-01-01T01:00:00+01:00", &ns));
	assert_int_equal(ns, 0);
}

/* The first was found by fuzzing selectors: the product overflowed. */
static void refuses_years_that_ns_do_not_hold(void **state)
{
	static const char *const bad[] = {"4052-10-28", "2262-01-01", "1677-12-31",
					  "9999-12-31T23:59:59Z", "0000-01-01T00:00:00-99:59"};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(clock_parse_rfc3339(bad[i], &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_it_writes),
		cmocka_unit_test(refuses_years_that_ns_do_not_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
