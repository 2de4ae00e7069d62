/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of the server as tables: hosts, runs, experiments. */
#pragma once

#include <jansson.h>

#include "cli/args.h"

struct list_column {
	const char *title;
	const char *path; /* "summary.p99": into the item */
	enum {
		COLUMN_TEXT,
		COLUMN_NUMBER,
		COLUMN_NS,
		COLUMN_BYTES,
		COLUMN_LABELS,
		COLUMN_LIST
	} kind;
};

struct list_verb {
	const char *name; /* of the verb, for messages */
	const char *path; /* "/api/v1/runs" */
	const struct list_column *columns;
	size_t n;
	const struct option_def *options; /* ids from LIST_PARAMETER on are URL parameters */
	const char *const *parameters;	  /* of those ids, in order */
	const char *operand;		  /* URL parameter of an operand, NULL = none */
};

enum { LIST_SERVER = 1, LIST_JSON, LIST_CSV, LIST_ALL, LIST_PARAMETER };

int list_run(const struct list_verb *v, int argc, char **argv);
