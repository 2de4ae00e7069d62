/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of histograms against plain arrays of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "common/hist.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Spread over many powers of two, sometimes negative. */
static int64_t rnd_value(void)
{
	int64_t v = (int64_t)(rnd() >> (1 + rnd() % 62));

	return rnd() % 50 ? v : -v;
}

static void test_slots_cover_int64(void **state)
{
	(void)state;
	assert_int_equal(hist_slot(INT64_MAX), HIST_SLOTS - 1);
	for (uint32_t s = 0; s + 1 < HIST_SLOTS; s++) {
		assert_int_equal(hist_slot(hist_slot_lo(s)), s);
		assert_int_equal(hist_slot(hist_slot_hi(s) - 1), s);
		assert_true(hist_slot_lo(s + 1) == hist_slot_hi(s));
		if (s >= 256) /* at most 1/128 of its value wide */
			assert_true((hist_slot_hi(s) - hist_slot_lo(s)) * 128 <= hist_slot_lo(s));
		else
			assert_int_equal(hist_slot_hi(s) - hist_slot_lo(s), 1);
	}
}

static void fill(struct hist *h, unsigned int n)
{
	struct hist_rec *r = xcalloc(1, sizeof(*r));

	for (unsigned int i = 0; i < n; i++)
		hist_rec_add(r, rnd_value());
	r->lost = rnd() % 3;
	hist_from_rec(h, r);
	free(r);
}

/* A foreign grid: linear, or edges of random width, sometimes with an overflow. */
static void fill_foreign(struct hist *h)
{
	int64_t at = (int64_t)(rnd() % 100) * 10;
	bool linear = rnd() % 2;
	struct err err;

	memset(h, 0, sizeof(*h));
	h->scheme = linear ? HIST_LINEAR : HIST_EDGES;
	h->width = linear ? 10 : 0;
	for (unsigned int i = rnd() % 40; i; i--) {
		int64_t w = linear ? 10 : 1 + (int64_t)(rnd() % 50);

		assert_int_equal(hist_append(h, at, at + w, rnd() % 9, &err), 0);
		at += w + (linear ? 10 * (int64_t)(rnd() % 3) : (int64_t)(rnd() % 20));
	}
	if (rnd() % 3 == 0) {
		h->overflow = 1 + rnd() % 5;
		h->overflow_lo = at;
		h->count += h->overflow;
	}
	assert_int_equal(hist_check(h, &err), 0);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void check_quantile(const struct hist *h, const int64_t *sorted, size_t n, double q)
{
	struct hist_quantile a = hist_quantile(h, q);
	size_t rank = (size_t)ceil(q * (double)n - 1e-9);
	int64_t truth;

	if (q < 1 && (double)n * (1 - q) < 1 - 1e-6) {
		assert_int_equal(a.answer, HIST_NOT_RESOLVABLE);
		return;
	}
	rank = rank ? rank : 1;
	truth = sorted[rank - 1];
	assert_int_equal(a.rank, rank);
	assert_true(a.lo <= truth && truth <= a.hi);
	if (truth >= 0)
		assert_true(a.hi - a.lo <= truth / 128 + 1);
	else
		assert_int_equal(a.answer, HIST_NEGATIVE);
}

static void test_quantile_contains_the_sorted_sample(void **state)
{
	static const double qs[] = {0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1};

	(void)state;
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + rnd() % 3000;
		int64_t *v = xcalloc(n, sizeof(*v));
		struct hist_rec *r = xcalloc(1, sizeof(*r));
		struct hist h;

		for (size_t i = 0; i < n; i++) {
			v[i] = rnd_value();
			hist_rec_add(r, v[i]);
		}
		hist_from_rec(&h, r);
		qsort(v, n, sizeof(*v), by_value);
		assert_true(h.min == v[0] && h.max == v[n - 1]);
		for (size_t k = 0; k < ARRAY_LEN(qs); k++)
			check_quantile(&h, v, n, qs[k]);
		hist_done(&h);
		free(r);
		free(v);
	}
}

static void test_count_above_brackets_the_truth(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct hist_rec *r = xcalloc(1, sizeof(*r));
		int64_t threshold = (int64_t)(rnd() >> (2 + rnd() % 60));
		uint64_t truth = 0;
		struct hist_above a;
		struct hist h;

		for (int i = 0; i < 1000; i++) {
			int64_t v = rnd_value();

			truth += v >= threshold;
			hist_rec_add(r, v);
		}
		hist_from_rec(&h, r);
		a = hist_count_above(&h, threshold);
		assert_true(a.lo <= truth && truth <= a.hi);
		if (threshold < 256)
			assert_true(a.lo == a.hi);
		hist_done(&h);
		free(r);
	}
}

static void merged(struct hist *out, const struct hist *a, const struct hist *b)
{
	struct err err;

	hist_copy(out, a);
	assert_int_equal(hist_merge(out, b, &err), 0);
	assert_int_equal(hist_check(out, &err), 0);
}

static void check_associative(const struct hist *a, const struct hist *b, const struct hist *c)
{
	struct hist ab, ab_c, bc, a_bc, ba;

	merged(&ab, a, b);
	merged(&ab_c, &ab, c);
	merged(&bc, b, c);
	merged(&a_bc, a, &bc);
	merged(&ba, b, a);
	assert_int_equal(ab_c.count, a->count + b->count + c->count);
	/* The scheme is only a promise about the edges; the content must agree. */
	a_bc.scheme = ab_c.scheme;
	ba.scheme = ab.scheme;
	assert_true(hist_equal(&ab_c, &a_bc));
	assert_true(hist_equal(&ab, &ba));
	hist_done(&ab);
	hist_done(&ab_c);
	hist_done(&bc);
	hist_done(&a_bc);
	hist_done(&ba);
}

static void test_merge_is_associative(void **state)
{
	(void)state;
	for (int round = 0; round < 400; round++) {
		struct hist h[3];

		for (int i = 0; i < 3; i++) {
			if (round % 2)
				fill(&h[i], (unsigned int)(rnd() % 400));
			else
				fill_foreign(&h[i]);
		}
		check_associative(&h[0], &h[1], &h[2]);
		for (int i = 0; i < 3; i++)
			hist_done(&h[i]);
	}
}

static void test_merge_of_unlike_grids_goes_to_the_coarser(void **state)
{
	struct hist fine = {.scheme = HIST_LINEAR, .width = 10}, coarse = {.scheme = HIST_EDGES};
	struct err err;

	(void)state;
	for (int64_t v = 0; v < 100; v += 10)
		assert_int_equal(hist_append(&fine, v, v + 10, 1, &err), 0);
	assert_int_equal(hist_append(&coarse, 0, 64, 5, &err), 0);
	assert_int_equal(hist_append(&coarse, 64, 128, 2, &err), 0);
	assert_int_equal(hist_merge(&fine, &coarse, &err), 0);
	assert_true(fine.coarsened);
	/* [60,70) straddles 64, so nothing finer than [0,128) can be said. */
	assert_int_equal(fine.len, 1);
	assert_int_equal(fine.b[0].hi, 128);
	assert_int_equal(fine.b[0].n, 17);
	hist_done(&fine);
	hist_done(&coarse);
}

static void test_overflow_is_a_bound(void **state)
{
	struct hist h = {.scheme = HIST_LINEAR, .width = 1000};
	struct hist_quantile a;
	struct err err;

	(void)state;
	assert_int_equal(hist_append(&h, 30000, 31000, 9000, &err), 0);
	h.overflow = 604;
	h.overflow_lo = 60000;
	h.count += 604;
	h.has_max = true;
	h.max = 1475000;
	assert_int_equal(hist_check(&h, &err), 0);
	a = hist_quantile(&h, 0.99);
	assert_int_equal(a.answer, HIST_AT_LEAST);
	assert_int_equal(a.lo, 60000);
	assert_int_equal(a.hi, 1475000);
	assert_int_equal(hist_quantile(&h, 1).lo, 1475000);
	h.count++;
	assert_int_equal(hist_check(&h, &err), ERR_INVALID);
	hist_done(&h);
}

static void test_few_samples_cannot_show_a_far_quantile(void **state)
{
	struct hist h = {.scheme = HIST_LINEAR, .width = 1000};
	struct err err;

	(void)state;
	assert_int_equal(hist_append(&h, 0, 1000, 3000, &err), 0);
	assert_int_equal(hist_quantile(&h, 0.9999).answer, HIST_NOT_RESOLVABLE);
	assert_int_equal(hist_quantile(&h, 0.999).answer, HIST_VALUE);
	hist_done(&h);
}

static void test_encode_decode_is_identity(void **state)
{
	(void)state;
	for (int round = 0; round < 400; round++) {
		struct strbuf b CLEANUP(strbuf_done) = {0};
		struct hist h, back = {0};
		struct reader r;
		struct err err;

		if (round % 2)
			fill(&h, (unsigned int)(rnd() % 400));
		else
			fill_foreign(&h);
		hist_encode(&h, &b);
		r = reader_of(b.data, b.len);
		assert_int_equal(hist_decode(&back, &r, &err), 0);
		assert_int_equal(reader_left(&r), 0);
		assert_true(hist_equal(&h, &back));
		/* Every cut is refused. */
		for (size_t cut = 0; cut < b.len; cut += 1 + b.len / 40) {
			struct hist none = {0};

			r = reader_of(b.data, cut);
			assert_int_equal(hist_decode(&none, &r, &err), ERR_INVALID);
		}
		hist_done(&h);
		hist_done(&back);
	}
}

static void test_fast_path_equals_slow_path(void **state)
{
	struct hist_rec *a = xcalloc(1, sizeof(*a)), *b = xcalloc(1, sizeof(*b));
	struct strbuf bytes CLEANUP(strbuf_done) = {0};
	struct hist slow, fast;
	struct reader r;
	struct err err;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		hist_rec_add(a, rnd_value());
		hist_rec_add(b, rnd_value());
	}
	hist_rec_encode(b, &bytes);
	hist_from_rec(&slow, a);
	hist_from_rec(&fast, b);
	assert_int_equal(hist_merge(&slow, &fast, &err), 0);
	hist_done(&fast);
	r = reader_of(bytes.data, bytes.len);
	assert_int_equal(hist_rec_decode_add(a, &r, &err), 0);
	hist_from_rec(&fast, a);
	assert_true(hist_equal(&slow, &fast));
	hist_done(&slow);
	hist_done(&fast);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_cover_int64),
		cmocka_unit_test(test_quantile_contains_the_sorted_sample),
		cmocka_unit_test(test_count_above_brackets_the_truth),
		cmocka_unit_test(test_merge_is_associative),
		cmocka_unit_test(test_merge_of_unlike_grids_goes_to_the_coarser),
		cmocka_unit_test(test_overflow_is_a_bound),
		cmocka_unit_test(test_few_samples_cannot_show_a_far_quantile),
		cmocka_unit_test(test_encode_decode_is_identity),
		cmocka_unit_test(test_fast_path_equals_slow_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
