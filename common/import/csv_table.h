/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table with a header line and cells between separators, or between blanks. */
#pragma once

#include "common/import/scan.h"

#define CSV_COLUMNS_MAX 512

struct csv_table {
	struct scan scan;
	char sep; /* ',', ';', '\t' or ' ' (any run of blanks) */
	char **names;
	size_t columns;
	char **cells; /* of the present row */
	size_t cells_len;
	struct strbuf quoted;
};

/* Reads the header: the first line that is neither blank nor a '#' comment. */
int csv_open(struct csv_table *t, const char *data, size_t len, const struct import_options *o,
	     struct err *reterr) MUSTCHECK;
/* 1 = a row is in cells, 0 = the end, < 0 = an error with line and column. */
int csv_row(struct csv_table *t, struct err *reterr) MUSTCHECK;
void csv_done(struct csv_table *t);
/* Column of a name (ASCII case and blanks around do not matter), -1 when absent. */
int csv_column(const struct csv_table *t, const char *name);
/* The separator that a header line uses, 0 when it has one column only. */
char csv_separator(struct span header);
