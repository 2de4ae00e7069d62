/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP side of the server for server.c: start, stop, counters. */
#pragma once

#include "common/err.h"

struct http;
struct server;
struct uv_loop_s;
struct mhdloop_options;
struct mhdloop;

int http_start(struct uv_loop_s *loop, const struct mhdloop_options *o, struct server *server,
	       struct http **ret, struct err *reterr) MUSTCHECK;
const char *http_address(const struct http *h);
/* Stops accepting and answers what waits with 503; idle when no exchange is left or after
 * `grace_ms`, then calls on_idle. */
void http_stop(struct http *h, unsigned int grace_ms, void (*on_idle)(void *ctx), void *ctx);
void http_close(struct http *h, void (*on_closed)(void *ctx), void *ctx);

/* Prometheus text of the HTTP side. */
struct strbuf;
void http_put_metrics(const struct http *h, struct strbuf *out);
