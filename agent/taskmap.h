/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs: names of threads and processes as they were when a sample hit. Filled from perf's
 * side-band records and, for tasks that were there before, from /proc. Entries of tasks that
 * exited stay until taskmap_sweep(), because other CPUs' samples may still come. */
#pragma once

#include "common/base.h"

struct task {
	uint32_t tid, pid;
	char comm[16];
	char *exe;    /* path of the program, NULL unknown or kernel thread */
	char *cgroup; /* path, NULL unknown */
	bool kernel;
	bool exited;
};

struct taskmap;
struct taskmap *taskmap_new(void) MUSTCHECK;
void taskmap_free(struct taskmap *m);
/* Never NULL: reads /proc at first sight; a task that is gone has the comm ":TID". Valid until
 * the next call that changes the map. */
const struct task *taskmap_get(struct taskmap *m, uint32_t pid, uint32_t tid);
void taskmap_fork(struct taskmap *m, uint32_t pid, uint32_t tid, uint32_t parent_pid);
void taskmap_comm(struct taskmap *m, uint32_t pid, uint32_t tid, const char *comm, bool exec);
void taskmap_exit(struct taskmap *m, uint32_t tid);
void taskmap_sweep(struct taskmap *m);
