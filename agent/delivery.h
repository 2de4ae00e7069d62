/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything behind the spool on a libuv loop: fsync in the thread pool, upload by curl, their
 * timers. The daemon and `rigstat-agent run` each have one. Loop thread only. */
#pragma once

#include <uv.h>

#include "agent/conf.h"
#include "agent/spool.h"
#include "agent/upload.h"

struct delivery;

/* Without conf->server nothing is uploaded; syncing is done all the same. `conf` and `spool` are
 * borrowed until on_closed. */
int delivery_new(uv_loop_t *loop, const struct agent_conf *conf, struct spool *spool,
		 struct delivery **ret, struct err *reterr) MUSTCHECK;
/* Once an interval and after records were appended: housekeeping of the spool, fsync, upload. */
void delivery_kick(struct delivery *d);
/* Quiet: neither network nor fsync until it ends. */
void delivery_set_quiet(struct delivery *d, bool quiet);
/* True when the server has everything, or when there is no server. */
bool delivery_done(const struct delivery *d);
/* False without a server; ret is zeroed then. */
bool delivery_stats(const struct delivery *d, struct upload_stats *ret);
/* Cancels what is in flight. Memory is freed when the loop has closed the handles, then on_closed
 * (may be NULL) is called; the spool may be closed from then on. */
void delivery_close(struct delivery *d, void (*on_closed)(void *user), void *user);
