/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's heartbeat: every 10 s or so what it is and how it fares, in at most 2 KiB, so that
 * an idle box is seen, too; and what the server answers (who holds the box, settings). Nothing is
 * sent while the network is held (quiet). Loop thread only. */
#pragma once

#include <jansson.h>
#include <uv.h>

#include "agent/conf.h"
#include "common/strbuf.h"

#define HEARTBEAT_UNKNOWN INT64_MIN

struct heartbeat_facts {
	const char *doing; /* "watching", "experiment" (measure.lock is held), "idle" */
	char doing_text[200];
	char boot_id[37];
	int64_t uptime_ns, box_uptime_ns;
	int64_t lag_ns; /* age of the oldest record that the server does not have; 0: none */
	uint64_t spool_bytes, spool_records;
	char spool_problem[200];				    /* "": records go to disk */
	uint64_t dropped_records, dropped_samples, refused_records; /* since the daemon started */
	char error[400]; /* the last warning or error; "" none */
	int64_t error_ns;
	char settings[400]; /* of the server, as they are in use; "" none */
};

struct heartbeat_conf {
	const struct agent_conf *agent; /* borrowed */
	void (*facts)(void *user, struct heartbeat_facts *ret);
	void (*on_answer)(void *user, const json_t *answer); /* of status 200; NULL: none */
	void *user;
};

struct heartbeat;
/* Without a server *ret is NULL. */
int heartbeat_open(uv_loop_t *loop, const struct heartbeat_conf *conf, struct heartbeat **ret,
		   struct err *reterr) MUSTCHECK;
void heartbeat_hold(struct heartbeat *h, bool hold); /* NULL is fine */
void heartbeat_now(struct heartbeat *h);	     /* something changed: say it soon */
void heartbeat_close(struct heartbeat *h);	     /* the loop must run on; NULL is fine */

/* The clock of this box minus the server's, from one question: it was asked at `asked_ns` and
 * answered at `answered_ns` (realtime), meanwhile the server's clock said `server_ns`. The truth
 * is within *ret_error_ns of the result. Pure. */
int64_t heartbeat_offset(int64_t asked_ns, int64_t answered_ns, int64_t server_ns,
			 int64_t *ret_error_ns);
/* The body; `offset_ns` may be HEARTBEAT_UNKNOWN. Pure. */
void heartbeat_put(const struct heartbeat_facts *f, int64_t offset_ns, int64_t error_ns,
		   struct strbuf *out);
