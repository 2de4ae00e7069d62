/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivery against a scripted peer: every answer that docs/PROTOCOL.md names, and what a broken
 * or hostile one may send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <ftw.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "agent/upload.h"
#include "common/crc32c.h"

#define SEC NS_PER_SEC

struct fixture {
	char dir[64];
	struct spool *spool;
	struct upload *u;
	struct transport t;
	/* the request in flight */
	bool pending, cancelled;
	char method[8], url[300], headers[1000];
	struct strbuf body;
	uint64_t first, last;
	void (*on_answer)(void *user, const struct http_answer *a);
	void *user;
	unsigned int wakes, dropped;
	uint64_t random; /* share of `below`, in 1/1000 */
	int64_t now;
};

static uint64_t header_number(const struct fixture *f, const char *name)
{
	const char *at = strstr(f->headers, name);

	return at ? strtoull(at + strlen(name) + 2, NULL, 10) : 0;
}

static void on_send(struct transport *t, const struct http_request *r,
		    void (*on_answer)(void *user, const struct http_answer *a), void *user)
{
	struct fixture *f = CONTAINER_OF(t, struct fixture, t);

	assert_false(f->pending); /* one at a time */
	f->pending = true;
	snprintf(f->method, sizeof(f->method), "%s", r->method);
	snprintf(f->url, sizeof(f->url), "%s", r->url);
	f->headers[0] = '\0';
	for (size_t i = 0; r->headers[i]; i++)
		snprintf(f->headers + strlen(f->headers), sizeof(f->headers) - strlen(f->headers),
			 "%s\n", r->headers[i]);
	strbuf_clear(&f->body);
	if (r->body_len)
		strbuf_add(&f->body, r->body, r->body_len);
	f->first = header_number(f, "X-Rigstat-First");
	f->last = header_number(f, "X-Rigstat-Last");
	f->on_answer = on_answer;
	f->user = user;
	assert_true(r->timeout_ns > 0);
}

static void on_cancel(struct transport *t)
{
	struct fixture *f = CONTAINER_OF(t, struct fixture, t);

	f->pending = false;
	f->cancelled = true;
}

static void on_drop(struct transport *t)
{
	CONTAINER_OF(t, struct fixture, t)->dropped++;
}

static uint64_t on_random(void *user, uint64_t below)
{
	struct fixture *f = user;

	return (uint64_t)((double)below * (double)f->random / 1000.0);
}

static void on_wake(void *user)
{
	((struct fixture *)user)->wakes++;
}

static void append(struct fixture *f, unsigned int n)
{
	struct record_writer w = {0};

	while (n--) {
		char text[120];

		snprintf(text, sizeof(text), "{\"text\":\"record %" PRIu64 "\"}",
			 spool_next_seq(f->spool));
		record_begin(&w);
		record_item_json(&w, ITEM_LOG, text, strlen(text));
		spool_append(f->spool, &w, 1);
	}
	record_writer_done(&w);
}

static void open_upload(struct fixture *f)
{
	const struct spool_conf sc = {.dir = f->dir, .host = "box", .sync = SYNC_OFF};
	struct upload_conf uc = {.server = "http://server:8420",
				 .host = "box",
				 .token = "secret",
				 .random = on_random,
				 .random_user = f,
				 .wake = on_wake,
				 .wake_user = f};
	struct err e;

	assert_int_equal(spool_open(&sc, &f->spool, &e), 0);
	f->u = upload_new(&uc, f->spool, &f->t);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->t = (struct transport){on_send, on_cancel, on_drop};
	f->now = 1000 * SEC;
	snprintf(f->dir, sizeof(f->dir), "/tmp/rigstat-upload-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	open_upload(f);
	*state = f;
	return 0;
}

static int on_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	upload_free(f->u);
	spool_close(f->spool);
	strbuf_done(&f->body);
	nftw(f->dir, on_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static int64_t poll(struct fixture *f)
{
	return upload_poll(f->u, f->now);
}

/* A request must be in flight; gives it this answer. */
static void answer(struct fixture *f, int status, const char *body, int64_t retry_after_ns)
{
	const struct http_answer a = {.status = status,
				      .body = body,
				      .body_len = strlen(body),
				      .retry_after_ns = retry_after_ns,
				      .error = status ? NULL : "connection refused"};
	unsigned int wakes = f->wakes;

	assert_true(f->pending);
	f->pending = false;
	f->on_answer(f->user, &a);
	assert_int_equal(f->wakes, wakes + 1);
}

static void ack(struct fixture *f)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"next_seq\":%" PRIu64 "}", f->last + 1);
	answer(f, 200, body, -1);
}

static uint64_t acked_to(struct fixture *f)
{
	struct spool_position pos;

	return spool_pending(f->spool, &pos) ? pos.acked : spool_next_seq(f->spool);
}

static void test_delivers(void **state)
{
	struct fixture *f = *state;
	struct upload_stats st;
	char crc[64];

	assert_int_equal(poll(f), INT64_MAX);
	assert_false(f->pending);
	assert_true(upload_done(f->u));
	append(f, 3);
	assert_int_equal(poll(f), INT64_MAX);
	assert_true(f->pending);
	assert_false(upload_done(f->u));
	assert_string_equal(f->method, "POST");
	assert_string_equal(f->url, "http://server:8420/api/v1/ingest");
	assert_int_equal(f->first, 1);
	assert_int_equal(f->last, 3);
	snprintf(crc, sizeof(crc), "X-Rigstat-CRC32C: %08x\n",
		 crc32c(0, f->body.data, f->body.len));
	assert_non_null(strstr(f->headers, crc));
	assert_non_null(strstr(f->headers, spool_stream(f->spool)));
	assert_non_null(strstr(f->headers, "X-Rigstat-Host: box\n"));
	assert_non_null(strstr(f->headers, "Authorization: Bearer secret\n"));
	assert_non_null(strstr(f->headers, "Content-Type: application/x-rigstat-records\n"));
	append(f, 1);
	poll(f); /* nothing new while one is in flight */
	answer(f, 200, "{\"next_seq\":4,\"server_ns\":5}", -1);
	poll(f);
	assert_int_equal(f->first, 4);
	ack(f);
	assert_int_equal(poll(f), INT64_MAX);
	assert_true(upload_done(f->u));
	upload_stats(f->u, &st);
	assert_int_equal(st.acked_records, 4);
	assert_int_equal(st.failures, 0);
}

/* Polls until the next request; returns how long that took. */
static int64_t wait_for_request(struct fixture *f)
{
	int64_t began = f->now, next = poll(f);

	while (!f->pending) {
		assert_true(next > f->now && next < INT64_MAX);
		f->now = next - 1;
		assert_int_equal(poll(f), next); /* not a moment too early */
		assert_false(f->pending);
		f->now = next;
		next = poll(f);
	}
	return f->now - began;
}

static void test_backoff(void **state)
{
	/* No answer and 503 in turn: without one, all of a fleet come back within half a minute. */
	static const int64_t most[] = {3, 3, 30, 27, 243, 243, 300, 300, 300};
	struct fixture *f = *state;
	struct strbuf body = {0};

	append(f, 2);
	poll(f);
	strbuf_add(&body, f->body.data, f->body.len);
	for (size_t i = 0; i < ARRAY_LEN(most); i++) {
		f->random = 999;
		answer(f, i % 2 ? 503 : 0, "", -1);
		append(f, 1);
		assert_in_range(wait_for_request(f), most[i] * SEC * 9 / 10, most[i] * SEC);
		/* The same bytes, whatever has been written since. */
		assert_int_equal(f->body.len, body.len);
		assert_memory_equal(f->body.data, body.data, body.len);
	}
	/* Full jitter also at the cap: from the base on. */
	f->random = 0;
	answer(f, 0, "", -1);
	assert_int_equal(wait_for_request(f), SEC);
	ack(f);
	poll(f);
	assert_true(f->pending);
	assert_int_equal(f->first, 3);
	strbuf_done(&body);
}

static void test_retry_after(void **state)
{
	struct fixture *f = *state;

	append(f, 1);
	poll(f);
	f->random = 0;
	answer(f, 503, "", 40 * SEC);
	assert_int_equal(wait_for_request(f), 40 * SEC);
	f->random = 999;
	answer(f, 429, "", 40 * SEC);
	assert_in_range(wait_for_request(f), 59 * SEC, 60 * SEC);
	f->random = 0;
	answer(f, 503, "", 4000000 * SEC); /* absurd: our own backoff */
	assert_int_equal(wait_for_request(f), SEC);
}

static void test_refused_credentials(void **state)
{
	struct fixture *f = *state;

	append(f, 1);
	poll(f);
	f->random = 0;
	answer(f, 401, "{\"detail\":\"revoked\"}", -1);
	assert_int_equal(wait_for_request(f), 30 * SEC);
	answer(f, 403, "", -1);
	upload_set_token(f->u, "other"); /* a new one is tried at once */
	f->now += 1;
	poll(f);
	poll(f);
	f->now += 30 * SEC;
	poll(f);
	assert_true(f->pending);
	assert_non_null(strstr(f->headers, "Bearer other\n"));
	ack(f);
	assert_true(upload_done(f->u));
}

/* None of these is an acknowledgement, and none is the end of the records. */
static void test_false_answers(void **state)
{
	static const struct {
		int status;
		const char *body;
	} answers[] = {
		{200, ""},
		{200, "{}"},
		{200, "<html>please log in</html>"},
		{200, "[1]"},
		{200, "{\"next_seq\":\"2\"}"},
		{200, "{\"next_seq\":2.0}"},
		{200, "{\"next_seq\":-1}"},
		{200, "{\"next_seq\":2,\"next_seq\":3}"},
		{200, "{\"next_seq\":2"},
		{204, ""},
		{302, "{\"next_seq\":2}"},
		{404, ""},
		{405, ""},
		{500, "{\"next_seq\":2}"},
		{301, ""},
		{409, "{}"},
		{100, ""},
	};
	struct fixture *f = *state;
	struct upload_stats st;

	append(f, 1);
	poll(f);
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		answer(f, answers[i].status, answers[i].body, -1);
		assert_int_equal(acked_to(f), 1);
		upload_stats(f->u, &st);
		assert_int_equal(st.failures, i + 1);
		assert_true(*st.problem);
		assert_true(wait_for_request(f) >= SEC);
		assert_int_equal(f->first, 1);
	}
	ack(f);
	assert_true(upload_done(f->u));
}

static void test_ack_of_unsent(void **state)
{
	struct fixture *f = *state;

	append(f, 2);
	poll(f);
	append(f, 3);
	answer(f, 200, "{\"next_seq\":900}", -1);
	assert_int_equal(acked_to(f), 3);
}

/* The server committed but the answer was lost: the retry is a duplicate, and that is an ack. */
static void test_lost_answer(void **state)
{
	struct fixture *f = *state;

	append(f, 5);
	poll(f);
	answer(f, 0, "", -1);
	wait_for_request(f);
	assert_int_equal(f->last, 5);
	answer(f, 200, "{\"next_seq\":6}", -1);
	assert_true(upload_done(f->u));
}

static void test_rewind(void **state)
{
	struct fixture *f = *state;

	append(f, 6);
	poll(f);
	ack(f);
	append(f, 2);
	poll(f);
	assert_int_equal(f->first, 7);
	answer(f, 409, "{\"expected\":3}", -1); /* a failover lost 3..6 */
	poll(f);
	assert_int_equal(f->first, 3);
	assert_int_equal(f->last, 8);
	answer(f, 200, "{\"next_seq\":9}", -1);
	assert_true(upload_done(f->u));
	/* A server that never agrees does not get a storm of requests. */
	append(f, 1);
	for (int i = 0; i < 3; i++) {
		poll(f);
		assert_true(f->pending);
		answer(f, 409, i % 2 ? "{\"expected\":1}" : "{\"expected\":2}", -1);
	}
	poll(f);
	answer(f, 409, "{\"expected\":1}", -1);
	assert_true(wait_for_request(f) >= SEC);
}

/* 422 for a body of many: halved until the guilty record stands alone; only that one is lost. */
static void test_permanent_refusal(void **state)
{
	static const int statuses[] = {400, 413, 415, 422};

	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct fixture *f;
		struct upload_stats st;
		unsigned int requests = 0, gaps = 0;

		if (i) {
			teardown(state);
			setup(state);
		}
		f = *state;
		append(f, 64);
		for (poll(f); f->pending; poll(f)) {
			bool guilty = memmem(f->body.data, f->body.len, "record 40\"", 10) != NULL;

			gaps += memmem(f->body.data, f->body.len, "\"rejected\"", 10) != NULL;
			assert_true(++requests < 40);
			if (guilty)
				answer(f, statuses[i], "{\"detail\":\"bad bucket\"}", -1);
			else
				ack(f);
		}
		upload_stats(f->u, &st);
		assert_int_equal(st.rejected_records, 1);
		assert_int_equal(gaps, 1);
		assert_true(upload_done(f->u));
	}
}

static void test_fork(void **state)
{
	struct fixture *f = *state;
	char stream[STREAM_HEX];

	snprintf(stream, sizeof(stream), "%s", spool_stream(f->spool));
	append(f, 3);
	poll(f);
	answer(f, 409, "{\"expected\":2,\"fork\":true}", -1);
	assert_string_not_equal(spool_stream(f->spool), stream);
	append(f, 1);
	poll(f);
	assert_int_equal(f->first, 1);
	assert_null(strstr(f->headers, stream));
	ack(f);
	/* A server that expects numbers which we never wrote knows another writer of this stream.
	 */
	append(f, 1);
	poll(f);
	snprintf(stream, sizeof(stream), "%s", spool_stream(f->spool));
	answer(f, 409, "{\"expected\":900}", -1);
	assert_string_not_equal(spool_stream(f->spool), stream);
}

static void test_old_stream_first(void **state)
{
	struct fixture *f = *state;
	char old[STREAM_HEX], url[200];

	append(f, 5);
	snprintf(old, sizeof(old), "%s", spool_stream(f->spool));
	upload_free(f->u);
	spool_close(f->spool);
	open_upload(f);
	append(f, 1);
	poll(f);
	assert_string_equal(f->method, "GET");
	snprintf(url, sizeof(url), "http://server:8420/api/v1/ingest/%s", old);
	assert_string_equal(f->url, url);
	answer(f, 503, "", -1);
	wait_for_request(f);
	assert_string_equal(f->method, "GET");
	answer(f, 200, "{\"next_seq\":3}", -1); /* 1 and 2 had arrived */
	poll(f);
	assert_string_equal(f->method, "POST");
	assert_non_null(strstr(f->headers, old));
	assert_int_equal(f->first, 3);
	assert_int_equal(f->last, 5);
	ack(f);
	poll(f);
	assert_null(strstr(f->headers, old));
	assert_int_equal(f->first, 1);
	ack(f);
	assert_true(upload_done(f->u));
}

/* Of an old stream the server has more than the disk kept (a power cut): nothing is left to do. */
static void test_old_stream_ahead(void **state)
{
	struct fixture *f = *state;

	append(f, 5);
	upload_free(f->u);
	spool_close(f->spool);
	open_upload(f);
	poll(f);
	answer(f, 200, "{\"next_seq\":8}", -1);
	poll(f);
	assert_false(f->pending);
	assert_true(upload_done(f->u));
}

static void test_hold_and_resume(void **state)
{
	struct fixture *f = *state;

	upload_hold(f->u, true);
	append(f, 2);
	assert_int_equal(poll(f), INT64_MAX);
	assert_false(f->pending);
	upload_hold(f->u, false);
	poll(f);
	assert_true(f->pending);
	upload_hold(f->u, true); /* one in flight is finished */
	ack(f);
	append(f, 1);
	poll(f);
	assert_false(f->pending);
	upload_hold(f->u, false);
	poll(f);
	answer(f, 0, "", -1);
	f->random = 500;
	poll(f);
	upload_resumed(f->u);
	assert_int_equal(f->dropped, 1);
	assert_true(wait_for_request(f) < SEC);
	upload_free(f->u);
	assert_true(f->cancelled);
	f->u = NULL;
}

/* A backlog is paced; a body never exceeds its bound by more than one record. */
static void test_backlog(void **state)
{
	struct fixture *f = *state;
	uint64_t next = 1;

	append(f, 9000);
	for (poll(f); next < 9001; wait_for_request(f)) {
		assert_true(f->pending);
		assert_true(f->body.len <= 256 << 10);
		assert_int_equal(f->first, next);
		next = f->last + 1;
		ack(f);
		if (next == 9001)
			break;
	}
	assert_true(upload_done(f->u));
	assert_true(f->now > 1000 * SEC); /* some time passed between full bodies */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_delivers),	   T(test_backoff),
		T(test_retry_after),	   T(test_refused_credentials),
		T(test_false_answers),	   T(test_ack_of_unsent),
		T(test_lost_answer),	   T(test_rewind),
		T(test_permanent_refusal), T(test_fork),
		T(test_old_stream_first),  T(test_old_stream_ahead),
		T(test_hold_and_resume),   T(test_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
