/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analysis of one trend: common/stats/changepoint on its window. Pure; runs in the thread pool.
 */
#pragma once

#include <jansson.h>

#include "common/model/metric.h"

#define TRACK_KNOWN_MAX 50

struct track_trend {
	int64_t trend_id, revision;
	int64_t total; /* points of the whole history */
	enum better better;
	double margin_rel; /* smallest step that is reported */
	int64_t *run_ids;
	double *values;
	size_t n, cap;
	size_t known[TRACK_KNOWN_MAX]; /* first points of levels that are known already */
	size_t n_known;
};
void track_trend_done(struct track_trend *t);

/* What rigstat.track_store() reads; a new reference. The same points give the same result: the seed
 * of the permutations is the trend's number. */
json_t *track_find(const struct track_trend *t) MUSTCHECK;
