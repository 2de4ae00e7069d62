/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options over the environment over the file over the defaults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "agent/conf.h"

static int parse(struct agent_conf *c, const char *line, int *rest, struct err *e)
{
	static char copy[500];
	char *argv[32], *save, *word;
	bool help;
	int argc = 0;

	snprintf(copy, sizeof(copy), "daemon %s", line);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	agent_conf_init(c);
	return agent_conf_args(c, argc, argv, NULL, NULL, rest, &help, e);
}

static void must_parse(struct agent_conf *c, const char *line)
{
	struct err e;
	int rest;

	if (parse(c, line, &rest, &e))
		fail_msg("\"%s\": %s", line, e.text);
}

static void must_fail(const char *line, const char *say)
{
	struct agent_conf c;
	struct err e = {0};
	int rest;

	assert_true(parse(&c, line, &rest, &e) < 0);
	if (!strstr(e.text, say))
		fail_msg("\"%s\": \"%s\" does not say \"%s\"", line, e.text, say);
	agent_conf_done(&c);
}

static void test_defaults(void **state)
{
	struct agent_conf c;

	(void)state;
	must_parse(&c, "");
	assert_null(c.server);
	assert_string_equal(c.spool_dir, "/var/lib/rigstat/spool");
	assert_int_equal(c.policy, SCHED_FIFO);
	assert_int_equal(c.priority, 80);
	assert_int_equal(c.period_ns, NS_PER_MS);
	assert_int_equal(c.interval_ns, NS_PER_SEC);
	assert_int_equal(c.watch_ns, 3600 * NS_PER_SEC);
	assert_true(c.use_dma_latency && !c.quiet && !c.cpus_given && c.cpus[0]);
	agent_conf_done(&c);
}

static void test_options(void **state)
{
	struct agent_conf c;

	(void)state;
	must_parse(&c, "--server http://box:8420/ --host=a-1 --cpus 1,3 --policy rr --priority=5 "
		       "--period 500us --quiet --no-dma-latency --sync off --spool-max 8M");
	assert_string_equal(c.server, "http://box:8420"); /* without the last slash */
	assert_string_equal(c.host, "a-1");
	assert_true(!c.cpus[0] && c.cpus[1] && !c.cpus[2] && c.cpus[3] && c.cpus_given);
	assert_int_equal(c.policy, SCHED_RR);
	assert_int_equal(c.priority, 5);
	assert_int_equal(c.period_ns, 500 * NS_PER_US);
	assert_true(c.quiet && !c.use_dma_latency);
	assert_int_equal(c.sync, SYNC_OFF);
	assert_int_equal(c.spool_bytes_max, 8 << 20);
	agent_conf_done(&c);
}

static void test_rest(void **state)
{
	struct agent_conf c;
	struct err e;
	int rest;

	(void)state;
	assert_int_equal(parse(&c, "--quiet fio --server x", &rest, &e), 0);
	assert_int_equal(rest, 2);
	agent_conf_done(&c);
	assert_int_equal(parse(&c, "--quiet -- --host", &rest, &e), 0);
	assert_int_equal(rest, 3);
	assert_string_not_equal(c.host, "");
	agent_conf_done(&c);
}

static void test_wrong(void **state)
{
	(void)state;
	must_fail("--colour", "--colour");
	must_fail("--host", "needs a value");
	must_fail("--host a/b", "slash");
	must_fail("--server ftp://x", "http://");
	must_fail("--cpus 3-1", "cpus");
	must_fail("--period 1ns", "between");
	must_fail("--priority 0", "1..99");
	must_fail("--quiet=perhaps", "yes nor no");
	must_fail("--no-host", "--no-host");
	must_fail("--config", "needs a value");
	must_fail("--sync sometimes", "interval, always, quiet, off");
}

static void test_file_and_environment(void **state)
{
	static const char text[] =
		"# box\nserver = http://from-file\nhost = from-file\nquiet = yes\n"
		"\n; another comment\nperiod=2ms\n";
	static const char bad[] = "host = a\n\nspeed = 9\n";
	char path[] = "/tmp/rigstat-conf-XXXXXX", line[200];
	struct agent_conf c;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	setenv("RIGSTAT_SERVER", "http://from-environment", 1);
	snprintf(line, sizeof(line), "--host option --config %s --no-quiet", path);
	must_parse(&c, line);
	assert_string_equal(c.server, "http://from-environment");
	assert_string_equal(c.host, "option");
	assert_int_equal(c.period_ns, 2 * NS_PER_MS);
	assert_false(c.quiet);
	agent_conf_done(&c);
	snprintf(line, sizeof(line), "--config=%s --server http://option", path);
	must_parse(&c, line);
	assert_string_equal(c.server, "http://option");
	assert_true(c.quiet);
	agent_conf_done(&c);
	unsetenv("RIGSTAT_SERVER");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bad, sizeof(bad) - 1, 0), sizeof(bad) - 1);
	must_fail(line, "speed");
	must_fail(line, "3"); /* the line */
	close(fd);
	unlink(path);
	must_fail(line, path);
}

static void test_budgets(void **state)
{
	struct agent_conf c;

	(void)state;
	must_parse(&c, "--no-system --budget system=0.5 --budget=blame=2");
	assert_false(c.system);
	assert_int_equal(c.budgets_len, 2);
	assert_string_equal(c.budgets[0].probe, "system");
	assert_true(c.budgets[0].part > 0.00499 && c.budgets[0].part < 0.00501);
	assert_string_equal(c.budgets[1].probe, "blame");
	agent_conf_done(&c);
	must_fail("--budget wakeup=1", "is not PROBE=PERCENT");
	must_fail("--budget system", "is not PROBE=PERCENT");
	must_fail("--budget syste=1", "is not PROBE=PERCENT");
	must_fail("--budget system=0", "above 0");
	must_fail("--budget system=101", "above 0");
	must_fail("--budget system=x", "budget: ");
}

static void test_events(void **state)
{
	struct agent_conf c;

	(void)state;
	must_parse(&c, "--event msr/smi/ --event=sched:sched_switch --event msr/smi/");
	assert_int_equal(c.events_len, 2); /* once each */
	assert_string_equal(c.events[0], "msr/smi/");
	assert_string_equal(c.events[1], "sched:sched_switch");
	agent_conf_done(&c);
	must_fail("--event a\"b", "is no event");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_file_and_environment),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
