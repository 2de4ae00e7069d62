/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens that end get a successor in time: the daemon asks the server now and then how long its
 * token lives, and renews it when a third of its life is left. Loop thread only.
 *
 * The successor is made here, kept beside the token file (name.next) until the server has taken
 * its digest, and then takes the token's place; the old one is over when the new one is used. */
#pragma once

#include <uv.h>

#include "agent/conf.h"

struct renewal;
/* NULL without conf->server or conf->token_file. `conf` is borrowed. */
struct renewal *renewal_open(uv_loop_t *loop, const struct agent_conf *conf);
void renewal_hold(struct renewal *r, bool hold); /* quiet: nothing is asked; NULL is fine */
void renewal_close(struct renewal *r);		 /* the loop must run on; NULL is fine */

/* When to renew a token of this life, and whether that is now; a token without end never. Pure. */
int64_t renewal_due_ns(int64_t created_ns, int64_t expires_ns);
