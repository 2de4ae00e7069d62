/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Correction for skipped periods: the rule of HdrHistogram's documentation, counted by hand. */
#include "common/compare/omission.h"

#include "compare_data.h"

static uint64_t count_at(const struct hist *h, int64_t v)
{
	for (size_t i = 0; i < h->len; i++)
		if (h->b[i].lo <= v && v < h->b[i].hi)
			return h->b[i].n;
	return 0;
}

static void test_linear(void **state)
{
	struct hist h = {.scheme = HIST_LINEAR, .width = 10};
	struct err e;

	(void)state;
	assert_int_equal(hist_append(&h, 50, 60, 1000, &e), 0);
	assert_int_equal(hist_append(&h, 450, 460, 2, &e), 0);
	/* 450 with a period of 100: also 350, 250, 150; 50 is below one period. */
	assert_int_equal(omission_correct(&h, 100, &e), 0);
	assert_int_equal(h.count, 1002 + 6);
	assert_int_equal(count_at(&h, 350), 2);
	assert_int_equal(count_at(&h, 250), 2);
	assert_int_equal(count_at(&h, 150), 2);
	assert_int_equal(count_at(&h, 50), 1000);
	assert_int_equal(count_at(&h, 450), 2);
	assert_int_equal(hist_check(&h, &e), 0);
	hist_done(&h);
}

/* 10,000 samples of 1 ms and one of 100 s at a period of 10 ms: 9,999 are added. */
static void test_log128(void **state)
{
	struct hist h = {.scheme = HIST_LOG128};
	uint32_t ms = hist_slot(1000000), s100 = hist_slot(100000000000);
	struct err e;

	(void)state;
	assert_int_equal(hist_append(&h, hist_slot_lo(ms), hist_slot_hi(ms), 10000, &e), 0);
	assert_int_equal(hist_append(&h, hist_slot_lo(s100), hist_slot_hi(s100), 1, &e), 0);
	assert_int_equal(omission_correct(&h, 10000000, &e), 0);
	assert_int_equal(hist_check(&h, &e), 0);
	/* The bucket's lower edge is at most 0.8 % below 100 s. */
	assert_true(h.count >= 10001 + 9999 - 80 && h.count <= 10001 + 9999);
	/* Half of all samples now lie above one period: 50 s is about the 75th percentile. */
	assert_near((double)hist_quantile(&h, 0.75).lo, 50e9, 0.8e9);
	hist_done(&h);
}

static void test_refused(void **state)
{
	struct hist h = {.scheme = HIST_EDGES};
	struct err e;

	(void)state;
	assert_int_equal(hist_append(&h, 512, 1024, 5, &e), 0);
	assert_int_equal(omission_correct(&h, 100, &e), ERR_UNSUPPORTED);
	h.scheme = HIST_LINEAR;
	h.width = 512;
	assert_int_equal(omission_correct(&h, 0, &e), ERR_INVALID);
	h.b[0].n = 1000000000000ULL;
	assert_int_equal(omission_correct(&h, 1, &e), ERR_LIMIT);
	assert_int_equal(h.b[0].n, 1000000000000ULL);
	hist_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_log128),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
