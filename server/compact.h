/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compactor: turns staged records into run, series, chunk, hist_chunk, hist_minute, run_total,
 * run_value, breach and environment rows, and deletes what it consumed, in one transaction a run
 * and pass. An advisory lock makes it exactly once with any number of servers. It looks for work
 * every second and soon after ingest. Loop thread; the arithmetic runs in the thread pool. */
#pragma once

#include "server/retention.h"

struct compact;
struct db;
struct work_pool;

struct compact *compact_new(struct db *db, struct work_pool *work, const struct retention *keep);
/* About once a second. */
void compact_tick(struct compact *c);
/* Drops what is not committed; before db_close. */
void compact_stop(struct compact *c);
/* After db_close and when no work is in flight. */
void compact_free(struct compact *c);

struct compact_stats {
	uint64_t passes, rows_read, failed, deferred;
	uint64_t busy_ns;
	size_t running;
};
struct compact_stats compact_stats(const struct compact *c);
