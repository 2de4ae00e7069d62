/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regression tracking: when runs ended, changed or went (rigstat.track_queue), their points follow
 * in the trends, and each trend that changed is analysed for change points in the thread pool. The
 * state is in the database, so that any number of servers may run it: one at a time takes runs,
 * each analyses the trends that it claimed. Loop thread. */
#pragma once

#include "common/base.h"

struct db;
struct track;
struct work_pool;

struct track *track_new(struct db *db, struct work_pool *work);
/* About once a second. */
void track_tick(struct track *t);
/* Drops what is not stored; before db_close. */
void track_stop(struct track *t);
/* After db_close and when no work is in flight. */
void track_free(struct track *t);

struct track_stats {
	uint64_t runs, trends, points, failed;
	uint64_t busy_ns; /* of the arithmetic */
};
struct track_stats track_stats(const struct track *t);
