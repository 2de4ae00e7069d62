/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool, the uploader and curl on one libuv loop: timers, fsync in libuv's pool, suspend.
 * The daemon and `rigstat-agent run` each have one. Without a server it only keeps and syncs the
 * spool. Loop thread only. */
#pragma once

#include <uv.h>

#include "agent/conf.h"
#include "agent/spool.h"
#include "agent/upload.h"

struct delivery;
/* Reads conf->token_file. `spool` is borrowed and must outlive it. */
int delivery_open(uv_loop_t *loop, const struct agent_conf *conf, struct spool *spool,
		  struct delivery **ret, struct err *reterr) MUSTCHECK;
/* Cancels and frees; the loop must run until it is closed. NULL is fine. */
void delivery_close(struct delivery *d);

/* Once an interval and after records were appended: upkeep of the spool, fsync, request. */
void delivery_kick(struct delivery *d);
/* While held, no request is begun (quiet); see spool_set_quiet() for fsync. */
void delivery_hold(struct delivery *d, bool hold);
/* The server has everything; true without a server. */
bool delivery_done(const struct delivery *d);
/* Reads the token file again (SIGHUP). When it cannot be read, the old token stays in use. */
void delivery_reload_token(struct delivery *d);
/* Zeroes without a server. */
void delivery_stats(const struct delivery *d, struct upload_stats *ret);
