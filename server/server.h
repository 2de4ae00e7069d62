/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server process: options, and the modules that share one loop. main.c starts it; handlers
 * reach db and work through req->server. */
#pragma once

#include "common/err.h"
#include "server/retention.h"

struct auth;
struct compact;
struct db;
struct http;
struct ingest;
struct live;
struct track;
struct work_pool;

struct server_options {
	const char *listen;	  /* ADDR:PORT */
	const char *database;	  /* libpq connection string, NULL with embedded_dir */
	const char *embedded_dir; /* private PostgreSQL here, or NULL */
	const char *web_dir;	  /* serve pages from here instead of the embedded ones, or NULL */
	bool reuse_port;
	struct retention keep;
	bool anonymous_read;		/* reading needs no token */
	const char *tls_cert, *tls_key; /* PEM text, NULL = plain HTTP */
	const char *pin;		/* of the certificate's key; NULL with plain HTTP */
};

struct server {
	struct server_options options;
	struct db *db;
	struct work_pool *work;
	struct http *http;
	struct auth *auth;
	struct ingest *ingest;
	struct compact *compact;
	struct live *live;
	struct track *track;
	int64_t started_ns; /* realtime */
	bool ready;	    /* the schema is right and requests may come */
};

/* Runs until SIGTERM or SIGINT; then stops in order: no new connections, answers finish, database
 * work ends, everything is freed. `conninfo` is of a migrated database; `tick` (may be NULL) is
 * called about once a second. */
int server_run(const struct server_options *options, const char *conninfo, bool tokens_exist,
	       void (*tick)(void *ctx), void *ctx, struct err *reterr) MUSTCHECK;
