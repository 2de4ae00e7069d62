/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "agent/assignment.h"
#include "common/strbuf.h"

#define UID "0123456789abcdef0123456789abcdef"

/* The parts that the cases replace. */
struct parts {
	const char *id, *name, *uid, *factors, *tune, *order, *workload;
};

static const struct parts good = {
	.id = "\"a_7\"",
	.name = "\"rq one\"",
	.uid = "\"" UID "\"",
	.factors = "[{\"name\":\"rq\",\"levels\":[\"0\",\"a "
		   "b\"]},{\"name\":\"x\",\"levels\":[\"1\"]}]",
	.tune = "{\"rq\":\"rq_affinity\",\"x\":null}",
	.order = "\"abba\"",
	.workload = "\"fio-randread\"",
};

static int parse(const struct parts *p, struct assignment *a, struct err *err)
{
	CLEANUP(freep)
	char *json =
		xasprintf("{\"assignment\":{\"id\":%s,\"experiment\":%s,\"uid\":%s,\"design\":{"
			  "\"factors\":%s,\"order\":%s,\"runs_per_cell\":3,\"seed\":9,"
			  "\"total_runs\":6},\"known\":\"1-2\",\"plan\":{"
			  "\"tune\":%s,\"workload\":%s,\"warmup_ns\":5,\"duration_ns\":6,"
			  "\"retries\":1,\"on_failure\":\"stop\",\"quiet\":true}}}",
			  p->id, p->name, p->uid, p->factors, p->order, p->tune, p->workload);

	return assignment_parse(json, strlen(json), a, err);
}

static void test_good(void **state)
{
	static const char *const want[] = {"--experiment=rq one",
					   "--experiment-uid=" UID,
					   "--factor=rq='0','a b'",
					   "--tune=rq=rq_affinity",
					   "--factor=x='1'",
					   "--order=abba",
					   "--runs=3",
					   "--seed=9",
					   "--warmup=5ns",
					   "--duration=6ns",
					   "--retries=1",
					   "--on-failure=stop",
					   "--workload=fio-randread",
					   "--quiet",
					   NULL};
	struct assignment a;
	struct err err;
	size_t i = 0;

	(void)state;
	assert_int_equal(parse(&good, &a, &err), 0);
	assert_int_equal(a.id, 7);
	for (; want[i] && a.args[i]; i++)
		assert_string_equal(a.args[i], want[i]);
	assert_null(want[i]);
	assert_null(a.args[i]);
	assert_string_equal(a.plan.uid, UID);
	assert_int_equal(a.plan.total, 6);
	assert_int_equal(a.plan.seed, 9);
	assert_string_equal(a.known, "1-2");
	assert_true(a.quiet);
	assignment_done(&a);
}

static void test_nothing_to_do(void **state)
{
	struct assignment a;
	struct err err;

	(void)state;
	assert_int_equal(assignment_parse("{\"assignment\":null}", 19, &a, &err), 0);
	assert_int_equal(a.id, 0);
	assignment_done(&a);
}

/* A server must not be able to name a path, a command or an option. */
static void test_what_a_server_may_not_say(void **state)
{
	struct parts cases[] = {
		{.tune = "{\"rq\":\"/sys/block/vda/queue/rq_affinity\"}"},
		{.tune = "{\"rq\":\"kernel.sched_rt_runtime_us\"}"},
		{.tune = "{\"rq\":\"../x\"}"},
		{.tune = "{\"rq\":7}"},
		{.tune = "{\"rq\":\"\"}"},
		{.workload = "\"/bin/sh\""},
		{.workload = "\"fio --x\""},
		{.workload = "[\"sh\"]"},
		{.order = "\"abba --spool=/etc\""},
		{.name = "\"../../etc/x\""},
		{.name = "\"a\\nb\""},
		{.name = "\"\""},
		{.uid = "\"0123\""},
		{.uid = "null"},
		{.factors = "[{\"name\":\"rq\",\"levels\":[\"0'\"]}]"},
		{.factors = "[{\"name\":\"rq\",\"levels\":[\"0\\n1\"]}]"},
		{.factors = "[{\"name\":\"rq\",\"levels\":[]}]"},
		{.factors = "[{\"name\":\"r=q\",\"levels\":[\"0\"]}]"},
		{.factors = "[7]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct parts p = good;
		struct assignment a;
		struct err err = {0};

		p.tune = cases[i].tune ? cases[i].tune : p.tune;
		p.workload = cases[i].workload ? cases[i].workload : p.workload;
		p.order = cases[i].order ? cases[i].order : p.order;
		p.name = cases[i].name ? cases[i].name : p.name;
		p.uid = cases[i].uid ? cases[i].uid : p.uid;
		p.factors = cases[i].factors ? cases[i].factors : p.factors;
		if (!parse(&p, &a, &err))
			fail_msg("case %zu was accepted", i);
		assert_int_equal(a.id, 7); /* so that the refusal can be reported */
		assert_true(*err.text);
		assignment_done(&a);
	}
}

static void test_no_answer_of_ours(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "[]",
					  "{}",
					  "{\"assignment\":{}}",
					  "{\"assignment\":{\"id\":\"r_7\"}}",
					  "{\"assignment\":{\"id\":\"a_-1\"}}"};
	struct assignment a;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(assignment_parse(bad[i], strlen(bad[i]), &a, &err), ERR_REMOTE);
		assert_int_equal(a.id, 0);
		assignment_done(&a);
	}
}

static void test_too_many_factors(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	struct parts p = good;
	struct assignment a;
	struct err err;

	(void)state;
	for (int i = 0; i < 200; i++)
		strbuf_printf(&b, "%s{\"name\":\"f%d\",\"levels\":[\"0\"]}", i ? "," : "[", i);
	strbuf_puts(&b, "]");
	p.factors = b.data;
	assert_true(parse(&p, &a, &err) < 0);
	assignment_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_what_a_server_may_not_say),
		cmocka_unit_test(test_no_answer_of_ours),
		cmocka_unit_test(test_too_many_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
