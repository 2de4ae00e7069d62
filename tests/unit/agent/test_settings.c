/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/settings.h"

static json_t *parse(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);

	assert_non_null(v);
	return v;
}

static void test_named_ones_are_set_and_others_go_back(void **state)
{
	struct agent_conf base, c;
	CLEANUP(strbuf_done) struct strbuf text = {0};
	json_auto_t *first = parse("{\"interval\":\"5s\",\"shares\":\"no\",\"blame\":\"off\"}");
	json_auto_t *second = parse("{\"io\":\"no\"}");
	struct err err;

	(void)state;
	agent_conf_init(&c);
	base = c;
	assert_int_equal(settings_apply(&c, &base, first, &err), 0);
	assert_int_equal(c.interval_ns, 5 * NS_PER_SEC);
	assert_false(c.shares);
	assert_int_equal(c.blame_ns, -1);
	assert_true(c.io);
	settings_put_text(first, &text);
	assert_string_equal(text.data, "blame=off, interval=5s, shares=no");
	assert_int_equal(settings_apply(&c, &base, second, &err), 0);
	assert_int_equal(c.interval_ns, NS_PER_SEC);
	assert_true(c.shares);
	assert_int_equal(c.blame_ns, base.blame_ns);
	assert_false(c.io);
	agent_conf_done(&c);
}

static void test_nothing_else_can_be_set(void **state)
{
	static const char *const bad[] = {
		"{\"interval\":\"5s\",\"server\":\"http://evil\"}",
		"{\"interval\":\"5s\",\"token-file\":\"/etc/shadow\"}",
		"{\"interval\":\"5s\",\"cpus\":\"0\"}",
		"{\"interval\":\"5s\",\"priority\":\"99\"}",
		"{\"interval\":\"5s\",\"event\":\"x\"}",
		"{\"interval\":\"5s\",\"app\":\"x=comm:y\"}",
		"{\"interval\":\"5s\",\"shares\":true}",
		"{\"interval\":\"5s\",\"shares\":\"\"}",
		"{\"interval\":\"1ns\"}",
	};
	struct agent_conf base, c;
	struct err err;

	(void)state;
	agent_conf_init(&c);
	base = c;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		json_auto_t *settings = parse(bad[i]);

		assert_true(settings_apply(&c, &base, settings, &err) < 0);
		assert_int_equal(c.interval_ns, base.interval_ns);
		assert_memory_equal(&c, &base, sizeof(c));
	}
	agent_conf_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_ones_are_set_and_others_go_back),
		cmocka_unit_test(test_nothing_else_can_be_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
