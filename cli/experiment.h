/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the actions of `rigstat experiment` share. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "common/strbuf.h"

/* ", run 8 of 20 (rq=1), 7 ended well, about 6 min left" of an assignment; nothing when it has not
 * said so. */
void experiment_put_progress(const json_t *assignment, struct strbuf *out);
/* Asks the boxes what they would do with the experiment of `body`, and prints it. */
int experiment_dry_run(const char *server, const json_t *body, bool json,
		       struct err *reterr) MUSTCHECK;
/* Shows an experiment until it ends; the exit status says how. */
int experiment_watch(const char *server, const char *id, struct err *reterr) MUSTCHECK;
