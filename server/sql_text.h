/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A statement of sql/queries with parts that are made at run time: conditions of a selector, the
 * order of a list. The file stays a complete statement; its parts to replace are marked. Values
 * only ever become parameters. Owns copies of all parameters. */
#pragma once

#include "common/strbuf.h"
#include "server/db.h"

#define SQL_PARAMS_MAX 512

struct sql {
	struct strbuf text;
	struct db_param params[SQL_PARAMS_MAX];
	void *owned[SQL_PARAMS_MAX];
	size_t n;
};

/* Starts from a statement whose $1 .. $n are these parameters. */
void sql_init(struct sql *q, const struct query *base, const struct db_param *params, size_t n);
void sql_done(struct sql *q);
/* Adds a parameter and returns its number, for "$%u::type". */
unsigned int sql_param(struct sql *q, struct db_param p);
/* Replaces a marked part, which must be there exactly once. */
void sql_replace(struct sql *q, const char *marked, const char *with);
/* Runs it in the pool of page queries, with the usual deadline. */
void sql_run(const struct sql *q, struct db *db, struct pending_list *owner, db_on_result on_result,
	     void *ctx);
