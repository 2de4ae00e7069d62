/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stored runs as run documents (common/model/run.h), for comparing, exporting and histograms. */
#pragma once

#include "common/model/run.h"
#include "server/db.h"

/* The rows of sql/queries/runs_load.sql into an empty *ret, without their series. Runs of one
 * environment share the JSON object: read it only, in one thread. */
void run_load_rows(const struct db_result *r, struct runs *ret);
int64_t run_load_row_id(const struct db_result *r, size_t row);
int64_t run_load_row_revision(const struct db_result *r, size_t row);
bool run_load_row_demo(const struct db_result *r, size_t row);

/* Adds the series of sql/queries/run_series.sql to runs[]; ids[] are their run ids, ascending;
 * rows of other runs are skipped.
 * A stored histogram that cannot be decoded is an error (ERR_DB). */
int run_load_series(const struct db_result *r, struct run *const *runs, const int64_t *ids,
		    size_t n, struct err *reterr) MUSTCHECK;

/* One row of run_series.sql as JSON (schema Series). */
json_t *run_series_json(const struct db_result *r, size_t row) MUSTCHECK;
/* The row is the sum of a counter over its series, beside them. */
bool run_series_is_sum(const struct db_result *r, size_t row);
