/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's part in an experiment over boots: while the spool's directory holds a plan
 * (boot_plan.h), `rigstat-agent run --resume` is started after each boot. Loop thread only. */
#pragma once

#include "agent/conf.h"
#include "common/err.h"

#include <uv.h>

struct resume;
/* `options` as in child.h. Everything is borrowed until closed. */
void resume_open(uv_loop_t *loop, const struct agent_conf *conf, char *const *options,
		 struct resume **ret);
/* Ends a run in order (it is filed as aborted, the plan stays). The loop must run on. */
void resume_close(struct resume *r);
