/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server process: options, and the modules that share one loop. main.c starts it; handlers
 * reach db and work through req->server. */
#pragma once

#include "common/err.h"

struct db;
struct work_pool;

struct server_options {
	const char *listen;	  /* ADDR:PORT */
	const char *database;	  /* libpq connection string, NULL with embedded_dir */
	const char *embedded_dir; /* private PostgreSQL here, or NULL */
	const char *web_dir;	  /* serve pages from here instead of the embedded ones, or NULL */
	bool reuse_port;
};

struct server {
	struct server_options options;
	struct db *db;
	struct work_pool *work;
	int64_t started_ns; /* realtime */
};
