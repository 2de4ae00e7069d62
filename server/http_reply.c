/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answering: what handlers call. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "common/check.h"
#include "common/log.h"
#include "server/http_internal.h"
#include "server/inflate.h"

#define GZIP_MIN     1024
#define GZIP_MAX     (512 * 1024) /* above, the loop would stand still for too long */
#define STREAM_BLOCK (32 * 1024)
#define EVENTS_BLOCK (4 * 1024)
#define EVENTS_SEND  (16 * 1024)

void reply_header(struct request *req, const char *name, const char *value)
{
	struct http_exchange *x = req->x;

	for (const char *p = value; *p; p++)
		CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
	CHECK(x->n_headers < REPLY_HEADERS_MAX);
	x->header_names[x->n_headers] = xstrdup(name);
	x->header_values[x->n_headers++] = xstrdup(value);
}

static bool has_header(const struct http_exchange *x, const char *name)
{
	for (size_t i = 0; i < x->n_headers; i++)
		if (strcasecmp(x->header_names[i], name) == 0)
			return true;
	return false;
}

static void put(struct MHD_Response *r, const char *name, const char *value)
{
	CHECK(MHD_add_response_header(r, name, value) == MHD_YES);
}

static enum step finish(struct request *req, int status, const char *content_type,
			struct MHD_Response *r)
{
	struct http_exchange *x = req->x;

	CHECK(r);
	if (content_type)
		put(r, "Content-Type", content_type);
	for (size_t i = 0; i < x->n_headers; i++)
		put(r, x->header_names[i], x->header_values[i]);
	put(r, "X-Request-Id", req->id);
	put(r, "X-Content-Type-Options", "nosniff");
	if (!has_header(x, "Cache-Control"))
		put(r, "Cache-Control", "no-store");
	exchange_replied(x, status, r);
	return STEP_DONE;
}

static bool is_text(const char *type)
{
	return type && (strncmp(type, "text/", 5) == 0 || strstr(type, "json") ||
			strstr(type, "svg") || strstr(type, "javascript") || strstr(type, "yaml"));
}

bool reply_etag(struct request *req, const char *text, bool weak, bool immutable)
{
	char etag[160];

	(void)snprintf(etag, sizeof(etag), "%s\"%s\"", weak ? "W/" : "", text);
	reply_header(req, "ETag", etag);
	reply_header(req, "Cache-Control",
		     immutable ? "private, max-age=31536000, immutable" : "private, no-cache");
	if (!http_etag_matches(request_header(req, "If-None-Match"), text))
		return false;
	(void)reply_empty(req, 304);
	return true;
}

enum step reply_buf(struct request *req, int status, const char *content_type, struct strbuf *body)
{
	struct http_exchange *x = req->x;
	struct MHD_Response *r;
	size_t len;
	char *data;

	if (is_text(content_type) && !has_header(x, "Content-Encoding")) {
		if (!has_header(x, "Vary"))
			reply_header(req, "Vary", "Accept, Accept-Encoding");
		if (body->len >= GZIP_MIN && body->len <= GZIP_MAX &&
		    http_accepts_gzip(request_header(req, "Accept-Encoding"))) {
			struct strbuf small = {0};

			gzip_deflate(body->data, body->len, &small);
			strbuf_done(body);
			*body = small;
			reply_header(req, "Content-Encoding", "gzip");
		}
	}
	len = body->len;
	data = strbuf_take(body);
	x->reply_len = len;
	r = MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);
	return finish(req, status, content_type, r);
}

enum step reply_json(struct request *req, int status, json_t *doc)
{
	struct strbuf body = {0};
	char *text;

	CHECK(doc);
	text = json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	json_decref(doc);
	CHECK(text);
	body.data = text;
	body.len = strlen(text);
	body.cap = body.len + 1;
	return reply_buf(req, status, "application/json", &body);
}

enum step reply_static(struct request *req, int status, const char *content_type, const void *data,
		       size_t len)
{
	req->x->reply_len = len;
	return finish(req, status, content_type,
		      MHD_create_response_from_buffer(len, (void *)(uintptr_t)data,
						      MHD_RESPMEM_PERSISTENT));
}

enum step reply_empty(struct request *req, int status)
{
	return finish(req, status, NULL,
		      MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

/* ---- problems ---- */

static const char *title_of(int status)
{
	static const struct {
		int status;
		const char *title;
	} table[] = {
		{400, "The request cannot be understood"},
		{401, "A token is needed"},
		{403, "The token does not allow this"},
		{404, "Not found"},
		{405, "Wrong method"},
		{409, "The present state forbids this"},
		{411, "A length is needed"},
		{412, "It was changed by someone else"},
		{413, "Too large"},
		{415, "This kind of body is not read here"},
		{422, "The content is wrong"},
		{428, "Say which version you mean"},
		{429, "Too many requests"},
		{500, "The server has failed"},
		{501, "This server cannot do that"},
		{503, "Busy: try again later"},
		{504, "It took too long"},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].status == status)
			return table[i].title;
	return "The request failed";
}

enum step reply_problem(struct request *req, int status, const char *slug, const char *hint,
			const char *fmt, ...)
{
	char detail[700], type[80];
	struct strbuf body = {0};
	va_list ap;
	json_t *doc, *text;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	(void)snprintf(type, sizeof(type), "/problems/%s", slug);
	text = json_string(detail);
	if (!text) /* it was cut inside a character, or quotes bytes of the client */
		text = json_string("the request is refused; its text is not valid UTF-8");
	doc = json_pack("{s:s, s:s, s:i, s:o, s:s}", "type", type, "title", title_of(status),
			"status", status, "detail", text, "request_id", req->id);
	CHECK(doc);
	if (hint)
		(void)json_object_set_new(doc, "hint", json_string(hint));
	body.data = json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	json_decref(doc);
	CHECK(body.data);
	body.len = strlen(body.data);
	body.cap = body.len + 1;
	return reply_buf(req, status, "application/problem+json", &body);
}

enum step reply_err(struct request *req, const struct err *err)
{
	int status = err_http_status(err->code);

	if (status == 503 && !has_header(req->x, "Retry-After"))
		reply_header(req, "Retry-After", "2");
	if (err->code == ERR_DB || err->code == ERR_IO || err->code == ERR_NOMEM) {
		log_error("http: request %s: %s", req->id, err->text);
		return reply_problem(req, status, err_name(err->code),
				     "The server's log has the cause under this request_id.",
				     "The server could not do it.");
	}
	return reply_problem(req, status, err_name(err->code), NULL, "%s", err->text);
}

/* ---- streams ---- */

/* MHD wants at most `max` bytes. Returning 0 after suspending means: later. */
static ssize_t on_read(void *cls, uint64_t pos, char *buf, size_t max)
{
	struct reply_stream_state *s = cls;
	struct http_exchange *x = s->x;
	size_t n;

	(void)pos;
	if (s->off == s->buf.len && !s->end) {
		strbuf_clear(&s->buf);
		s->off = 0;
		switch (exchange_stopping(x) ? STREAM_END : s->next(s->ctx, &s->buf)) {
		case STREAM_END:
			s->end = true;
			break;
		case STREAM_WAIT:
			exchange_set_state(x, X_PAUSED);
			exchange_suspend(x);
			return 0;
		case STREAM_MORE:
			break;
		}
	}
	n = s->buf.len - s->off < max ? s->buf.len - s->off : max;
	if (!n)
		return s->end ? MHD_CONTENT_READER_END_OF_STREAM : 0;
	memcpy(buf, s->buf.data + s->off, n);
	s->off += n;
	return (ssize_t)n;
}

static void on_stream_free(void *cls)
{
	struct reply_stream_state *s = cls;

	if (s->x)
		s->x->stream = NULL;
	if (s->ctx_free)
		s->ctx_free(s->ctx);
	strbuf_done(&s->buf);
	free(s);
}

static enum step start_stream(struct request *req, int status, const char *content_type,
			      size_t block, enum stream_next (*next)(void *ctx, struct strbuf *out),
			      void *ctx, void (*ctx_free)(void *ctx))
{
	struct http_exchange *x = req->x;

	x->stream = xcalloc(1, sizeof(*x->stream));
	x->stream->x = x;
	x->stream->next = next;
	x->stream->ctx = ctx;
	x->stream->ctx_free = ctx_free;
	return finish(req, status, content_type,
		      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, on_read, x->stream,
							on_stream_free));
}

enum step reply_stream(struct request *req, int status, const char *content_type,
		       enum stream_next (*next)(void *ctx, struct strbuf *out), void *ctx,
		       void (*ctx_free)(void *ctx))
{
	return start_stream(req, status, content_type, STREAM_BLOCK, next, ctx, ctx_free);
}

enum step reply_events(struct request *req, enum stream_next (*next)(void *ctx, struct strbuf *out),
		       void *ctx)
{
	reply_header(req, "X-Accel-Buffering", "no"); /* nginx would hold events back */
	mhdloop_limit_send(req->x->conn, EVENTS_SEND);
	return start_stream(req, 200, "text/event-stream", EVENTS_BLOCK, next, ctx, NULL);
}

void reply_stream_wake(struct request *req)
{
	struct http_exchange *x = req->x;

	if (x->state != X_PAUSED)
		return; /* it is not asleep: it will ask again by itself */
	exchange_set_state(x, X_SENDING);
	exchange_resume(x);
}
