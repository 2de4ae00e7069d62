/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a comparison that runs in a worker thread: owns everything that it touches. */
#pragma once

#include "server/compare_job.h"

/* What a person set for a metric. */
struct metric_edit {
	char *name, *better, *primary; /* primary: NULL = the catalogue's */
	double margin_rel;	       /* -1 = the catalogue's */
};
void metric_edits_free(struct metric_edit *edits, size_t n);

struct compare_work {
	struct flow *flow; /* of the loop; not touched by the worker */
	struct compare_ask ask;
	struct runs runs[COMPARE_SIDES_MAX];
	size_t n_sides;
	struct metric_edit *edits;
	size_t n_edits;
	unsigned int formats;
	const char *chart;
	bool dark, profile;
	int64_t compare_ns; /* time of compare_work_run */
	int rc;
	struct err err;
	struct compare_result result;
};

struct compare_work *compare_work_new(void);
void compare_work_run(void *ctx);
void compare_work_free(void *ctx);
