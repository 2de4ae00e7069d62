/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "agent/design.h"

/* Cells as letters with blocks as digits: "A1B1B2A2". */
static char *sequence(const struct design *d)
{
	struct strbuf b = {0};

	for (size_t i = 0; i < d->runs_len; i++) {
		assert_int_equal(d->runs[i].order, i + 1);
		strbuf_printf(&b, "%c%u", 'A' + (char)d->runs[i].cell, d->runs[i].block);
	}
	return strbuf_take(&b);
}

static void make(struct design *d, const char *factor, enum design_order order, uint32_t runs,
		 uint64_t seed)
{
	struct err err;

	*d = (struct design){.order = order, .runs_per_cell = runs, .seed = seed};
	assert_int_equal(design_add_factor(d, factor, &err), 0);
	assert_int_equal(design_make(d, &err), 0);
}

static void test_orders(void **state)
{
	static const struct {
		enum design_order order;
		const char *factor, *want;
	} cases[] = {
		{ORDER_ALTERNATE, "f=0,1", "A1B1A2B2A3B3"},
		{ORDER_ABBA, "f=0,1", "A1B1B2A2A3B3"},
		{ORDER_SEQUENTIAL, "f=0,1", "A0A0A0B0B0B0"},
		{ORDER_ABBA, "f=64,32,16", "A1B1C1C2B2A2A3B3C3"},
		{ORDER_RANDOM, "f=x", "A1A2A3"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(freep) char *got = NULL;
		struct design d;

		make(&d, cases[i].factor, cases[i].order, 3, 1);
		got = sequence(&d);
		assert_string_equal(got, cases[i].want);
		design_done(&d);
	}
}

/* Boots A B, B A of a kernel; in each boot the cells of hz: kernel-major cells a b (A), c d (B). */
static void test_boots(void **state)
{
	CLEANUP(freep) char *got = NULL;
	struct design d = {.order = ORDER_ABBA, .boots = 2, .runs_per_boot = 2};
	struct err err;
	size_t first, end;

	(void)state;
	assert_int_equal(design_add_factor(&d, "hz=250,1000", &err), 0);
	assert_int_equal(design_add_factor(&d, "kernel=old,new", &err), 0);
	assert_int_equal(design_set_boot(&d, "kernel=k", &err), 0);
	assert_int_equal(design_make(&d, &err), 0);
	got = sequence(&d);
	assert_string_equal(got, "A1B1B1A1C1D1D1C1C2D2D2C2A2B2B2A2");
	assert_int_equal(design_boots(&d), 4);
	assert_int_equal(d.runs_per_cell, 4);
	design_runs_of_boot(&d, 3, &first, &end);
	assert_true(first == 8 && end == 12);
	assert_string_equal(design_level(&d, d.runs[8].cell, 0), "new");
	assert_string_equal(design_level(&d, d.runs[8].cell, 1), "250");
	assert_int_equal(d.runs[11].boot, 3);
	assert_int_equal(design_add_factor(&d, "bios=1,2", &err), 0);
	assert_int_equal(design_set_boot(&d, "bios=b", &err), ERR_CONFLICT);
	assert_int_equal(design_set_boot(&(struct design){0}, "x=b", &err), ERR_NOT_FOUND);
	design_done(&d);
}

static void test_random_blocks(void **state)
{
	CLEANUP(freep) char *first = NULL, *again = NULL, *other = NULL;
	unsigned int first_a = 0;
	struct design d;

	(void)state;
	make(&d, "f=0,1", ORDER_RANDOM, 200, 7);
	first = sequence(&d);
	for (size_t i = 0; i < d.runs_len; i += 2) {
		/* each block holds each cell once */
		assert_int_equal(d.runs[i].block, d.runs[i + 1].block);
		assert_int_equal(d.runs[i].cell + d.runs[i + 1].cell, 1);
		first_a += d.runs[i].cell == 0;
	}
	/* 200 fair coins: within 5 standard deviations of 100 */
	assert_in_range(first_a, 65, 135);
	design_done(&d);
	make(&d, "f=0,1", ORDER_RANDOM, 200, 7);
	again = sequence(&d);
	design_done(&d);
	make(&d, "f=0,1", ORDER_RANDOM, 200, 8);
	other = sequence(&d);
	design_done(&d);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
}

/* All six orders of three cells appear about equally often. */
static void test_shuffle_is_uniform(void **state)
{
	unsigned int seen[3][3] = {{0}};
	struct design d;

	(void)state;
	make(&d, "f=a,b,c", ORDER_RANDOM, 3000, 99);
	for (size_t i = 0; i < d.runs_len; i++)
		seen[i % 3][d.runs[i].cell]++;
	for (size_t i = 0; i < 9; i++)
		assert_in_range(seen[i / 3][i % 3], 870, 1130); /* 1000 +- 5 sd of 25.8 */
	design_done(&d);
}

static void test_cross(void **state)
{
	static const char *const want[] = {"a=1, b=x", "a=1, b=y,z", "a=1, b=w",
					   "a=2, b=x", "a=2, b=y,z", "a=2, b=w"};
	struct design d = {.runs_per_cell = 2, .order = ORDER_ALTERNATE};
	struct err err;

	(void)state;
	assert_int_equal(design_add_factor(&d, "a=1,2", &err), 0);
	assert_int_equal(design_add_factor(&d, "b=x,'y,z',\"w\"", &err), 0);
	assert_int_equal(design_set_tune(&d, "b=/sys/x=y", &err), 0);
	assert_int_equal(design_make(&d, &err), 0);
	assert_int_equal(d.cells, 6);
	assert_int_equal(d.runs_len, 12);
	assert_string_equal(d.factors[1].tune, "/sys/x=y");
	for (uint32_t i = 0; i < 6; i++) {
		CLEANUP(strbuf_done) struct strbuf b = {0};

		design_put_cell(&d, i, &b);
		assert_string_equal(b.data, want[i]);
	}
	design_done(&d);
}

static void test_bad_factors(void **state)
{
	static const char *const bad[] = {"x",	   "x=",   "=1",    "1x=1",  "x=1,,2",
					  "x=1,1", "x='1", "x y=1", "x=1\n2"};
	struct design d = {0};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(design_add_factor(&d, bad[i], &err), ERR_INVALID);
	assert_int_equal(d.factors_len, 0);
	assert_int_equal(design_add_factor(&d, "a-b=1", &err), 0);
	assert_int_equal(design_add_factor(&d, "A.b=1", &err), ERR_CONFLICT);
	assert_int_equal(design_set_tune(&d, "zz=/sys/x", &err), ERR_NOT_FOUND);
	assert_int_equal(design_set_tune(&d, "a-b", &err), ERR_INVALID);
	assert_int_equal(design_set_tune(&d, "a-b=t", &err), 0);
	assert_int_equal(design_set_tune(&d, "a-b=t", &err), ERR_CONFLICT);
	design_done(&d);
}

static void test_limits(void **state)
{
	struct design d = {.runs_per_cell = 100001};
	enum design_order order;
	struct err err;

	(void)state;
	assert_int_equal(design_make(&d, &err), ERR_INVALID);
	d.runs_per_cell = 0;
	assert_int_equal(design_make(&d, &err), ERR_INVALID);
	d.runs_per_cell = 2;
	assert_int_equal(design_make(&d, &err), 0); /* no factor: one cell */
	assert_int_equal(d.runs_len, 2);
	assert_int_equal(design_parse_order("abba", &order, &err), 0);
	assert_int_equal(order, ORDER_ABBA);
	assert_int_equal(design_parse_order("abab", &order, &err), ERR_INVALID);
	design_done(&d);
}

static void test_env_names(void **state)
{
	CLEANUP(freep) char *name = design_env_name("rq-affinity.2");

	(void)state;
	assert_string_equal(name, "RIGSTAT_FACTOR_RQ_AFFINITY_2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),	      cmocka_unit_test(test_boots),
		cmocka_unit_test(test_random_blocks), cmocka_unit_test(test_shuffle_is_uniform),
		cmocka_unit_test(test_cross),	      cmocka_unit_test(test_bad_factors),
		cmocka_unit_test(test_limits),	      cmocka_unit_test(test_env_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
