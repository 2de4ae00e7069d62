/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf stat in all its forms: a row of any form becomes a perf_row, and rows become counters.
 * perf_stat.c has the counters and JSON, perf_stat_csv.c the -x form, perf_stat_text.c the text. */
#pragma once

#include "common/import/formats.h"

enum perf_count { PERF_COUNTED, PERF_NOT_COUNTED, PERF_NOT_SUPPORTED };

/* One line of output. Spans point into the line. */
struct perf_row {
	enum perf_count count;
	double value;	       /* scaled by perf already */
	struct span unit;      /* "msec", "Joules", empty for plain counts */
	struct span event;     /* as the user spelled it */
	const char *key_label; /* "cpu", "core", "socket", "node", "thread"; NULL = none */
	struct span key;
	struct span cgroup;
	bool has_time, is_summary;
	double time_s; /* end of the interval */
	bool has_run;
	double run_ns, percent; /* percent of the enabled time; 0 to 100 */
	bool has_error;
	double error_percent; /* relative standard error of the mean over -r runs */
};

/* Parses a row of the -x form; `sep` is guessed when 0 and kept. False: not a counter row. */
bool perf_csv_row(struct span line, char *sep, struct perf_row *ret, bool *ret_decimal_comma);
/* Parses a row of the text form. False: not a counter row; *ret_ambiguous when a number could be
 * read in two ways. */
bool perf_text_row(struct span line, struct perf_row *ret, bool *ret_ambiguous);
/* A number with the locale's separators: grouped when `whole`, else maybe with decimals. */
bool perf_text_number(struct span s, bool whole, double *ret, bool *ret_ambiguous);
/* What "S0-D0-C0", "CPU3", "N0" or "comm-123" is a key of; NULL when it is none. */
const char *perf_key_label(struct span s, bool *ret_has_cpus);
