/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Foreign files to runs. Pure: bytes in, runs out; no I/O, no clock, no locale.
 *
 * An importer is a row in the table of formats (import.c): `sniff` looks at the shape of the
 * first bytes (never at a version string) and says how sure it is; `read` makes the runs or
 * refuses with line and column. What a file does not say is taken from the options or inferred,
 * and every inference becomes a note on the run. Elided rows allow no quantiles; contradictions
 * are errors that name the line. */
#pragma once

#include "common/err.h"
#include "common/model/run.h"

struct import_options {
	const char *format;    /* name of a format, NULL = detect */
	const char *source;    /* file name for messages and the run's `source` */
	const char *metric;    /* overrides the metric's name */
	int64_t unit_ns;       /* ns of one unit of the file's values; 0 = as the file says, or the
				* format's convention with a note */
	struct labels factors; /* set on every run */
	struct labels tags;
	const char *experiment, *host;
	const char *boot;	/* which boot of the box; NULL = as the file says, if it does */
	int64_t interval_ns;	/* the tool's period when the file does not say; 0 unknown */
	int64_t overflow_lo_ns; /* edge of the histogram (-h N) when the file does not say */
};

struct import_result {
	const char *format; /* static name of what was read */
	struct runs runs;
};
void import_result_done(struct import_result *r);

int import_bytes(const char *data, size_t len, const struct import_options *o,
		 struct import_result *ret, struct err *reterr) MUSTCHECK;

/* How sure the shape of a (maybe gzipped) file is: 0 = no known format .. 100 = certain; below 40
 * it is only some table of numbers. *ret_format is static, NULL for 0. */
int import_detect(const char *data, size_t len, const char **ret_format);

struct import_format {
	const char *name, *title;
	/* 0 = not mine .. 100 = certain */
	int (*sniff)(const char *data, size_t len);
	int (*read)(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		    struct err *reterr);
};
/* Ended by an entry whose name is NULL. */
const struct import_format *import_formats(void);
