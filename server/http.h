/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request and its answer, as handlers see them: no libmicrohttpd, no suspension, no chunks.
 *
 * A handler (struct route, `begin`) either replies and returns STEP_DONE, or starts a database
 * query or a job with `&req->pending` as its owner and returns STEP_WAIT; the callback then
 * replies with any of the reply_ functions, which finishes the request. Exactly one reply a
 * request. When the deadline passes or the server stops, http.c cancels req->pending and replies
 * itself; callbacks are not called after that. Loop thread only.
 *
 * Life: from the arrival of the headers until the answer is sent. `ctx` is the handler's own
 * state: ctx_free(ctx) is called when the request ends, however it ends. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "common/strbuf.h"
#include "common/token.h"
#include "server/pending.h"

enum http_method {
	HTTP_GET = 1 << 0,
	HTTP_HEAD = 1 << 1,
	HTTP_POST = 1 << 2,
	HTTP_PUT = 1 << 3,
	HTTP_PATCH = 1 << 4,
	HTTP_DELETE = 1 << 5,
};

enum step { STEP_DONE, STEP_WAIT };

struct server;
struct route;

struct param {
	const char *name, *value; /* decoded, valid UTF-8, no control characters */
};

#define REQUEST_PATH_PARAMS_MAX	 4
#define REQUEST_HOST_MAX	 129
#define REQUEST_TOKEN_MAX	 16
#define REQUEST_QUERY_PARAMS_MAX 64

struct request {
	uint32_t magic;
	struct server *server; /* ->db, ->work, ->options (server.h) */
	const struct route *route;
	enum http_method method;
	const char *path; /* decoded, without the query */
	const char *url;  /* path and query as sent, for links and "instance" */
	char id[24];	  /* unique; also in X-Request-Id, problems and the log */
	struct param path_params[REQUEST_PATH_PARAMS_MAX];
	size_t n_path_params;
	struct param query[REQUEST_QUERY_PARAMS_MAX];
	size_t n_query;
	const char *body; /* NUL-terminated, whole; already inflated when it came as gzip */
	size_t body_len;
	struct token_text token;	       /* that it came with; id "": none */
	char token_host[REQUEST_HOST_MAX];     /* host that the token is bound to, "" = any */
	char token_id[REQUEST_TOKEN_MAX];      /* of the token that opened it, "" = none */
	void (*auth_go)(struct request *req);  /* private to auth.c */
	char audit_who[80], audit_object[200]; /* audit_note() */
	int64_t arrived_ns;		       /* monotonic */
	struct pending_list pending;
	void *ctx;
	void (*ctx_free)(void *ctx);
	struct http_exchange *x; /* private to http.c */
};

/* A path parameter of the route's pattern; a name that is not there is a programmer error. */
const char *request_path(const struct request *req, const char *name);
/* First value of a query parameter, NULL when absent. */
const char *request_query(const struct request *req, const char *name);
/* All values of a repeated parameter (?b=..&b=..), in order: how many there are. */
size_t request_query_all(const struct request *req, const char *name, const char **ret, size_t cap);
/* Integer parameter with default and bounds; ERR_INVALID names the parameter. */
int request_query_i64(const struct request *req, const char *name, int64_t def, int64_t min,
		      int64_t max, int64_t *ret, struct err *reterr) MUSTCHECK;
bool request_query_flag(const struct request *req, const char *name); /* "1", "true" or bare */
/* A query parameter that is not in the NULL-terminated list is an error: typos must not be
 * silent. */
int request_query_known(const struct request *req, const char *const *names,
			struct err *reterr) MUSTCHECK;
const char *request_header(const struct request *req, const char *name); /* NULL when absent */
/* The body as JSON object or array: content type, depth, number of values and duplicate keys are
 * checked. New reference. */
int request_json(struct request *req, json_t **ret, struct err *reterr) MUSTCHECK;
/* The entry that the client prefers among a NULL-terminated list of "name media/type", such as
 * "csv text/csv", by ?format=name or Accept; the first one when it does not care; NULL: none fits
 * (406). */
const char *request_format(const struct request *req, const char *const *formats);
bool format_is(const char *format, const char *name);
const char *format_type(const char *format);	       /* the media type */
const char *request_remote(const struct request *req); /* address of the client, "" unknown */
/* An id such as "r_17" with its prefix letter; also a bare number. */
int request_id(const char *text, char prefix, int64_t *ret, struct err *reterr) MUSTCHECK;

/* ---- before the reply ---- */
/* Adds a header; values with control characters are refused by a CHECK in http.c. */
void reply_header(struct request *req, const char *name, const char *value);
/* `text` is the opaque part without quotes. Returns true when If-None-Match matched: 304 has been
 * sent, return STEP_DONE. `immutable`: may be kept for a year; else no-cache. */
bool reply_etag(struct request *req, const char *text, bool weak, bool immutable);

/* ---- the reply: each finishes the request; STEP_DONE for `return reply_json(...)` ---- */
enum step reply_json(struct request *req, int status, json_t *doc); /* takes the reference */
/* Takes the contents of `body`. */
enum step reply_buf(struct request *req, int status, const char *content_type, struct strbuf *body);
/* Bytes that live as long as the program (embedded files). */
enum step reply_static(struct request *req, int status, const char *content_type, const void *data,
		       size_t len);
enum step reply_empty(struct request *req, int status);
/* RFC 9457 problem+json from an error: type /problems/<err_name>, status of err_http_status,
 * detail = text. ERR_DB, ERR_IO and ERR_NOMEM are logged and their text is not shown. */
enum step reply_err(struct request *req, const struct err *err);
/* The same with a slug and status of its own; `hint` may be NULL. */
enum step reply_problem(struct request *req, int status, const char *slug, const char *hint,
			const char *fmt, ...) PRINTF(5, 6);

/* ---- big or endless bodies ---- */
enum stream_next {
	STREAM_MORE, /* something was added to `out` (at most 64 KiB at a time, please) */
	STREAM_WAIT, /* nothing now: reply_stream_wake will be called */
	STREAM_END,
};
/* Sends what next() adds, chunked, until it says END; memory stays one piece. `ctx_free` when the
 * answer ends, also when the client went away. */
enum step reply_stream(struct request *req, int status, const char *content_type,
		       enum stream_next (*next)(void *ctx, struct strbuf *out), void *ctx,
		       void (*ctx_free)(void *ctx));
void reply_stream_wake(struct request *req);
/* The same for server-sent events: small blocks, and a short send buffer in the kernel, so that
 * what a slow reader gets is never old. */
enum step reply_events(struct request *req, enum stream_next (*next)(void *ctx, struct strbuf *out),
		       void *ctx);
