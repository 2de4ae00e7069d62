/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of /proc whose counters the system probe takes. Pure: text in, a reading of a grid out (a
 * reading has begun). ERR_INVALID: not of the known form; ERR_BUSY: CPUs came or went while the
 * file was read, the reading is of no use but does no harm. */
#pragma once

#include "agent/grid.h"

/* /proc/pressure/X: total stall times; a line that is missing is -1. */
struct psi {
	int64_t some_ns, full_ns;
};
int proc_psi_parse(const char *text, struct psi *ret, struct err *reterr) MUSTCHECK;

/* /proc/interrupts (rows: interrupts, by the names of their handlers) and /proc/softirqs. Columns
 * are CPU numbers; ERR and MIS have one number for all, GRID_NO_COLUMN. */
int proc_interrupts_parse(const char *text, struct grid *g, struct err *reterr) MUSTCHECK;
int proc_softirqs_parse(const char *text, struct grid *g, struct err *reterr) MUSTCHECK;

/* /proc/diskstats (Documentation/admin-guide/iostats.rst); 14, 18 (4.18) or 20 (5.5) fields. Rows:
 * devices and partitions. Times in ms, sectors of 512 bytes. */
enum disk_field {
	DISK_READS,
	DISK_READS_MERGED,
	DISK_READ_SECTORS,
	DISK_READ_MS,
	DISK_WRITES,
	DISK_WRITES_MERGED,
	DISK_WRITTEN_SECTORS,
	DISK_WRITE_MS,
	DISK_IN_FLIGHT, /* a state, no counter: not taken */
	DISK_BUSY_MS,
	DISK_QUEUE_MS, /* summed over the requests in flight */
	DISK_DISCARDS,
	DISK_DISCARDS_MERGED,
	DISK_DISCARDED_SECTORS,
	DISK_DISCARD_MS,
	DISK_FLUSHES,
	DISK_FLUSH_MS,
	DISK_FIELDS,
};
int proc_diskstats_parse(const char *text, struct grid *g, struct err *reterr) MUSTCHECK;

/* /proc/schedstat, versions 15 to 17 (Documentation/scheduler/sched-stats.rst). Rows: CPUs. */
enum sched_field { SCHED_RUN_NS, SCHED_DELAY_NS, SCHED_TIMESLICES };
int proc_schedstat_parse(const char *text, struct grid *g, struct err *reterr) MUSTCHECK;

/* /proc/lock_stat (Documentation/locking/lockstat.rst): versions differ in their columns, which
 * the file names. Rows: lock classes. */
enum lockstat_field {
	LOCKSTAT_CON_BOUNCES,
	LOCKSTAT_CONTENTIONS,
	LOCKSTAT_WAIT_NS,
	LOCKSTAT_ACQ_BOUNCES,
	LOCKSTAT_ACQUISITIONS,
	LOCKSTAT_HOLD_NS,
	LOCKSTAT_FIELDS,
};
int proc_lockstat_parse(const char *text, struct grid *g, struct err *reterr) MUSTCHECK;
