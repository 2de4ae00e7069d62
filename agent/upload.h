/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivery: takes ranges from the spool, one request in flight, until the server says that it has
 * them. Knows no loop and no library: the owner calls upload_poll() when it returned time has
 * come, when records were added and after each answer. Rules: docs/PROTOCOL.md. */
#pragma once

#include "agent/spool.h"
#include "agent/transport.h"

struct upload_conf {
	const char *server; /* URL */
	const char *host;
	const char *token;  /* NULL: none */
	size_t batch_bytes; /* of one request; 0: 256 KiB */
	int64_t spread_ns;  /* a lost server is tried again within this; 0: 30 s */
	uint64_t (*random)(void *user, uint64_t below); /* NULL: getrandom() */
	void *random_user;
	/* Called after an answer has been dealt with, so that the owner polls again. */
	void (*wake)(void *user);
	void *wake_user;
};

struct upload;
struct upload *upload_new(const struct upload_conf *conf, struct spool *spool,
			  struct transport *t) MUSTCHECK;
void upload_free(struct upload *u); /* cancels what is in flight */

/* Does what is due at now_ns (boot time); returns when it wants to be called again, INT64_MAX
 * when only new records or an answer can change anything. */
int64_t upload_poll(struct upload *u, int64_t now_ns);
/* While held (quiet), no request is begun; one in flight is finished. */
void upload_hold(struct upload *u, bool hold);
/* The box was suspended: connections are stale. */
void upload_resumed(struct upload *u);
/* Replaces the token, e.g. after the file changed; NULL: none. */
void upload_set_token(struct upload *u, const char *token);

enum upload_state { UPLOAD_IDLE, UPLOAD_LOCATING, UPLOAD_SENDING, UPLOAD_WAITING, UPLOAD_HELD };

struct upload_stats {
	enum upload_state state;
	uint64_t requests, failures, acked_records, rejected_records;
	int64_t last_ack_ns; /* boot time; 0: never */
	char problem[200];   /* "" when the last answer was good */
};
void upload_stats(const struct upload *u, struct upload_stats *ret);
bool upload_done(const struct upload *u); /* nothing pending, nothing in flight */
