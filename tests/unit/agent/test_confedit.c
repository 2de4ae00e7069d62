/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent.conf keeps what a person wrote; when a token is renewed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/confedit.h"
#include "agent/renewal.h"

static void check(const char *text, const char *expected)
{
	static const struct conf_pair pairs[] = {
		{"server", "https://lab"}, {"host", "box"}, {"server-pin", NULL}};
	CLEANUP(strbuf_done) struct strbuf out = {0};

	conf_edit(text, pairs, ARRAY_LEN(pairs), &out);
	assert_string_equal(out.data, expected);
}

static void test_edit(void **state)
{
	(void)state;
	check("", "server = https://lab\nhost = box\n");
	check("# server = a\nhostname = x\n  host=old\n\ncpus = 1",
	      "# server = a\nhostname = x\nhost = box\n\ncpus = 1\nserver = https://lab\n");
	check("server = a\nserver-pin = p\nserver = b\nhost = c\n",
	      "server = https://lab\nhost = box\n");
	check("server\nserver = a\n", "server\nserver = https://lab\nhost = box\n");
}

static void test_twice_is_once(void **state)
{
	(void)state;
	check("server = https://lab\nhost = box\n", "server = https://lab\nhost = box\n");
}

static void test_renewal(void **state)
{
	(void)state;
	assert_int_equal(renewal_due_ns(1000, 4000), 3000);
	assert_int_equal(renewal_due_ns(1000, 0), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_twice_is_once),
		cmocka_unit_test(test_renewal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
