/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/tune/value.h"

static void test_normal(void **state)
{
	static const char *const cases[][2] = {
		{"1\n", "1"},
		{"[none] mq-deadline kyber bfq \n", "none"},
		{"always [madvise] never\n", "madvise"},
		{"write through\n", "write through"},
		{"[only]\n", "only"},
		{"  950000 \n", "950000"},
		{"", ""},
		{"[a] [b]\n", "[a] [b]"},
	};
	char buf[TUNE_VALUE_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(value_normal(cases[i][0], buf), cases[i][1]);
}

static void test_equal(void **state)
{
	(void)state;
	assert_true(value_equal("64", "64"));
	assert_true(value_equal("0000000f", "f"));
	assert_true(value_equal("00000000,0000000F", "f"));
	assert_true(value_equal("Y", "1"));
	assert_true(value_equal("0", "N"));
	assert_true(value_equal("0", "00"));
	assert_true(value_equal("none", "none"));
	assert_false(value_equal("64", "640"));
	assert_false(value_equal("0", "1"));
	assert_false(value_equal("none", "bfq"));
	assert_false(value_equal("-1", "1"));
	assert_false(value_equal("", "0"));
	assert_false(value_equal("1,0", "1"));
}

static void test_selector(void **state)
{
	(void)state;
	assert_true(value_is_selector("[none] mq-deadline\n"));
	assert_false(value_is_selector("none mq-deadline\n"));
	assert_true(value_in_selector("[none] mq-deadline\n", "none"));
	assert_true(value_in_selector("[none] mq-deadline\n", "mq-deadline"));
	assert_false(value_in_selector("[none] mq-deadline\n", "mq"));
	assert_false(value_in_selector("[none] mq-deadline\n", "[none]"));
}

static void test_check(void **state)
{
	char longer[TUNE_VALUE_MAX + 1];
	struct err err;

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(value_check("64", &err), 0);
	assert_int_equal(value_check("", &err), ERR_INVALID);
	assert_int_equal(value_check("1\n2", &err), ERR_INVALID);
	assert_int_equal(value_check(longer, &err), ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_normal),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_selector),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
