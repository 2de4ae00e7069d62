/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Budgets and paces of probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/meter.h"
#include "agent/probe.h"

static void within_the_budget_nothing_happens(void **state)
{
	struct meter m = {.budget = 0.01};

	(void)state;
	meter_begin(&m, 0);
	for (int64_t s = 1; s <= 60; s++)
		assert_false(meter_spend(&m, 9 * NS_PER_MS, s * NS_PER_SEC));
	assert_int_equal(m.divisor, 1);
}

static void above_it_the_rate_halves_until_it_fits(void **state)
{
	struct meter m = {.budget = 0.001};
	int halvings = 0;

	(void)state;
	meter_begin(&m, 0);
	/* 5 ms a second at the full rate */
	for (int64_t s = 1; s <= 60; s++)
		halvings += meter_spend(&m, 5 * NS_PER_MS / m.divisor, s * NS_PER_SEC);
	assert_int_equal(halvings, 3);
	assert_int_equal(m.divisor, 8);
}

static void two_seconds_are_left_to_start(void **state)
{
	struct meter m = {.budget = 0.001};

	(void)state;
	meter_begin(&m, 100 * NS_PER_SEC);
	assert_false(meter_spend(&m, NS_PER_SEC, 101 * NS_PER_SEC));
	assert_true(meter_spend(&m, 0, 102 * NS_PER_SEC));
	assert_false(meter_spend(&m, 0, 110 * NS_PER_SEC)); /* judged anew */
}

static void there_is_an_end_of_halving(void **state)
{
	struct meter m = {.budget = 0.001};

	(void)state;
	meter_begin(&m, 0);
	for (int64_t s = 1; s <= 100; s++)
		(void)meter_spend(&m, NS_PER_SEC, s * NS_PER_SEC);
	assert_int_equal(m.divisor, METER_DIVISOR_MAX);
}

static void without_a_budget_nothing_is_judged(void **state)
{
	struct meter m = {0};

	(void)state;
	meter_begin(&m, 0);
	assert_false(meter_spend(&m, 100 * NS_PER_SEC, 100 * NS_PER_SEC));
}

static void a_run_starts_afresh_with_its_budget(void **state)
{
	struct meter m = {.budget = 0.001};

	(void)state;
	meter_begin(&m, 0);
	assert_true(meter_spend(&m, NS_PER_SEC, 2 * NS_PER_SEC));
	m.cpu_ns = 7;
	meter_begin(&m, 3 * NS_PER_SEC);
	assert_int_equal(m.divisor, 1);
	assert_int_equal(m.cpu_ns, 0);
	assert_true(m.budget > 0.0009);
}

static void json(void **state)
{
	struct meter m = {.budget = 0.001, .divisor = 2, .cpu_ns = 1234};
	struct strbuf out CLEANUP(strbuf_done) = {0};

	(void)state;
	meter_put_json(&m, "system", -1, &out);
	m.budget = 0;
	meter_put_json(&m, "io", 77, &out);
	assert_string_equal(out.data, "{\"probe\":\"system\",\"cpu_ns\":1234,\"kernel_ns\":null,"
				      "\"budget\":0.001,\"divisor\":2}"
				      "{\"probe\":\"io\",\"cpu_ns\":1234,\"kernel_ns\":77,"
				      "\"budget\":null,\"divisor\":2}");
}

/* ---- every n-th interval ---- */

static struct interval second(int64_t s, bool edge)
{
	return (struct interval){
		.t0_ns = s * NS_PER_SEC, .dt_ns = NS_PER_SEC, .measured = true, .edge = edge};
}

static void every_interval(void **state)
{
	struct interval in, all;
	struct pace p;

	(void)state;
	pace_begin(&p, 1);
	for (int64_t s = 0; s < 5; s++) {
		in = second(s, false);
		assert_true(pace_due(&p, &in, &all));
		assert_int_equal(all.t0_ns, s * NS_PER_SEC);
		assert_int_equal(all.dt_ns, NS_PER_SEC);
	}
}

/* Every third: the interval that is taken covers those before it; an edge is always taken. */
static void every_third_and_the_edge(void **state)
{
	static const bool taken[] = {false, false, true, false, true, false, false, true};
	static const int64_t from[] = {0, 0, 0, 0, 3, 0, 0, 5},
			     seconds[] = {0, 0, 3, 0, 2, 0, 0, 3};
	struct interval in, all;
	struct pace p;

	(void)state;
	pace_begin(&p, 3);
	for (int64_t s = 0; s < 8; s++) {
		in = second(s, s == 4);
		assert_int_equal(pace_due(&p, &in, &all), taken[s]);
		if (!taken[s])
			continue;
		assert_int_equal(all.t0_ns, from[s] * NS_PER_SEC);
		assert_int_equal(all.dt_ns, seconds[s] * NS_PER_SEC);
		assert_int_equal(all.edge, s == 4);
		assert_true(all.measured);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_the_budget_nothing_happens),
		cmocka_unit_test(above_it_the_rate_halves_until_it_fits),
		cmocka_unit_test(two_seconds_are_left_to_start),
		cmocka_unit_test(there_is_an_end_of_halving),
		cmocka_unit_test(without_a_budget_nothing_is_judged),
		cmocka_unit_test(a_run_starts_afresh_with_its_budget),
		cmocka_unit_test(json),
		cmocka_unit_test(every_interval),
		cmocka_unit_test(every_third_and_the_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
