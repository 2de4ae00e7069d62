/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON requests to the server, one at a time, with the box's token: what the daemon's
 * conversations beside the records use (assignments, heartbeat), and the questions of `check` and
 * `run`. Loop thread only. */
#pragma once

#include <uv.h>

#include "agent/conf.h"
#include "agent/transport.h"
#include "common/strbuf.h"

struct serverlink;
/* `conf` is borrowed; conf->server is not NULL. */
int serverlink_open(uv_loop_t *loop, const struct agent_conf *conf, struct serverlink **ret,
		    struct err *reterr) MUSTCHECK;
/* `path` with its leading slash; `json` NULL: no body, else borrowed until the answer. The token
 * file is read each time: a new one counts at once. */
void serverlink_send(struct serverlink *l, const char *method, const char *path,
		     const struct strbuf *json, int64_t timeout_ns,
		     void (*on_answer)(void *user, const struct http_answer *answer), void *user);
bool serverlink_busy(const struct serverlink *l); /* an answer is awaited */
void serverlink_cancel(struct serverlink *l);
/* The loop must run until `on_closed` (may be NULL). */
void serverlink_close(struct serverlink *l, void (*on_closed)(void *user), void *user);

/* One question with a loop of its own, for programs that have none yet. *ret_body is malloc'd, NULL
 * without an answer; the result is the status, 0: no answer and `reterr` says why. */
int serverlink_post(const struct agent_conf *conf, const char *path, const struct strbuf *json,
		    int64_t timeout_ns, char **ret_body, struct err *reterr);
int serverlink_get(const struct agent_conf *conf, const char *path, int64_t timeout_ns,
		   char **ret_body, struct err *reterr);

/* "/api/v1/hosts/NAME/agent", with the name escaped. */
void serverlink_put_agent_path(const struct agent_conf *conf, struct strbuf *out);
void serverlink_put_escaped(const char *s, struct strbuf *out);
