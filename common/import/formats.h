/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The importers and what they share when they make runs. One importer is one file. */
#pragma once

#include "common/import/scan.h"

extern const struct import_format import_delay_count, import_summary_csv, import_csv,
	import_columns, import_rigstat_json, import_cyclictest, import_rt_json,
	import_jitterdebugger_json, import_jitterdebugger_raw, import_jitterdebugger_csv,
	import_fio_json, import_fio_log, import_hgrm, import_hdr_log, import_bcc, import_bpftrace,
	import_bpftrace_json, import_stress_ng, import_rtla, import_perf_stat, import_perf_report,
	import_perf_script, import_oslat, import_hwlat, import_rteval, import_go_bench,
	import_hyperfine, import_sysbench, import_cyclictest_live, import_cyclictest_verbose;

/* Makes a valid run document of what an importer made: clean text, bounds, series told apart,
 * histograms checked (settle.c). */
int import_settle(struct run *r, const struct import_options *o, struct err *reterr) MUSTCHECK;
/* A new run with the options' host, experiment, factors and tags; owned by `rs`. */
struct run *import_run(struct runs *rs, const struct import_options *o);
/* A distribution in ns: metric, method, resolution = bucket width. */
struct series *import_hist(struct run *r, const char *metric, const char *method,
			   int64_t resolution_ns);
struct series *import_value(struct run *r, const char *metric, const char *unit, double value);
struct series *import_absent(struct run *r, const char *metric, const char *unit, const char *fmt,
			     ...) PRINTF(4, 5);
/* Keeps a field of the tool for display: extra[key] = value (steals the reference). */
void import_extra(struct run *r, const char *key, json_t *value);
/* ns of one unit of the file: what the file says (0 = nothing), else the option, else the
 * convention with a note. A file and an option that contradict each other are an error. */
int import_unit(struct run *r, const struct import_options *o, int64_t said_ns,
		int64_t convention_ns, const char *why, int64_t *ret_ns,
		struct err *reterr) MUSTCHECK;
/* [k * unit, (k + 1) * unit) += n; a negative k counts as negative. Rows must ascend. */
int import_bucket(struct hist *h, int64_t k, int64_t unit_ns, uint64_t n,
		  struct err *reterr) MUSTCHECK;
/* The overflow of a histogram whose last edge is known or not: takes the option's edge, else the
 * end of the last bucket with a note. */
void import_overflow(struct run *r, struct series *s, const struct import_options *o, uint64_t n,
		     int64_t edge_ns);
/* A distribution of which only the number of samples and the extremes are known: all samples are
 * "at least min", so that every quantile is answered by the interval [min, max]. */
struct series *import_range(struct run *r, const char *metric, const char *method, uint64_t count,
			    int64_t min_ns, int64_t max_ns);
/* Exact extremes of the tool; an error when they contradict the buckets. `slack_ns` is what the
 * tool's own rounding may have cut. */
int import_extremes(struct hist *h, int64_t min_ns, int64_t max_ns, int64_t slack_ns,
		    struct err *reterr) MUSTCHECK;
