/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that say what a foreign file does not: shared by show, import and export. */
#pragma once

#include "cli/args.h"
#include "common/import/import.h"

enum {
	IMPORT_ARG_FORMAT = 100,
	IMPORT_ARG_UNIT,
	IMPORT_ARG_METRIC,
	IMPORT_ARG_INTERVAL,
	IMPORT_ARG_OVERFLOW,
	IMPORT_ARG_SET,
	IMPORT_ARG_TAG,
	IMPORT_ARG_HOST,
	IMPORT_ARG_BOOT,
	IMPORT_ARG_EXPERIMENT,
	IMPORT_ARG_LAST
};

#define IMPORT_ARG_DEFS                                                                            \
	{"--format", IMPORT_ARG_FORMAT, true}, {"--unit", IMPORT_ARG_UNIT, true},                  \
		{"--metric", IMPORT_ARG_METRIC, true}, {"--interval", IMPORT_ARG_INTERVAL, true},  \
		{"--overflow", IMPORT_ARG_OVERFLOW, true}, {"--set", IMPORT_ARG_SET, true},        \
		{"--tag", IMPORT_ARG_TAG, true}, {"--host", IMPORT_ARG_HOST, true},                \
		{"--boot", IMPORT_ARG_BOOT, true},                                                 \
	{                                                                                          \
		"--experiment", IMPORT_ARG_EXPERIMENT, true                                        \
	}

#define IMPORT_ARG_HELP                                                                            \
	"  --format NAME      do not detect the format (rigstat show --formats lists them)\n"      \
	"  --unit UNIT        ns, us, ms or s: unit of the values when the file does not say\n"    \
	"  --metric NAME      name of the metric, or which column was measured\n"                  \
	"  --interval TIME    period of the tool, as 1ms\n"                                        \
	"  --overflow TIME    where the histogram ends, as 400us (-h 400)\n"

/* What was given, also as text for the server. Strings are borrowed from argv. */
struct import_args {
	struct import_options o;
	const char *unit, *interval, *overflow;
};
void import_args_done(struct import_args *a);
/* Takes one option; an unknown id is a programmer error. */
int import_args_take(struct import_args *a, int id, const char *value,
		     struct err *reterr) MUSTCHECK;
/* "&format=...&unit=..." appended to a path; escapes. */
void import_args_query(const struct import_args *a, struct strbuf *out);
