/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of tracepoints. tracefs shows them to root only; the service is not root. Its start
 * (`rigstat-agent tracepoints` in the unit, as root) writes those that agent.conf names into a file
 * that everybody may read, with the boot that they are of. Opening the event still takes
 * CAP_PERFMON. */
#pragma once

#include "agent/pmu_event.h"
#include "common/strbuf.h"

#define TRACEPOINTS_FILE "tracepoints" /* in the lock directory */

/* "sched:sched_switch": a name that can only be a tracepoint's. */
bool tracepoint_is_name(const char *name);
/* May we look at tracefs ourselves? */
bool tracepoints_readable(const char *root);
/* The event of such a name, by the file. The error says what is missing and what to do. */
int tracepoint_saved(const char *root, const char *file, const char *name, struct pmu_event *ret,
		     struct err *reterr) MUSTCHECK;
/* Writes the file anew with those of `names` that are tracepoints, as far as tracefs knows them;
 * one line a name for people goes to `report`. */
int tracepoints_save(const char *root, const char *file, char *const *names, size_t n,
		     struct strbuf *report, struct err *reterr) MUSTCHECK;
