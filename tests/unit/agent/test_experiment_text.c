/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <signal.h>

#include "agent/experiment.h"
#include "common/parse.h"

static char fio[] = "fio", arg[] = "--name=it's \"x\"";
static char *argv_fio[] = {fio, arg, NULL};

static void make(struct experiment_conf *c)
{
	struct err err;

	*c = (struct experiment_conf){.name = "rq & co",
				      .argv = argv_fio,
				      .warmup_ns = 2 * NS_PER_SEC,
				      .duration_ns = 30 * NS_PER_SEC};
	strcpy(c->uid, "0123456789abcdef0123456789abcdef");
	c->design.order = ORDER_ABBA;
	c->design.runs_per_cell = 2;
	c->design.seed = 7;
	assert_int_equal(design_add_factor(&c->design, "rq_affinity=0,1", &err), 0);
	assert_int_equal(design_add_factor(&c->design, "state='a b'", &err), 0);
	assert_int_equal(design_set_tune(&c->design, "rq_affinity=/sys/x", &err), 0);
	assert_int_equal(design_make(&c->design, &err), 0);
}

/* Parsed again by jansson, with the names of the protocol. */
static void test_start(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	struct experiment_conf c;
	const char *name, *uid, *order, *f1, *f2, *argv1;
	int runs_per_cell, total, seed, pos, block, attempt;
	json_int_t warmup, duration, quiet;
	json_t *j, *wname, *factors;

	(void)state;
	make(&c);
	strbuf_putc(&b, '{');
	experiment_put_start(&c, &c.design.runs[2], 3, 99, &b);
	strbuf_putc(&b, '}');
	j = json_loads(b.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(j);
	assert_int_equal(
		json_unpack_ex(j, NULL, JSON_STRICT,
			       "{s:{s:s,s:s,s:o,s:s,s:i,s:i,s:i},s:{s:s,s:s},s:i,s:i,s:i,s:I,s:I,"
			       "s:{s:[s,s],s:o},s:I}",
			       "experiment", "name", &name, "uid", &uid, "factors", &factors,
			       "order", &order, "runs_per_cell", &runs_per_cell, "total_runs",
			       &total, "seed", &seed, "factors", "rq_affinity", &f1, "state", &f2,
			       "order", &pos, "block", &block, "attempt", &attempt, "warmup_ns",
			       &warmup, "duration_ns", &duration, "workload", "argv", &f2, &argv1,
			       "name", &wname, "quiet_until_ns", &quiet),
		0);
	assert_string_equal(name, "rq & co");
	assert_string_equal(order, "abba");
	assert_int_equal(json_array_size(factors), 2);
	assert_string_equal(f1, "1"); /* the third run of A B | B A */
	assert_int_equal(pos, 3);
	assert_int_equal(block, 2);
	assert_int_equal(attempt, 3);
	assert_int_equal(total, 4);
	assert_int_equal(seed, 7);
	assert_string_equal(argv1, arg);
	assert_true(json_is_null(wname));
	assert_int_equal(quiet, 99);
	json_decref(j);
	design_done(&c.design);
}

/* Arguments may hold any bytes and be of any length; the record may not. */
static void test_start_of_odd_arguments(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	CLEANUP(freep) char *big = xcalloc(1, 100001);
	char lines[] = "a\nb\tc", escape[] = "\x1b[31m \xff", utf8[] = "\xc2\xb5s";
	char *argv[] = {lines, escape, utf8, big, NULL};
	struct experiment_conf c;
	const char *got[4];
	json_t *j;

	(void)state;
	make(&c);
	for (size_t i = 0; i < 100000; i += 2) /* the cut falls inside a character */
		memcpy(big + i + (i == 99998 ? 0 : 1), "\xc2\xb5", i == 99998 ? 0 : 2);
	big[0] = 'x';
	big[99999] = '\0';
	c.argv = argv;
	strbuf_putc(&b, '{');
	experiment_put_start(&c, &c.design.runs[0], 1, 0, &b);
	strbuf_putc(&b, '}');
	j = json_loads(b.data, 0, NULL);
	assert_non_null(j);
	assert_int_equal(json_unpack(j, "{s:{s:[s,s,s,s]}}", "workload", "argv", &got[0], &got[1],
				     &got[2], &got[3]),
			 0);
	assert_string_equal(got[0], lines);
	assert_string_equal(got[1], "?[31m ?");
	assert_string_equal(got[2], utf8);
	assert_in_range(strlen(got[3]), 1990, 2010);
	assert_true(text_is_clean(got[3], strlen(got[3])));
	assert_non_null(strstr(got[3], "\xc2\xb5 [...]"));
	json_decref(j);
	design_done(&c.design);
}

static void test_workload(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	const struct workload_result r = {
		.exit_status = -1, .signal = 9, .elapsed_ns = 5, .max_rss_bytes = 6};

	(void)state;
	experiment_put_workload(&r, &b);
	assert_string_equal(b.data, "{\"exit_status\":null,\"signal\":9,\"elapsed_ns\":5,"
				    "\"user_ns\":0,\"sys_ns\":0,\"max_rss_bytes\":6}");
}

static void test_fault(void **state)
{
	char buf[100];

	(void)state;
	assert_null(experiment_fault(&(struct workload_result){0}, buf));
	assert_null(experiment_fault(
		&(struct workload_result){.exit_status = -1, .signal = SIGTERM, .stopped = true},
		buf));
	assert_string_equal(experiment_fault(&(struct workload_result){.exit_status = 2}, buf),
			    "the workload ended with exit status 2");
	assert_string_equal(
		experiment_fault(&(struct workload_result){.exit_status = -1, .signal = SIGSEGV},
				 buf),
		"the workload was killed by signal 11 (SIGSEGV)");
}

static void test_summary(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	struct run_result runs[] = {
		{.cell = 0,
		 .ok = true,
		 .has_latency = true,
		 .p50_ns = 10,
		 .p99_ns = 2000,
		 .max_ns = 3},
		{.cell = 0,
		 .ok = true,
		 .has_latency = true,
		 .p50_ns = 30,
		 .p99_ns = 9000,
		 .max_ns = 3},
		{.cell = 0,
		 .ok = true,
		 .has_latency = true,
		 .p50_ns = 20,
		 .p99_ns = 7000,
		 .max_ns = 3},
		{.cell = 1,
		 .ok = false,
		 .has_latency = true,
		 .p50_ns = 1,
		 .p99_ns = 1,
		 .max_ns = 1},
	};
	struct experiment_result even = {.runs = runs, .len = 2};
	struct experiment_result r = {.runs = runs, .len = 4, .failed = 1, .left = 12};
	struct experiment_conf c;

	(void)state;
	make(&c);
	experiment_put_summary(&c, &r, "http://box:8420", "/spool", &b);
	assert_non_null(strstr(b.data, "3 of 4 runs ended well, 1 failed"));
	assert_non_null(strstr(b.data, "rq_affinity=0, state=a b          3      20 ns"));
	assert_non_null(strstr(b.data, "rq_affinity=1, state=a b          0          -"));
	assert_non_null(strstr(b.data, "12 records are still in the spool /spool"));
	assert_non_null(strstr(b.data, "--b 'experiment=\"rq & co\",rq_affinity=1,"
				       "factor.state=\"a b\"'"));
	assert_non_null(strstr(b.data, "http://box:8420/compare?a=experiment%3D%22rq%20%26%20co%22,"
				       "rq_affinity%3D0,factor.state%3D%22a%20b%22&b="));
	strbuf_clear(&b);
	experiment_put_summary(&c, &r, NULL, "/spool", &b);
	assert_non_null(strstr(b.data, "No server was named"));
	assert_null(strstr(b.data, "Compare:"));
	strbuf_clear(&b);
	experiment_put_summary(&c, &even, NULL, "/spool", &b);
	assert_non_null(strstr(b.data, "2      20 ns     5.5 us       3 ns"));
	design_done(&c.design);
}

static void test_plan(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	struct experiment_conf c;
	struct err err;

	(void)state;
	make(&c);
	experiment_put_plan(&c, true, &b);
	assert_non_null(strstr(b.data, "rq_affinity: 0, 1  (sets /sys/x)"));
	assert_non_null(strstr(b.data, "state: a b  (a label: nothing is set; the workload sees "
				       "$RIGSTAT_FACTOR_STATE)"));
	assert_non_null(strstr(b.data, "run 3/4  block 2  rq_affinity=1, state=a b"));
	assert_null(strstr(b.data, "warning"));
	strbuf_clear(&b);
	c.design.order = ORDER_SEQUENTIAL;
	assert_int_equal(design_make(&c.design, &err), 0);
	experiment_put_plan(&c, false, &b);
	assert_non_null(strstr(b.data, "warning: sequential order: a drift of the box cannot be "
				       "told from an effect"));
	design_done(&c.design);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_of_odd_arguments),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_workload),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
