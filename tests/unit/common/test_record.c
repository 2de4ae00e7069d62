/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records: identity of encode and decode for any content, and refusal of any damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/crc32c.h"
#include "common/record.h"

static uint64_t seed = 1181783497276652981ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void test_crc32c_known_answers(void **state)
{
	unsigned char zero[32] = {0}, rising[32];

	(void)state;
	for (unsigned char i = 0; i < 32; i++)
		rising[i] = i;
	/* RFC 3720, B.4 */
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(crc32c(0, zero, 32), 0x8a9136aau);
	assert_int_equal(crc32c(0, rising, 32), 0x46dd794eu);
	assert_int_equal(crc32c(crc32c(0, rising, 13), rising + 13, 19), 0x46dd794eu);
}

struct sent {
	struct hist_rec hist;
	struct counter_sample samples[50];
	size_t n;
	double value;
	int64_t t0_ns, dt_ns;
};

static void make(struct record_writer *w, struct sent *s)
{
	memset(s, 0, sizeof(*s));
	for (uint64_t i = rnd() % 500; i; i--)
		hist_rec_add(&s->hist, (int64_t)(rnd() >> (1 + rnd() % 60)));
	s->n = 1 + rnd() % ARRAY_LEN(s->samples);
	for (size_t i = 0; i < s->n; i++) {
		s->samples[i].delta = (int64_t)rnd();
		s->samples[i].enabled_ns = rnd() >> (rnd() % 64);
		s->samples[i].running_ns = rnd() >> (rnd() % 64);
	}
	s->value = (double)rnd() / 3;
	s->t0_ns = (int64_t)rnd();
	s->dt_ns = (int64_t)(rnd() >> 1);
	record_begin(w);
	record_item_series(w, 7, "{\"a\":1}", 7);
	record_item_hist(w, 7, s->t0_ns, s->dt_ns, &s->hist);
	record_item_counter(w, 8, s->t0_ns, s->dt_ns, s->samples, s->n);
	record_item_value(w, 9, s->value);
	record_item_phase(w, 2, s->t0_ns);
	record_item_json(w, ITEM_RUN_END, "{}", 2);
	record_finish(w, rnd() | 1, (uint32_t)rnd(), (int64_t)rnd(), (int64_t)rnd());
}

static void next(struct reader *r, enum item_type type, struct record_item *it)
{
	struct err err;

	assert_int_equal(record_next_item(r, it, &err), 1);
	assert_int_equal(it->type, type);
}

static void check_hist(const struct record_item *it, const struct sent *s)
{
	struct item_hist ih;
	struct hist got = {0}, want;
	struct err err;

	assert_int_equal(item_hist_read(it, &ih, &err), 0);
	assert_true(ih.series == 7 && ih.t0_ns == s->t0_ns && ih.dt_ns == s->dt_ns);
	assert_int_equal(hist_decode(&got, &ih.hist, &err), 0);
	hist_from_rec(&want, &s->hist);
	assert_true(hist_equal(&got, &want));
	hist_done(&got);
	hist_done(&want);
}

static void check_counter(const struct record_item *it, const struct sent *s)
{
	struct item_counter c;
	struct counter_sample x;
	struct err err;

	assert_int_equal(item_counter_read(it, &c, &err), 0);
	assert_int_equal(c.n, s->n);
	for (size_t i = 0; i < s->n; i++) {
		assert_int_equal(item_counter_next(&c, &x, &err), 0);
		assert_memory_equal(&x, &s->samples[i], sizeof(x));
	}
}

static void check_rest(struct reader *r, const struct sent *s)
{
	struct record_item it;
	struct err err;
	uint64_t number;
	unsigned int phase;
	double value;
	int64_t t;

	next(r, ITEM_VALUE, &it);
	assert_int_equal(item_value_read(&it, &number, &value, &err), 0);
	assert_true(number == 9 && value == s->value);
	next(r, ITEM_PHASE, &it);
	assert_int_equal(item_phase_read(&it, &phase, &t, &err), 0);
	assert_true(phase == 2 && t == s->t0_ns);
	next(r, ITEM_RUN_END, &it);
	assert_int_equal(record_next_item(r, &it, &err), 0);
}

static void test_encode_decode_is_identity(void **state)
{
	struct record_writer w = {0};
	struct sent *s = xcalloc(1, sizeof(*s));

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct record_header h;
		struct record_item it;
		struct reader r;
		struct err err;
		const char *json;
		size_t len;
		uint64_t number;

		make(&w, s);
		assert_int_equal(record_check(w.buf.data, w.buf.len, &h, &err), 0);
		assert_int_equal(h.length, w.buf.len);
		assert_int_equal(h.samples, s->hist.count + s->n + 1);
		r = record_payload(w.buf.data, &h);
		next(&r, ITEM_SERIES, &it);
		assert_int_equal(item_series_read(&it, &number, &json, &len, &err), 0);
		assert_true(number == 7 && len == 7 && !memcmp(json, "{\"a\":1}", 7));
		next(&r, ITEM_HIST, &it);
		check_hist(&it, s);
		next(&r, ITEM_COUNTER, &it);
		check_counter(&it, s);
		check_rest(&r, s);
	}
	record_writer_done(&w);
	free(s);
}

static void test_any_damage_is_seen(void **state)
{
	struct record_writer w = {0};
	struct sent *s = xcalloc(1, sizeof(*s));
	struct record_header h;
	struct err err;

	(void)state;
	make(&w, s);
	for (size_t i = 0; i < w.buf.len; i++) {
		w.buf.data[i] ^= (char)(1 << (i % 8));
		assert_int_not_equal(record_check(w.buf.data, w.buf.len, &h, &err), 0);
		w.buf.data[i] ^= (char)(1 << (i % 8));
	}
	for (size_t len = 0; len < w.buf.len; len += 1 + len / 100)
		assert_int_equal(record_check(w.buf.data, len, &h, &err), ERR_LIMIT);
	assert_int_equal(record_check(w.buf.data, w.buf.len, &h, &err), 0);
	record_writer_done(&w);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c_known_answers),
		cmocka_unit_test(test_encode_decode_is_identity),
		cmocka_unit_test(test_any_damage_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
