/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Experiments that a server asks this box to carry out: the daemon's long poll, the child process
 * `rigstat-agent run` that does it, and the reports about it. Loop thread only.
 *
 * The child is what a person would have started: it takes measure.lock, so the daemon's own probes
 * pause, and it may set no more than the box's tunables allow. */
#pragma once

#include <uv.h>

#include "agent/conf.h"

struct assignments;
/* `options` are the daemon's own arguments, which the child gets too; ended by NULL. All is
 * borrowed until closed. Without conf->server there is nobody to ask: *ret is NULL. */
int assignments_open(uv_loop_t *loop, const struct agent_conf *conf, char *const *options,
		     struct assignments **ret, struct err *reterr) MUSTCHECK;
/* While held (quiet), the server is not asked; a running experiment goes on and is reported. NULL
 * is fine. */
void assignments_hold(struct assignments *a, bool hold);
/* Ends a running experiment in order; the loop must run until it is closed. NULL is fine. */
void assignments_close(struct assignments *a);
