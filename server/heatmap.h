/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of a range of time binned to a grid of pixels: columns of time, rows of the logarithm.
 * Pure; runs in the thread pool. */
#pragma once

#include "common/err.h"
#include "common/hist.h"
#include "common/strbuf.h"

#define HEATMAP_COLUMNS_MAX 3600
#define HEATMAP_ROWS_MAX    200

struct heatmap {
	int64_t from_ns, step_ns; /* column k is [from + k step, from + (k + 1) step) */
	size_t columns, rows;
	struct hist *v; /* one a column, merged over series */
};

/* Columns begin and end at multiples of `unit_ns`, the length of what is stored: one that cut it
 * would show stripes that nobody measured. So there may be fewer than `columns`. */
void heatmap_init(struct heatmap *m, int64_t from_ns, int64_t to_ns, int64_t unit_ns,
		  size_t columns, size_t rows);
void heatmap_done(struct heatmap *m);
/* A stored histogram that begins at t_ns; outside of the range it is nothing. */
int heatmap_add(struct heatmap *m, int64_t t_ns, const void *d, size_t len,
		struct err *reterr) MUSTCHECK;
/* A row of hist_chunk: n intervals, the first at t_ns for dt_ns (docs/PROTOCOL.md). */
int heatmap_add_chunk(struct heatmap *m, int64_t t_ns, int64_t dt_ns, uint64_t n, const void *d,
		      size_t len, struct err *reterr) MUSTCHECK;
/* The members t, count, lost, overflow, p50, p99, max, edges and counts, in columns, of the columns
 * that have samples or lost some; without braces. t is the column's number. */
void heatmap_put(const struct heatmap *m, struct strbuf *out);
