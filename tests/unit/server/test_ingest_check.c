/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of a POST of records: splitting at runs, placing in the sequence, and any damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "common/crc32c.h"
#include "server/ingest_check.h"
#include "server/items.h"

static const unsigned char stream[16] = {0xaa, 0xbb};
#define STREAM_HEX "aabb0000000000000000000000000000"

static void add_json(struct record_writer *w, enum item_type type, const char *json)
{
	record_item_json(w, type, json, strlen(json));
}

static const char start[] =
	"{\"run_uid\":\"00000000000000000000000000000001\",\"kind\":\"measured\","
	"\"host\":\"box\",\"started_ns\":5}";
static const char end[] = "{\"run_uid\":\"00000000000000000000000000000001\",\"state\":\"ok\"}";

/* Six records: 1-3 of run 1 with its end, 4 of no run, 5-6 of run 2. Offsets in off[]. */
static void build(struct strbuf *body, size_t off[7])
{
	struct record_writer w = {0};
	struct hist_rec *h = xcalloc(1, sizeof(*h));

	for (uint64_t seq = 1; seq <= 6; seq++) {
		uint32_t run = seq <= 3 ? 1 : seq == 4 ? 0 : 2;

		off[seq - 1] = body->len;
		record_begin(&w);
		hist_rec_add(h, (int64_t)(1000 * seq));
		if (run)
			record_item_hist(&w, 1, 7, NS_PER_SEC, h);
		if (seq == 1)
			add_json(&w, ITEM_RUN_START, start);
		if (seq == 3)
			add_json(&w, ITEM_RUN_END, end);
		if (seq == 4)
			add_json(&w, ITEM_LOG, "{\"text\":\"x\"}");
		record_finish(&w, seq, run, 1, (int64_t)(100 * seq));
		strbuf_add(body, w.buf.data, w.buf.len);
	}
	off[6] = body->len;
	record_writer_done(&w);
	free(h);
}

static struct ingest_source source(uint64_t expected)
{
	return (struct ingest_source){"box", stream, expected, false, 0};
}

static void test_splits_at_runs(void **state)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	struct ingest_source src = source(1);
	struct ingest_batch b;
	struct err err;
	size_t off[7];

	(void)state;
	build(&body, off);
	assert_int_equal(ingest_check(body.data, body.len, &src, &b, &err), 0);
	assert_int_equal(b.n, 3);
	assert_int_equal(b.first, 1);
	assert_int_equal(b.last, 6);
	assert_int_equal(b.parts[0].run, 1);
	assert_int_equal(b.parts[0].last_seq, 3);
	assert_true(b.parts[0].run_end);
	assert_int_equal(b.parts[0].len, off[3]);
	assert_int_equal(b.parts[0].first_ns, 100);
	assert_int_equal(b.parts[0].last_ns, 300);
	assert_int_equal(b.parts[1].run, 0);
	assert_int_equal(b.parts[1].off, off[3]);
	assert_int_equal(b.parts[2].first_seq, 5);
	assert_int_equal(b.parts[2].len, off[6] - off[4]);
	assert_true(b.has_crc);
	ingest_batch_done(&b);
}

static void test_places_in_the_sequence(void **state)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	struct ingest_source src = source(4);
	struct ingest_batch b;
	struct record_header h;
	struct err err;
	uint32_t crc;
	bool has;
	size_t off[7];

	(void)state;
	build(&body, off);
	/* 1 to 3 are known. */
	assert_int_equal(ingest_check(body.data, body.len, &src, &b, &err), 0);
	assert_int_equal(b.n, 2);
	assert_int_equal(b.parts[0].off, off[3]);
	ingest_batch_done(&b);
	/* Their last one has other bytes: a fork. */
	assert_int_equal(record_check(body.data + off[2], body.len - off[2], &h, &err), 0);
	src.has_crc = true;
	src.last_crc = h.crc;
	assert_int_equal(ingest_check(body.data, body.len, &src, &b, &err), 0);
	ingest_batch_done(&b);
	src.last_crc ^= 1;
	assert_int_equal(ingest_check(body.data, body.len, &src, &b, &err), ERR_CONFLICT);
	/* Missing before, missing inside, twice. */
	src = source(1);
	assert_int_equal(ingest_check(body.data + off[1], body.len - off[1], &src, &b, &err),
			 ERR_NOT_FOUND);
	{
		struct strbuf hole CLEANUP(strbuf_done) = {0};

		strbuf_add(&hole, body.data, off[2]);
		strbuf_add(&hole, body.data + off[3], off[4] - off[3]);
		assert_int_equal(ingest_check(hole.data, hole.len, &src, &b, &err), ERR_INVALID);
		strbuf_clear(&hole);
		strbuf_add(&hole, body.data, off[1]);
		strbuf_add(&hole, body.data, off[1]);
		assert_int_equal(ingest_check(hole.data, hole.len, &src, &b, &err), ERR_INVALID);
	}
	assert_int_equal(ingest_check(body.data, 0, &src, &b, &err), ERR_INVALID);
	/* The CRC of the last record, without checking. */
	assert_int_equal(record_check(body.data + off[5], body.len - off[5], &h, &err), 0);
	assert_int_equal(ingest_last_crc(body.data, body.len, &crc, &has, &err), 0);
	assert_true(has && crc == h.crc);
	assert_int_equal(ingest_last_crc(body.data, body.len - 1, &crc, &has, &err), ERR_INVALID);
}

static void test_gap_stands_for_its_range(void **state)
{
	static const char own[] =
		"{\"stream\":\"" STREAM_HEX
		"\",\"from_seq\":2,\"to_seq\":9,\"samples\":5,\"reason\":\"quota\"}";
	static const char other[] = "{\"stream\":\"00000000000000000000000000000000\","
				    "\"from_seq\":2,\"to_seq\":9,\"reason\":\"unclean_end\"}";
	struct record_writer w = {0};
	struct ingest_source src = source(2);
	struct ingest_batch b;
	struct err err;

	(void)state;
	record_begin(&w);
	add_json(&w, ITEM_GAP, own);
	record_finish(&w, 2, 0, 1, 1);
	assert_int_equal(ingest_check(w.buf.data, w.buf.len, &src, &b, &err), 0);
	assert_int_equal(b.last, 9);
	assert_int_equal(b.gap_samples, 5);
	assert_false(b.has_crc);
	ingest_batch_done(&b);
	src.expected = 5; /* its beginning is known */
	assert_int_equal(ingest_check(w.buf.data, w.buf.len, &src, &b, &err), 0);
	assert_int_equal(b.parts[0].first_seq, 5);
	assert_int_equal(b.parts[0].last_seq, 9);
	ingest_batch_done(&b);
	record_begin(&w);
	add_json(&w, ITEM_GAP, other);
	record_finish(&w, 5, 0, 1, 1);
	assert_int_equal(ingest_check(w.buf.data, w.buf.len, &src, &b, &err), 0);
	assert_int_equal(b.last, 5);
	ingest_batch_done(&b);
	record_writer_done(&w);
}

/* Every single bit, and every cut: refused, never a crash. */
static void test_any_damage_is_refused(void **state)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	struct ingest_source src = source(1);
	struct ingest_batch b;
	struct err err;
	size_t off[7];

	(void)state;
	build(&body, off);
	for (size_t bit = 0; bit < 8 * body.len; bit++) {
		body.data[bit / 8] = (char)(body.data[bit / 8] ^ 1 << bit % 8);
		assert_int_not_equal(ingest_check(body.data, body.len, &src, &b, &err), 0);
		body.data[bit / 8] = (char)(body.data[bit / 8] ^ 1 << bit % 8);
	}
	for (size_t len = 1; len < body.len; len++) {
		bool whole = false;

		for (size_t i = 1; i < 6; i++)
			whole |= len == off[i];
		if (whole)
			continue;
		assert_int_equal(ingest_check(body.data, len, &src, &b, &err), ERR_INVALID);
	}
}

/* Damage under a good CRC, as a broken agent would send it: accepted or refused, never a crash. */
static void test_random_items(void **state)
{
	struct record_writer w = {0};
	struct ingest_source src = source(1);
	uint64_t seed = 88172645463325252u;
	size_t refused = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct ingest_batch b;
		struct err err;
		char bytes[64];
		uint32_t crc;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			bytes[i] = (char)(seed >> 20 & (seed & 1 ? 0xff : 0x07));
		}
		record_begin(&w);
		record_item_json(&w, ITEM_HIST, bytes, sizeof(bytes));
		record_finish(&w, 1, 1, 1, 1);
		/* Another type and other lengths, under a checksum that is made anew. */
		memcpy(w.buf.data + RECORD_HEADER_LEN, bytes, 32);
		w.buf.data[RECORD_HEADER_LEN] = (char)(1 + (seed >> 8) % 12);
		memset(w.buf.data + 40, 0, 4);
		crc = crc32c(crc32c(0, w.buf.data, 40), w.buf.data + 44, w.buf.len - 44);
		memcpy(w.buf.data + 40, &crc, 4);
		if (ingest_check(w.buf.data, w.buf.len, &src, &b, &err) < 0)
			refused++;
		else
			ingest_batch_done(&b);
	}
	assert_true(refused > 10000);
	record_writer_done(&w);
}

static void test_items(void **state)
{
	static const struct {
		enum item_type type;
		const char *text;
		const char *fault; /* NULL: good */
	} cases[] = {
		{ITEM_RUN_START, start, NULL},
		{ITEM_RUN_START, "{}", "run_uid is missing"},
		{ITEM_RUN_START, "[]", "not a JSON object"},
		{ITEM_RUN_END, end, NULL},
		{ITEM_RUN_END,
		 "{\"run_uid\":\"00000000000000000000000000000001\",\"state\":\"fine\"}",
		 "state is not"},
		{ITEM_RUN_END,
		 "{\"run_uid\":\"00000000000000000000000000000001\",\"state\":\"ok\",\"lost\":-1}",
		 "lost is not"},
		{ITEM_RUN_END,
		 "{\"run_uid\":\"00000000000000000000000000000001\",\"state\":\"ok\",\"lost\":1.5}",
		 "lost is not"},
		{ITEM_RUN_END,
		 "{\"run_uid\":\"00000000000000000000000000000001\",\"state\":\"ok\",\"lost\":"
		 "1e400}",
		 "run end"},
		{ITEM_SERIES, "{\"metric\":\"m\",\"kind\":\"hist\",\"labels\":{\"cpu\":0}}", NULL},
		{ITEM_SERIES, "{\"metric\":\"\",\"kind\":\"hist\"}", "metric is not"},
		{ITEM_SERIES, "{\"metric\":\"m\",\"kind\":\"hist\",\"labels\":{\"a\":[]}}",
		 "labels"},
		{ITEM_SERIES, "{\"metric\":\"m\",\"kind\":\"hist\",\"kind\":\"value\"}",
		 "duplicate"},
		{ITEM_LOG, "{\"text\":\"a\\u0000b\"}", "log"},
		{ITEM_LOG, "{\"text\":\"a\\u001bb\"}", "control"},
		{ITEM_LOG, "{\"text\":\"\xff\"}", "log"},
		{ITEM_ENVIRONMENT, "{\"a\":1,\"b\":\"x\"}", NULL},
		{ITEM_ENVIRONMENT, "{\"a\":[1]}", "neither"},
		{ITEM_BREACH, "{\"t_ns\":1,\"late_ns\":2,\"holders\":[{\"name\":\"x\"}]}",
		 "kind is missing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		json_t *obj = NULL;
		int rc = item_json(cases[i].type, cases[i].text, strlen(cases[i].text), &obj, &err);

		if (cases[i].fault) {
			assert_int_not_equal(rc, 0);
			if (!strstr(err.text, cases[i].fault))
				fail_msg("'%s' does not say '%s'", err.text, cases[i].fault);
		} else {
			assert_int_equal(rc, 0);
			json_decref(obj);
		}
	}
}

static void test_levels_are_texts(void **state)
{
	static const char text[] =
		"{\"metric\":\"m\",\"kind\":\"hist\",\"labels\":{\"a\":1,\"b\":true,"
		"\"c\":\"x\",\"d\":0.5},\"unknown\":1}";
	json_t *obj, *labels;
	struct err err;

	(void)state;
	assert_int_equal(item_json(ITEM_SERIES, text, strlen(text), &obj, &err), 0);
	labels = json_object_get(obj, "labels");
	assert_string_equal(json_string_value(json_object_get(labels, "a")), "1");
	assert_string_equal(json_string_value(json_object_get(labels, "b")), "true");
	assert_string_equal(json_string_value(json_object_get(labels, "d")), "0.5");
	assert_null(json_object_get(obj, "unknown"));
	json_decref(obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits_at_runs),
		cmocka_unit_test(test_places_in_the_sequence),
		cmocka_unit_test(test_gap_stands_for_its_range),
		cmocka_unit_test(test_any_damage_is_refused),
		cmocka_unit_test(test_random_items),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_levels_are_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
