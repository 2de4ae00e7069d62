/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libmicrohttpd on a libuv loop: its epoll descriptor is polled by libuv, MHD_run does the work,
 * MHD_get_timeout arms our timer. The only file that knows both. It knows no routes.
 *
 * Rules that are kept here and nowhere else (reference: docs/adr): only mhdloop_resume may resume
 * a connection, because MHD must run afterwards; MHD's own timeout is one of inactivity, so each
 * connection has an absolute deadline, after which its socket is shut down; MHD_stop_daemon only
 * when nothing is suspended. */
#pragma once

#include <microhttpd.h>

#include "common/err.h"

struct uv_loop_s;
struct mhdloop;

struct mhdloop_options {
	const char *listen; /* "127.0.0.1:8420", "[::1]:0", "*:8420" */
	bool reuse_port;
	unsigned int connections_max;
	const char *tls_cert, *tls_key; /* PEM text, NULL = plain HTTP */
};

/* MHD's callbacks, all with `ctx` as their first argument. */
struct mhdloop_handler {
	void *(*on_uri)(void *ctx, const char *uri, struct MHD_Connection *conn);
	MHD_AccessHandlerCallback on_access;
	MHD_RequestCompletedCallback on_completed;
	void (*on_tick)(void *ctx, int64_t now_ns); /* about four times a second */
	void *ctx;
};

/* Opens the listening socket. */
int mhdloop_new(struct uv_loop_s *loop, const struct mhdloop_options *o,
		const struct mhdloop_handler *handler, struct mhdloop **ret,
		struct err *reterr) MUSTCHECK;
/* "127.0.0.1:8420": the real address, also when port 0 was asked for. */
const char *mhdloop_address(const struct mhdloop *m);

/* From here on the connection is cut after `ms`; 0 = no limit (suspended, streams). */
void mhdloop_set_deadline(struct MHD_Connection *conn, unsigned int ms);
/* Cuts it as soon as MHD looks at it again: the answer cannot be finished. */
void mhdloop_cut(struct MHD_Connection *conn);
/* At most so many bytes wait in the kernel. */
void mhdloop_limit_send(struct MHD_Connection *conn, int bytes);
void mhdloop_suspend(struct mhdloop *m, struct MHD_Connection *conn);
void mhdloop_resume(struct mhdloop *m, struct MHD_Connection *conn);

struct mhdloop_stats {
	size_t connections, suspended;
	uint64_t accepted, cut;
};
struct mhdloop_stats mhdloop_stats(const struct mhdloop *m);

/* Stops accepting. What is open goes on. */
void mhdloop_quiesce(struct mhdloop *m);
/* Ends everything; nothing may be suspended. on_closed is called when the memory is gone. */
void mhdloop_close(struct mhdloop *m, void (*on_closed)(void *ctx), void *ctx);
