/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `rigstat-agent run` as a child of the daemon: what a person would have started. It takes
 * measure.lock, so the daemon's own probes pause. Loop thread only. */
#pragma once

#include "agent/conf.h"
#include "agent/workload.h"

/* Both lists are ended by NULL: `options` are the daemon's own arguments, which the child gets
 * too, `args` come behind them. Its output goes to `log_name` in the directory of logs. See
 * workload.h for the rest. */
int child_start(uv_loop_t *loop, const struct agent_conf *conf, char *const *options,
		char *const *args, const char *log_name,
		void (*on_exit)(void *user, const struct workload_result *r),
		void (*on_end)(void *user), void *user, struct workload **ret,
		struct err *reterr) MUSTCHECK;
