/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings that a server may make for the daemon's watch runs: a few numbers and switches of the
 * box's own file, by the same names. Nothing else can be set from there: no path, no command, no
 * CPU, no address. */
#pragma once

#include <jansson.h>

#include "agent/conf.h"
#include "common/strbuf.h"

/* Sets the fields of `c` that a server may set: from `settings` where it names them, else as they
 * are in `base`. On failure all are as in `base`. */
int settings_apply(struct agent_conf *c, const struct agent_conf *base, const json_t *settings,
		   struct err *reterr) MUSTCHECK;
/* "interval=5s, shares=no" in order of the names; "" for none. */
void settings_put_text(const json_t *settings, struct strbuf *out);
