/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which late wake-ups are read: one of a stall, the worst of each slot, 10 a second after a burst
 * of
 * 20. Sequences 31 and 32 of the analyser's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/blame_ration.h"

#define MS(x) ((int64_t)(x)*NS_PER_MS)

static enum ration_word ask(struct ration *r, int64_t due_ms, int64_t late_ms)
{
	return ration_ask(r, MS(due_ms), MS(due_ms + late_ms));
}

/* A stall of 50 ms at 1 kHz makes 50 late samples: one cause. */
static void t31_one_stall_is_one_read(void **state)
{
	struct ration r = {0};

	(void)state;
	assert_int_equal(ask(&r, 1000, 50), RATION_READ);
	for (int64_t k = 1; k < 50; k++)
		assert_int_equal(ask(&r, 1000 + k, 50 - k), RATION_SAME);
	/* The next one begins where the stall has ended: another cause, but not the worst. */
	assert_int_equal(ask(&r, 1050, 1), RATION_SKIP);
}

static void t32_the_worst_of_a_slot_is_kept(void **state)
{
	struct ration r = {0};

	(void)state;
	assert_int_equal(ask(&r, 1000, 2), RATION_READ);
	assert_int_equal(ask(&r, 1010, 1), RATION_SKIP);
	assert_int_equal(ask(&r, 1020, 2), RATION_SKIP); /* no worse */
	assert_int_equal(ask(&r, 1030, 5), RATION_WORSE);
	assert_int_equal(ask(&r, 1040, 4), RATION_SKIP);
	assert_false(ration_slot_over(&r, MS(1101)));
	/* 100 ms after the first read of 1002 ms the slot is over: its worst is final, once. */
	assert_true(ration_slot_over(&r, MS(1102)));
	assert_false(ration_slot_over(&r, MS(1200)));
	assert_int_equal(ask(&r, 1110, 1), RATION_READ);
}

/* A slot ends by itself when the next one asks. */
static void t32_a_late_question_ends_the_slot(void **state)
{
	struct ration r = {0};

	(void)state;
	assert_int_equal(ask(&r, 1000, 9), RATION_READ);
	assert_int_equal(ask(&r, 1200, 1), RATION_READ);
}

/* 100 breaches a second for a minute: the burst, then what is refilled. */
static void t32_the_bucket_limits(void **state)
{
	struct ration r = {.per_second = 2};
	unsigned int read = 0;

	(void)state;
	for (int64_t t = 0; t < 60000; t += 10)
		read += ask(&r, 1000 + t, 1) == RATION_READ;
	assert_in_range(read, RATION_BURST + 2 * 60 - 2, RATION_BURST + 2 * 60 + 2);
}

/* The slots alone allow 10 a second, which is what the bucket refills: nothing is skipped then. */
static void t32_the_usual_rate(void **state)
{
	struct ration r = {0};
	unsigned int read = 0;

	(void)state;
	for (int64_t t = 0; t < 60000; t += 10)
		read += ask(&r, 1000 + t, 1) == RATION_READ;
	assert_in_range(read, RATION_PER_SECOND * 54, RATION_PER_SECOND * 60);
}

/* An hour of rest fills the bucket, no more. */
static void t32_a_rest_is_a_burst(void **state)
{
	struct ration r = {.per_second = 1};
	unsigned int read = 0;

	(void)state;
	for (int64_t t = 0; t < 10000; t += 100)
		(void)ask(&r, 1000 + t, 1);
	for (int64_t t = 0; t < 3000; t += 101)
		read += ask(&r, 3600 * 1000 + t, 1) == RATION_READ;
	assert_in_range(read, RATION_BURST, RATION_BURST + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t31_one_stall_is_one_read),
		cmocka_unit_test(t32_the_worst_of_a_slot_is_kept),
		cmocka_unit_test(t32_a_late_question_ends_the_slot),
		cmocka_unit_test(t32_the_bucket_limits),
		cmocka_unit_test(t32_the_usual_rate),
		cmocka_unit_test(t32_a_rest_is_a_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
