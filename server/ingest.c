/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/ingest.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/log.h"
#include "common/parse.h"
#include "server/db.h"
#include "server/ingest_internal.h"
#include "server/items.h"
#include "server/queries.h"
#include "server/server.h"

#define BUCKETS		  4096 /* a power of two */
#define STREAMS_MAX	  65536
#define STREAM_IDLE_NS	  (600 * NS_PER_SEC)
#define PENDING_BYTES_MAX (64ull << 20)
#define STREAM_POSTS_MAX  4 /* an agent has one in flight; libcurl may send it again */
#define REOPENS_MAX	  3
#define OPEN_MS		  8000
#define PROBLEM_AFTER_NS  (5 * NS_PER_SEC)
#define AGENTS_A_SECOND	  50
#define RETRY_AFTER_MIN_S 2
#define RETRY_AFTER_MAX_S 120

/* ---- streams ---- */

static size_t bucket_of(const char *host, const unsigned char id[STREAM_ID_LEN])
{
	return crc32c(crc32c(0, id, STREAM_ID_LEN), host, strlen(host)) & (BUCKETS - 1);
}

static struct stream *stream_get(struct ingest *in, const char *host,
				 const unsigned char id[STREAM_ID_LEN])
{
	size_t b = bucket_of(host, id);
	struct stream *s = in->buckets[b];

	while (s && (memcmp(s->id, id, STREAM_ID_LEN) != 0 || strcmp(s->host, host) != 0))
		s = s->next;
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->host = xstrdup(host);
		memcpy(s->id, id, STREAM_ID_LEN);
		s->next = in->buckets[b];
		in->buckets[b] = s;
		in->stats.streams++;
	}
	s->used_ns = clock_monotonic_ns();
	return s;
}

static void ring_add(struct ingest *in, struct stream *s)
{
	if (s->ring)
		return;
	in->ring_len++;
	if (!in->ring) {
		s->ring = s->prev = s;
		in->ring = s;
		return;
	}
	s->ring = in->ring; /* before the next in turn: last */
	s->prev = in->ring->prev;
	s->prev->ring = s;
	s->ring->prev = s;
}

static void ring_remove(struct ingest *in, struct stream *s)
{
	if (!s->ring)
		return;
	in->ring_len--;
	if (s->ring == s) {
		in->ring = NULL;
	} else {
		s->prev->ring = s->ring;
		s->ring->prev = s->prev;
		if (in->ring == s)
			in->ring = s->ring;
	}
	s->ring = s->prev = NULL;
}

static void stream_free(struct ingest *in, struct stream *s)
{
	CHECK(!s->first && !s->ring);
	in->stats.streams--;
	free(s->host);
	free(s);
}

void ingest_tick(struct ingest *in)
{
	int64_t idle_ns = in->stats.streams > STREAMS_MAX / 2 ? 5 * NS_PER_SEC : STREAM_IDLE_NS;
	int64_t oldest = clock_monotonic_ns() - idle_ns;

	for (size_t b = 0; b < BUCKETS; b++) {
		struct stream **at = &in->buckets[b];

		while (*at) {
			struct stream *s = *at;

			if (s->first || s->opening || s->in_group || s->used_ns > oldest) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			stream_free(in, s);
		}
	}
}

void ingest_forget(struct ingest *in)
{
	for (size_t b = 0; b < BUCKETS; b++)
		for (struct stream *s = in->buckets[b]; s; s = s->next)
			s->doubtful = true;
}

/* ---- posts ---- */

static size_t stream_posts(const struct stream *s)
{
	size_t n = 0;

	for (const struct post *p = s->first; p; p = p->next)
		n++;
	return n;
}

static void post_free(struct ingest *in, struct post *p)
{
	in->stats.posts--;
	in->stats.pending_bytes -= p->bytes;
	ingest_batch_done(&p->batch);
	free(p);
}

static void post_unlink(struct ingest *in, struct post *p)
{
	struct stream *s = p->stream;
	struct post **at = &s->first, *before = NULL;

	while (*at != p) {
		before = *at;
		at = &before->next;
	}
	*at = p->next;
	if (s->last == p)
		s->last = before;
	if (!s->first)
		ring_remove(in, s);
}

/* The request ended before its answer: its deadline, or the client left. */
static void on_request_gone(void *ctx)
{
	struct post *p = ctx;
	struct ingest *in = p->req->server->ingest;

	p->req = NULL;
	if (p->stream->in_group && p->stream->first == p)
		return; /* it is being stored: its group ends it */
	post_unlink(in, p);
	post_free(in, p);
}

static enum step reply_next(struct request *req, uint64_t next_seq)
{
	return reply_json(req, 200,
			  json_pack("{s:I, s:I}", "next_seq", (json_int_t)next_seq, "server_ns",
				    (json_int_t)clock_realtime_ns()));
}

/* With the whole fleet waiting, about AGENTS_A_SECOND come back each second. */
static void put_retry_after(struct request *req, const struct ingest *in)
{
	uint64_t s = in->stats.streams / AGENTS_A_SECOND;
	char text[24];

	s = s < RETRY_AFTER_MIN_S   ? RETRY_AFTER_MIN_S
	    : s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S
				    : s;
	(void)snprintf(text, sizeof(text), "%" PRIu64, s);
	reply_header(req, "Retry-After", text);
}

/* The answer of an error, with what PROTOCOL.md promises. */
static enum step reply_refusal(const struct ingest *in, struct request *req, const struct stream *s,
			       const struct err *err)
{
	if (err_http_status(err->code) == 503)
		put_retry_after(req, in);
	switch (err->code) {
	case ERR_NOT_FOUND: /* a gap */
		return reply_json(req, 409,
				  json_pack("{s:I, s:s}", "expected", (json_int_t)s->next_seq,
					    "detail", "records before these are missing"));
	case ERR_CONFLICT: /* a fork */
		log_warn("ingest: host %s: %s: the stream is refused (a copied or restored box?)",
			 s->host, err->text);
		return reply_json(req, 409,
				  json_pack("{s:I, s:b, s:s}", "expected", (json_int_t)s->next_seq,
					    "fork", 1, "detail", err->text));
	case ERR_PERM:
		return reply_problem(req, 403, "host-retired",
				     "rigstat host unretire NAME takes it back.", "%s", err->text);
	case ERR_INVALID:
	case ERR_LIMIT:
		return reply_problem(req, 422, "records-invalid", NULL, "%s", err->text);
	default:
		return reply_err(req, err);
	}
}

void post_finish(struct ingest *in, struct post *p, const struct err *err)
{
	struct request *req = TAKE(p->req);
	struct stream *s = p->stream;

	post_unlink(in, p);
	if (req) {
		req->ctx_free = NULL;
		(void)(err ? reply_refusal(in, req, s, err) : reply_next(req, s->next_seq));
	}
	post_free(in, p);
}

/* ---- opening a stream ---- */

struct opening {
	struct ingest *in;
	struct stream *stream;
};

enum { COL_HOST_ID, COL_NEXT_SEQ, COL_LAST_CRC };

static void on_opened(void *ctx, const struct db_result *res, const struct err *err)
{
	struct opening *o = ctx;
	struct ingest *in = o->in;
	struct stream *s = o->stream;
	struct err retired;

	free(o);
	s->opening = false;
	if (!err && !db_rows(res)) {
		(void)err_set(&retired, ERR_PERM, "Host '%s' is retired: its data stays as it is.",
			      s->host);
		err = &retired;
	}
	if (err) {
		ingest_note_failure(in, err);
		while (s->first)
			post_finish(in, s->first, err);
		return;
	}
	s->known = true;
	if (s->first)
		s->first->checked_at = 0; /* the CRC of the mark may be another one */
	s->host_id = db_i64(res, 0, COL_HOST_ID);
	s->next_seq = (uint64_t)db_i64(res, 0, COL_NEXT_SEQ);
	s->has_crc = !db_is_null(res, 0, COL_LAST_CRC);
	s->last_crc = (uint32_t)db_i64(res, 0, COL_LAST_CRC);
	ingest_group_send(in);
}

static void open_stream(struct ingest *in, struct stream *s)
{
	const char *remote = s->first && s->first->req ? request_remote(s->first->req) : NULL;
	const struct db_param params[] = {P_TEXT(s->host), P_UUID(s->id), P_TEXT(remote)};
	struct opening *o = xcalloc(1, sizeof(*o));

	*o = (struct opening){in, s};
	s->opening = true;
	db_query(in->db, DB_INGEST, &Q_STREAM_OPEN, params, ARRAY_LEN(params), OPEN_MS, NULL,
		 on_opened, o);
}

/* ---- what a post is, given the stream's marks ---- */

/* Marks that say no may be old: another server may have stored more of this stream. They are read
 * once more before the answer. */
static bool look_again(struct ingest *in, struct post *p)
{
	if (p->looked_again)
		return false;
	p->looked_again = true;
	p->stream->known = false;
	open_stream(in, p->stream);
	return true;
}

static void on_fork_noted(void *ctx, const struct db_result *res, const struct err *err)
{
	(void)ctx;
	(void)res;
	if (err)
		log_warn("ingest: a fork could not be noted: %s", err->text);
}

/* Counted in the database too, so that the host's page can say it. */
static void note_fork(struct ingest *in, const struct stream *s)
{
	const struct db_param params[] = {P_I64(s->host_id), P_UUID(s->id)};

	in->stats.forks++;
	db_query(in->db, DB_INGEST, &Q_STREAM_FORKED, params, ARRAY_LEN(params), OPEN_MS, NULL,
		 on_fork_noted, NULL);
}

/* True when it was answered: known before, a gap, a fork, or wrong; or when it waits for the
 * marks to be read again. */
static bool settle(struct ingest *in, struct post *p)
{
	struct stream *s = p->stream;
	struct err err = {0};
	bool has_crc;
	uint32_t crc;

	if (p->last < s->next_seq) {
		if (p->last == s->next_seq - 1 && s->has_crc &&
		    ingest_last_crc(p->req->body, p->req->body_len, &crc, &has_crc, &err) == 0 &&
		    has_crc && crc != s->last_crc) {
			if (look_again(in, p))
				return true;
			(void)err_set(&err, ERR_CONFLICT,
				      "record %" PRIu64 " was stored with other bytes", p->last);
			note_fork(in, s);
		}
		in->stats.duplicates += !err.code;
		post_finish(in, p, err.code ? &err : NULL);
		return true;
	}
	if (p->first > s->next_seq) {
		if (look_again(in, p))
			return true;
		in->stats.gaps++;
		(void)err_set(&err, ERR_NOT_FOUND, "a gap");
		post_finish(in, p, &err);
		return true;
	}
	return false;
}

static int check_post(struct post *p, struct err *reterr)
{
	const struct stream *s = p->stream;
	const struct ingest_source src = {s->host, s->id, s->next_seq, s->has_crc, s->last_crc};

	if (p->checked_at == s->next_seq)
		return 0;
	ingest_batch_done(&p->batch);
	if (ingest_check(p->req->body, p->req->body_len, &src, &p->batch, reterr) < 0)
		return reterr->code;
	if (p->batch.last != p->last || p->batch.first > p->first)
		return err_set(reterr, ERR_INVALID,
			       "the headers say records %" PRIu64 " to %" PRIu64
			       ", the body has %" PRIu64 " to %" PRIu64,
			       p->first, p->last, p->batch.first, p->batch.last);
	p->checked_at = s->next_seq;
	return 0;
}

struct post *ingest_next_post(struct ingest *in, struct stream *s)
{
	struct err err;

	while (s->first && s->known && !s->in_group) {
		struct post *p = s->first;

		CHECK(p->req); /* a post without one is unlinked unless its group is in flight */
		if (settle(in, p))
			continue;
		if (check_post(p, &err) == 0)
			return p;
		if ((err.code == ERR_CONFLICT || err.code == ERR_NOT_FOUND) && look_again(in, p))
			continue;
		in->stats.wrong += err.code == ERR_INVALID;
		if (err.code == ERR_CONFLICT)
			note_fork(in, s);
		in->stats.gaps += err.code == ERR_NOT_FOUND;
		post_finish(in, p, &err);
	}
	return NULL;
}

void ingest_reopen(struct ingest *in, struct stream *s)
{
	struct post *p = s->first;
	struct err err;

	s->known = false;
	if (p && p->tries++ >= REOPENS_MAX) {
		(void)err_set(&err, ERR_BUSY,
			      "the stream's mark keeps moving: is the agent cloned?");
		post_finish(in, p, &err);
	}
	if (s->first && !s->opening)
		open_stream(in, s);
}

/* ---- the requests ---- */

static int read_headers(struct request *req, struct post *p, unsigned char id[STREAM_ID_LEN],
			const char **ret_host, struct err *reterr)
{
	const char *stream = request_header(req, "X-Rigstat-Stream");
	const char *first = request_header(req, "X-Rigstat-First");
	const char *last = request_header(req, "X-Rigstat-Last");
	const char *crc = request_header(req, "X-Rigstat-CRC32C");
	char expect[9];

	*ret_host = request_header(req, "X-Rigstat-Host");
	if (!item_uid(stream, id))
		return err_set(reterr, ERR_INVALID, "X-Rigstat-Stream must be 32 hex digits");
	if (!*ret_host || !**ret_host || strlen(*ret_host) > 128 ||
	    !text_is_clean(*ret_host, strlen(*ret_host)))
		return err_set(reterr, ERR_INVALID,
			       "X-Rigstat-Host must be a name of 1 to 128 "
			       "bytes");
	if (!first || parse_u64(first, &p->first, NULL) < 0 || !last ||
	    parse_u64(last, &p->last, NULL) < 0 || p->first < 1 || p->last < p->first ||
	    p->last > INT64_MAX / 2)
		return err_set(reterr, ERR_INVALID,
			       "X-Rigstat-First and -Last must be the numbers of the records");
	(void)snprintf(expect, sizeof(expect), "%08x",
		       (unsigned int)crc32c(0, req->body, req->body_len));
	if (!crc || strcasecmp(crc, expect) != 0)
		return err_set(reterr, ERR_INVALID,
			       "X-Rigstat-CRC32C is %.12s, the body has %s: it was damaged on the "
			       "way",
			       crc ? crc : "missing", expect);
	return 0;
}

/* Room for one more? */
static int admit(const struct ingest *in, const struct stream *s, size_t bytes, struct err *reterr)
{
	if (in->stats.pending_bytes + bytes > PENDING_BYTES_MAX)
		return err_set(reterr, ERR_BUSY, "%" PRIu64 " bytes wait to be stored: try again",
			       in->stats.pending_bytes);
	if (stream_posts(s) >= STREAM_POSTS_MAX)
		return err_set(reterr, ERR_BUSY, "earlier posts of this stream are not stored yet");
	if (in->stats.streams > STREAMS_MAX)
		return err_set(reterr, ERR_BUSY, "too many streams: try again later");
	return 0;
}

static void enqueue(struct ingest *in, struct stream *s, struct post *p)
{
	struct request *req = p->req;

	p->stream = s;
	if (s->last)
		s->last->next = p;
	else
		s->first = p;
	s->last = p;
	ring_add(in, s);
	in->stats.posts++;
	in->stats.pending_bytes += p->bytes;
	req->ctx = p;
	req->ctx_free = on_request_gone;
}

static enum step refuse_other_host(struct request *req)
{
	return reply_problem(
		req, 403, "auth-scope",
		"rigstat-server enroll-code makes a code with which a box gets a token "
		"of its own.",
		"This token is for records of host '%s' only.", req->token_host);
}

enum step api_ingest(struct request *req)
{
	struct ingest *in = req->server->ingest;
	struct post *p CLEANUP(freep) = xcalloc(1, sizeof(*p));
	const char *type = request_header(req, "Content-Type");
	unsigned char id[STREAM_ID_LEN] = {0};
	struct stream *s;
	const char *host;
	struct err err;

	if (!type || strcasecmp(type, "application/x-rigstat-records") != 0 ||
	    request_header(req, "Content-Encoding"))
		return reply_problem(req, 415, "media-type", NULL,
				     "Records are sent as application/x-rigstat-records, without "
				     "an encoding.");
	if (read_headers(req, p, id, &host, &err) < 0) {
		in->stats.wrong++;
		return reply_err(req, &err);
	}
	if (*req->token_host && strcmp(req->token_host, host) != 0)
		return refuse_other_host(req);
	s = stream_get(in, host, id);
	if (s->doubtful && !s->first && !s->opening) /* else at the next post */
		s->doubtful = s->known = false;
	p->bytes = req->body_len;
	p->req = req;
	if (admit(in, s, p->bytes, &err) < 0) {
		in->stats.refused++;
		return reply_err(req, &err);
	}
	enqueue(in, s, p);
	p = NULL;
	if (!s->known && !s->opening)
		open_stream(in, s);
	/* A duplicate is answered at once, also while a group is in flight. */
	if (s->known && !s->in_group)
		(void)ingest_next_post(in, s);
	ingest_group_send(in);
	return STEP_WAIT;
}

static void on_next(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_next(req, db_rows(res) ? (uint64_t)db_i64(res, 0, 0) : 1);
}

enum step api_ingest_next(struct request *req)
{
	unsigned char id[STREAM_ID_LEN] = {0};
	const char *host = request_header(req, "X-Rigstat-Host");
	struct db_param params[] = {P_UUID(id), P_TEXT(host)};

	if (!item_uid(request_path(req, "stream"), id))
		return reply_problem(req, 400, "invalid", NULL, "A stream is 32 hex digits.");
	if (host && !text_is_clean(host, strlen(host)))
		return reply_problem(req, 400, "invalid", NULL, "X-Rigstat-Host is no name.");
	if (*req->token_host) {
		if (host && strcmp(host, req->token_host) != 0)
			return refuse_other_host(req);
		params[1] = P_TEXT(req->token_host);
	}
	db_query(req->server->db, DB_INGEST, &Q_STREAM_NEXT, params, ARRAY_LEN(params), OPEN_MS,
		 &req->pending, on_next, req);
	return STEP_WAIT;
}

/* ---- start, end, counters ---- */

struct ingest *ingest_new(struct db *db, void (*on_stored)(void *ctx, int64_t host_id), void *ctx)
{
	struct ingest *in = xcalloc(1, sizeof(*in));

	in->db = db;
	in->buckets = xcalloc(BUCKETS, sizeof(struct stream *));
	in->on_stored = on_stored;
	in->ctx = ctx;
	return in;
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	CHECK(!in->group && in->stats.posts == 0);
	for (size_t b = 0; b < BUCKETS; b++) {
		while (in->buckets[b]) {
			struct stream *s = in->buckets[b];

			in->buckets[b] = s->next;
			stream_free(in, s);
		}
	}
	free(in->buckets);
	free(in);
}

void ingest_note_failure(struct ingest *in, const struct err *err)
{
	if (err->code != ERR_BUSY && err->code != ERR_DB && err->code != ERR_TIMEOUT)
		return;
	in->failed_ns = clock_monotonic_ns();
	if (!in->failing_since_ns) {
		in->failing_since_ns = in->failed_ns;
		log_error("ingest: records are not stored, agents keep them: %s", err->text);
	}
	(void)snprintf(in->failure, sizeof(in->failure), "%s", err->text);
}

const char *ingest_problem(const struct ingest *in)
{
	int64_t now = clock_monotonic_ns();

	if (!in->failing_since_ns || now - in->failing_since_ns < PROBLEM_AFTER_NS ||
	    now - in->failed_ns > RETRY_AFTER_MAX_S * NS_PER_SEC)
		return NULL;
	return in->failure;
}

struct ingest_stats ingest_stats(const struct ingest *in)
{
	return in->stats;
}
