/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf stat in all its forms: a row of any form becomes a perf_row, and rows become counters.
 * perf_stat.c reads lines
 * and JSON, perf_stat_csv.c the -x form, perf_stat_text.c the text, perf_counters.c makes series.
 */
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

/* One event of one key, over all intervals. */
struct perf_counter {
	char *metric; /* "perf:cycles" */
	struct labels labels;
	const char *unit;
	double scale; /* perf's unit to ours */
	char *own_unit;
	double sum, summary_value, percent, run_ns, error_percent;
	size_t counted, not_counted, not_supported;
	bool has_percent, has_summary, has_error;
	uint64_t block; /* the interval in which it was seen last */
	json_t *intervals;
};

#define PERF_TABLE_MAX 1000

/* What one command printed. */
struct perf_run {
	struct run *r; /* borrowed; NULL = none is open */
	struct perf_counter *c;
	size_t len, cap, next;
	uint64_t block, blocks; /* intervals */
	double time_s, last_time_s;
	double runs_n;		      /* -r N, from the text's header */
	double table[PERF_TABLE_MAX]; /* elapsed seconds of each run, --table */
	size_t table_len;
	double elapsed_s, elapsed_error, user_s, sys_s;
	bool has_elapsed, has_user, has_sys, has_time, decimal_comma;
};
/* True when this row cannot belong to the same command: intervals begin, end or start again. */
bool perf_run_is_next(const struct perf_run *p, const struct perf_row *row);
int perf_run_add(struct perf_run *p, const struct scan *scan, const struct perf_row *row,
		 struct err *reterr) MUSTCHECK;
/* Makes the series of p->r and closes it. */
void perf_run_end(struct perf_run *p);
/* Frees and zeroes. */
void perf_run_done(struct perf_run *p);
