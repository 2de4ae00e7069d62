/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that the system probe reads and what it says of each at the end of a run. */
#pragma once

#include "agent/probe.h"
#include "agent/proc_parse.h"
#include "common/strbuf.h"

enum system_file {
	SYSTEM_INTERRUPTS,
	SYSTEM_SOFTIRQS,
	SYSTEM_DISKS,
	SYSTEM_SCHED,
	SYSTEM_LOCKS,
	SYSTEM_FILES,
};

/* One file: its readings, or why there are none. */
struct system_source {
	enum system_file file;
	struct grid grid;
	char why_not[600]; /* "": it is there */
	bool broken;	   /* a reading of this run failed */
};

const char *system_source_path(enum system_file f);
/* Is it read each interval, or at the window's edges only (a long file that changes slowly)? */
bool system_source_each_interval(enum system_file f);
void system_source_open(struct system_source *s, enum system_file f, const char *root);
void system_source_done(struct system_source *s);
/* Takes a reading; `text` is scratch. */
void system_source_read(struct system_source *s, const char *root, struct strbuf *text);
/* Absent series for a file that is not there. */
void system_source_declare(const struct system_source *s, struct series_list *l);

/* Where the values of a run go. */
struct system_out {
	struct record_writer *w;
	uint64_t *last_series;
	double seconds; /* of the measured window */
	const char *root;
};
void system_source_put(const struct system_source *s, const struct system_out *out);

/* The whole of root + path; 0 or an errno. */
int system_read_file(const char *root, const char *path, struct strbuf *ret);
