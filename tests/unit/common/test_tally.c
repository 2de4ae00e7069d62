/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting samples by value: every sample is there, in order, and memory follows the values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/import/tally.h"

#define SAMPLES 1000000

static void test_nothing(void **state)
{
	struct tally t = {0};

	(void)state;
	tally_settle(&t);
	assert_int_equal(t.len, 0);
	tally_done(&t);
}

/* Value i * i mod 7 of keys 0 to 2: the counts follow from the residues 0, 1, 2, 4. */
static void test_many_samples_of_few_values(void **state)
{
	static const int64_t values[] = {0, 1, 2, 4};
	struct tally t = {0};
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < SAMPLES; i++)
		tally_add(&t, (uint32_t)(i % 3), (int64_t)(i * i % 7));
	tally_settle(&t);
	assert_int_equal(t.len, 12);
	assert_true(t.cap <= 65536);
	for (uint32_t key = 0; key < 3; key++) {
		size_t end = tally_key_end(&t, at);
		uint64_t sum = 0;

		assert_int_equal(end - at, 4);
		for (size_t k = 0; k < 4; k++) {
			assert_int_equal(t.v[at + k].key, key);
			assert_int_equal(t.v[at + k].value, values[k]);
			sum += t.v[at + k].n;
		}
		/* Residue 0 has one i in seven, the others two. */
		assert_true(t.v[at].n * 2 - t.v[at + 1].n + 2 <= 4);
		assert_int_equal(sum, (SAMPLES - key + 2) / 3);
		at = end;
	}
	assert_int_equal(at, t.len);
	tally_done(&t);
}

static void test_all_values_differ(void **state)
{
	struct tally t = {0};

	(void)state;
	for (int64_t i = 0; i < SAMPLES; i++)
		tally_add(&t, 7, -i);
	tally_settle(&t);
	assert_int_equal(t.len, SAMPLES);
	for (int64_t i = 0; i < SAMPLES; i++) {
		assert_int_equal(t.v[i].value, i - SAMPLES + 1);
		assert_int_equal(t.v[i].n, 1);
	}
	tally_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_many_samples_of_few_values),
		cmocka_unit_test(test_all_values_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
