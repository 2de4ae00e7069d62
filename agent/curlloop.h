/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl's multi interface on a libuv loop; the only file that knows both. Redirects are never
 * followed, answers are capped, only http and https. */
#pragma once

#include <uv.h>

#include "agent/transport.h"

struct curlloop;
struct curlloop_conf {
	const char *ca_file; /* NULL: the system's */
	/* sha256//BASE64 of the server's public key; NULL: none. With it only https is spoken, and
	 * the key is what counts: certificates are checked only if ca_file is given, too. */
	const char *pin;
	const char *user_agent; /* "rigstat-agent/0.1.0" */
};
int curlloop_new(uv_loop_t *loop, const struct curlloop_conf *conf, struct curlloop **ret,
		 struct err *reterr) MUSTCHECK;
/* The transport that upload.c speaks; valid until close. */
struct transport *curlloop_transport(struct curlloop *c);
/* Cancels what is in flight without an answer; memory is freed when the loop has closed the
 * handles, then on_closed (may be NULL) is called. */
void curlloop_close(struct curlloop *c, void (*on_closed)(void *user), void *user);
