/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of the server as tables: hosts, runs, series. */
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
/* What every list has: the first options of its table, the end of its help. */
#define LIST_OPTIONS                                                                               \
	{"--server", LIST_SERVER, true}, {"--json", LIST_JSON, false}, {"--csv", LIST_CSV, false}, \
	{                                                                                          \
		"--all", LIST_ALL, false                                                           \
	}
#define LIST_HELP                                                                                  \
	"  --limit N             rows of a page; --all fetches every page\n"                       \
	"  --json --csv          instead of a table\n"                                             \
	"  --server URL          else $RIGSTAT_SERVER\n"                                           \
	"\n"                                                                                       \
	"Exit status: 0 done, 3 usage, 4 server or network.\n"

int list_run(const struct list_verb *v, int argc, char **argv);
