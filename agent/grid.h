/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of a table that the kernel keeps: rows with a name (an interrupt, a device, a lock) by
 * columns (a CPU, a field). Each reading adds what has been counted since the one before. A counter
 * that goes back (it wrapped or was reset) has a gap: no number until the next restart. Rows and
 * columns may come and go; what a CPU counted before it came is not counted. Pure. */
#pragma once

#include "common/err.h"

#define GRID_NO_COLUMN UINT32_MAX /* of a row that has one number for all CPUs */
#define GRID_ROWS_MAX  16384

struct grid_cell {
	uint32_t column;
	bool gap;
	uint64_t last, sum;
};

struct grid_row {
	char *key, *label; /* what it is found by; what people call it */
	struct grid_cell *cell;
	size_t len, cap, cursor;
	uint64_t first; /* reading in which it came */
};

struct grid {
	bool rows_from_zero; /* a row that comes later begins with 0: not so for CPUs as rows */
	struct grid_row *row;
	size_t len, cap, cursor;
	uint64_t reading; /* number of the present one, from 1 */
	uint64_t *seen;	  /* reading in which a column was there last */
	size_t columns;
	uint32_t *header; /* columns of the present reading, in their order */
	size_t header_len, header_cap;
	bool header_seen;
	uint64_t left_out; /* rows beyond the limit */
};

void grid_done(struct grid *g);
void grid_begin(struct grid *g);		   /* a reading */
void grid_column(struct grid *g, uint32_t column); /* of this reading's header */
/* Finds or makes the row; NULL beyond GRID_ROWS_MAX. The label may change. */
struct grid_row *grid_row(struct grid *g, const char *key, size_t key_len, const char *label,
			  size_t label_len);
void grid_put(struct grid *g, struct grid_row *r, uint32_t column, uint64_t value);
/* All sums from 0 and without gaps. */
void grid_restart(struct grid *g);

/* One cell, or all of a row (column GRID_NO_COLUMN: of every column). */
struct grid_sum {
	uint64_t sum;
	bool gap, any;
};
void grid_sum_add(struct grid_sum *to, const struct grid_cell *c);
struct grid_sum grid_row_sum(const struct grid_row *r);
struct grid_sum grid_cell_sum(const struct grid_row *r, uint32_t column);
