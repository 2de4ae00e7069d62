/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of sql/queries/runs_list.sql as JSON (schema RunItem). */
#pragma once

#include "server/db.h"

/* A new reference. */
json_t *run_row_json(const struct db_result *r, size_t row) MUSTCHECK;
int64_t run_row_id(const struct db_result *r, size_t row);
int64_t run_row_revision(const struct db_result *r, size_t row);
const char *run_row_key(const struct db_result *r, size_t row); /* the sort key, for a cursor */
/* The name of the host that stands for "not known"; JSON has null for it. */
#define HOST_UNKNOWN "unknown"
