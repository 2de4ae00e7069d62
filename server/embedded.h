/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A private PostgreSQL in a directory: for trying rigstat and for small labs. It listens on a
 * unix socket only, runs under an ordinary user (postgres, else nobody) when we are root, ends
 * with us even when we are killed, and its directory can be used by one server at a time.
 *
 *   DIR/lock          held by the server
 *   DIR/data          the cluster
 *   DIR/postgres.log  what PostgreSQL says
 *   DIR/s             the socket's directory; elsewhere when DIR is too long for a socket path
 *
 * Start and stop block: they are used before the loop starts and after it ended. */
#pragma once

#include "common/err.h"

struct embedded;

/* Makes the cluster on first use. ERR_BUSY: another server has the directory. */
int embedded_start(const char *dir, struct embedded **ret, struct err *reterr) MUSTCHECK;
/* Connection string of the cluster in `dir` while a server is running on it: malloc'd, NULL when
 * none is. */
char *embedded_running(const char *dir) MUSTCHECK;
const char *embedded_conninfo(const struct embedded *e);
/* Once a second: starts PostgreSQL again when it has ended by itself. */
void embedded_tick(struct embedded *e);
/* A fast shutdown; waits for it and frees. NULL is fine. */
void embedded_stop(struct embedded *e);
