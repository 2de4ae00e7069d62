/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What http.c, http_reply.c and http_request.c share. */
#pragma once

#include <microhttpd.h>

#include "server/http.h"
#include "server/http_parse.h"
#include "server/mhdloop.h"
#include "server/routes.h"

#define REQUEST_MAGIC	  0x52455155u /* "REQU" */
#define REPLY_HEADERS_MAX 12

enum exchange_state {
	X_HEADERS, /* the request line was read; MHD wakes us when the headers are complete */
	X_BODY,	   /* MHD wakes us with each piece of the body and at its end */
	X_BEGIN,   /* inside the handler's begin(): nobody wakes us */
	X_WAIT,	   /* suspended; a reply_ function or the deadline wakes us */
	X_REPLY,   /* the answer is made; MHD calls us to queue it */
	X_SENDING, /* MHD sends it, and wakes us when it is done */
	X_PAUSED,  /* a streamed answer has nothing to send: suspended until a wake */
};

struct reply_stream_state {
	enum stream_next (*next)(void *ctx, struct strbuf *out);
	void *ctx;
	void (*ctx_free)(void *ctx);
	struct strbuf buf;
	size_t off;
	bool end;
	struct http_exchange *x; /* NULL once the request is over: MHD may free us later */
};

struct http_exchange {
	struct request req; /* first */
	struct http_exchange *next, **link;
	struct http *http;
	struct MHD_Connection *conn;
	enum exchange_state state;
	char *uri, *path_text, *query_text, *rest;
	struct http_framing framing;
	struct strbuf body;
	uint64_t body_reserved; /* bytes of the global budget */
	int64_t deadline_ns;	/* of X_WAIT */
	struct MHD_Response *response;
	int status;
	size_t reply_len;
	bool close;
	char *header_names[REPLY_HEADERS_MAX], *header_values[REPLY_HEADERS_MAX];
	size_t n_headers;
	struct reply_stream_state *stream;
	char remote[64];
};

/* The answer is made: queue it, now or when MHD calls. */
void exchange_replied(struct http_exchange *x, int status, struct MHD_Response *response);
void exchange_set_state(struct http_exchange *x, enum exchange_state to);
void exchange_resume(struct http_exchange *x);
void exchange_suspend(struct http_exchange *x);
bool exchange_stopping(const struct http_exchange *x);
