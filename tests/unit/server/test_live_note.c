/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes between servers: every form of the triggers, what is refused, and the longest list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/live_note.h"

static void test_forms_of_the_triggers(void **state)
{
	struct live_note n;
	struct err err;

	(void)state;
	assert_int_equal(live_note_read("{\"kind\" : \"run\", \"what\" : \"end\", \"host\" : 3, "
					"\"experiment\" : 2, \"run\" : 17}",
					&n, &err),
			 0);
	assert_int_equal(n.kind, NOTE_RUN);
	assert_int_equal(n.what, NOTE_END);
	assert_int_equal(n.host, 3);
	assert_int_equal(n.experiment, 2);
	assert_int_equal(n.run, 17);
	assert_int_equal(live_note_read("{\"kind\":\"run\",\"what\":\"changed\"}", &n, &err), 0);
	assert_int_equal(n.run, 0);
	assert_int_equal(
		live_note_read("{\"kind\":\"assignment\",\"what\":\"new\",\"host\":1}", &n, &err),
		0);
	assert_int_equal(n.kind, NOTE_ASSIGNMENT);
	assert_int_equal(live_note_read("{\"kind\":\"token\",\"what\":\"changed\"}", &n, &err), 0);
	assert_int_equal(n.kind, NOTE_TOKEN);
}

static void test_what_is_not_ours_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"{}",
		"{\"type\":\"assignment\"}",
		"{\"kind\":\"run\"}",
		"{\"kind\":\"weather\",\"what\":\"new\"}",
		"{\"kind\":\"run\",\"what\":\"exploded\"}",
		"{\"kind\":\"data\"}",
		"{\"kind\":\"data\",\"hosts\":7}",
		"{\"kind\":1,\"what\":2}",
	};
	struct live_note n;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(live_note_read(bad[i], &n, &err), ERR_INVALID);
}

static void test_hosts_go_and_come(void **state)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	int64_t hosts[NOTE_HOSTS_MAX];
	struct live_note n;
	struct err err;

	(void)state;
	for (size_t i = 0; i < NOTE_HOSTS_MAX; i++)
		hosts[i] = INT64_MAX - NOTE_HOSTS_MAX + (int64_t)i;
	live_note_put_data(&text, hosts, NOTE_HOSTS_MAX);
	assert_true(text.len < 8000); /* PostgreSQL's limit of a payload */
	assert_int_equal(live_note_read(text.data, &n, &err), 0);
	assert_int_equal(n.kind, NOTE_DATA);
	assert_int_equal(n.n_hosts, NOTE_HOSTS_MAX);
	assert_memory_equal(n.hosts, hosts, sizeof(hosts));
	strbuf_clear(&text);
	strbuf_puts(&text, "{\"kind\":\"data\",\"hosts\":[0");
	for (size_t i = 0; i < NOTE_HOSTS_MAX; i++)
		strbuf_puts(&text, ",1");
	strbuf_puts(&text, "]}");
	assert_int_equal(live_note_read(text.data, &n, &err), ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_of_the_triggers),
		cmocka_unit_test(test_what_is_not_ours_is_refused),
		cmocka_unit_test(test_hosts_go_and_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
