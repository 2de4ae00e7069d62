/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which runs: a selector and the plain parameters of GET /runs as SQL conditions; and one run by
 * its id in the path. */
#pragma once

#include "server/api_common.h"

/* Puts the conditions of the request (q, host, experiment, metric, since, until, ids) into a
 * statement that has "true /\*where*\/". False: a problem was sent. */
bool run_query_where(struct request *req, struct sql *q);
/* The same for one selector text that came as `parameter`, and a condition of the caller (may be
 * NULL). */
bool run_query_selector(struct request *req, const char *parameter, const char *text,
			const char *and_also, struct sql *q, struct selector **ret);
/* Parameters of sql/queries/run_find.sql from the path's {run}: a number, r_17 or a uid. */
bool run_query_path(struct request *req, struct db_param params[2], unsigned char uid[16]);
