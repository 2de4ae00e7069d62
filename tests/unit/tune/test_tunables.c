/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/tune/tunables.h"

static int parse(struct tunables *t, const char *text, struct err *err)
{
	return tunables_parse(t, "box.conf", text, strlen(text), err);
}

static void test_good(void **state)
{
	static const char text[] =
		"[rq]\nvalues = 0 1 'a b'\npath = /sys/block/vda/queue/rq_affinity\n"
		"[rx]\ndescription = coalescing\n"
		"apply = /bin/ethtool -C eth0 rx-usecs {value}\n"
		"verify = /bin/show eth0\n"
		"restore = /bin/ethtool -C eth0 rx-usecs {old}\n"
		"timeout = 250ms\n"
		"[ker]\nvalues = a b\napply = /b {value}\nverify = /v\nreboot = /r now\n"
		"boot_timeout = 90s\n";
	struct tunables t = {0};
	const struct tunable *rq, *rx;
	struct err err;

	(void)state;
	assert_int_equal(parse(&t, text, &err), 0);
	rq = tunables_find(&t, "rq");
	rx = tunables_find(&t, "rx");
	assert_non_null(rq);
	assert_non_null(rx);
	assert_null(tunables_find(&t, "ry"));
	assert_string_equal(rq->path, "/sys/block/vda/queue/rq_affinity");
	assert_int_equal(rq->values_len, 3);
	assert_true(tunable_allows(rq, "a b"));
	assert_false(tunable_allows(rq, "2"));
	assert_true(tunable_allows(rx, "anything"));
	assert_string_equal(rx->apply[4], "{value}");
	assert_string_equal(rx->restore[4], "{old}");
	assert_int_equal(rx->timeout_ns, 250 * NS_PER_MS);
	assert_null(rx->reboot);
	assert_string_equal(tunables_find(&t, "ker")->reboot[1], "now");
	assert_int_equal(tunables_find(&t, "ker")->boot_timeout_ns, 90 * NS_PER_SEC);
	tunables_done(&t);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"path = /sys/x\n", "before the first"},
		{"[a b]\npath = /sys/x\n", "is no name"},
		{"[a]\npath = /sys/x\n[a]\npath = /sys/y\n", "stands twice"},
		{"[a]\npath = /etc/passwd\n", "begins with neither"},
		{"[a]\npath = /sys/x\npath = /sys/y\n", "stands twice"},
		{"[a]\ncolour = red\n", "is unknown"},
		{"[a]\n", "needs either path"},
		{"[a]\napply = /bin/x {value}\n", "needs either path"},
		{"[a]\napply = /bin/x\nverify = /bin/y\n", "does not mention {value}"},
		{"[a]\napply = x {value}\nverify = /bin/y\n", "absolute path"},
		{"[a]\napply = /x {value}\nverify = /y\nrestore = /x\n", "does not mention {old}"},
		{"[a]\npath = /sys/x\nverify = /bin/y\n", "both path and steps"},
		{"[a]\npath = /sys/x\ntimeout = 3h\n", "at most 10 min"},
		{"[a]\npath = /sys/x\nreboot = /x\n", "both path and steps"},
		{"[a]\napply = /x {value}\nverify = /y\nreboot = /r\n", "lists no values"},
		{"[a]\nvalues = 1\napply = /x {value}\nverify = /y\nreboot = /r\nrestore = /x "
		 "{old}\n",
		 "both reboot and restore"},
		{"[a]\npath = /sys/x\nboot_timeout = 3h\n", "at most 120 min"},
		{"[a]\npath = /sys/x\nvalues = 'a\n", "no partner"},
		{"[a]\npath = /sys/x\nvalues = ''\n", "empty value"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tunables t = {0};
		struct err err = {0};

		assert_true(parse(&t, cases[i].text, &err) < 0);
		if (!strstr(err.text, cases[i].says) || !strstr(err.text, "box.conf"))
			fail_msg("case %zu says: %s", i, err.text);
		tunables_done(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
