/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the counters of a run count (`counters = box | workload | cgroup:PATH`): every CPU of the
 * box, the run's workload from its exec() with all its children, or the tasks of one cgroup.
 *
 * Groups of the box are opened once; those of the other scopes belong to one run, because its
 * process or cgroup may be another each time. Every series carries the scope as a label and in its
 * method, so that a number of the box is never compared with one of a workload. */
#pragma once

#include "agent/pmu_group.h"
#include "agent/probe.h"

#define PMU_SCOPE_MAX 200

struct pmu_scope_conf {
	enum pmu_mode mode;
	const char *cgroup; /* PMU_CGROUP: a directory, or a path as /proc/PID/cgroup has it;
			     * borrowed as long as the scope lives */
	bool has_workload;  /* the runs have one */
};

struct pmu_scope {
	struct pmu_scope_conf conf;
	char label[PMU_SCOPE_MAX + 8]; /* "box", "workload", "cgroup:/a/b" */
	int cgroup_fd;		       /* -1: none */
	pid_t pid;		       /* of the workload; 0: not yet */
	char why[400];		       /* why this run counts nothing; "": it can */
};

/* "box", "workload", "cgroup:PATH"; *ret_cgroup is allocated or NULL. */
int pmu_scope_parse(const char *text, enum pmu_mode *ret_mode, char **ret_cgroup,
		    struct err *reterr) MUSTCHECK;
/* Can it work at all: is the workload or the cgroup there? For a person who begins an experiment.
 */
int pmu_scope_check(const struct pmu_scope_conf *conf, struct err *reterr) MUSTCHECK;

void pmu_scope_init(struct pmu_scope *s, const struct pmu_scope_conf *conf);
void pmu_scope_done(struct pmu_scope *s);
/* A run begins: its cgroup is opened, its workload is not known yet. */
void pmu_scope_begin(struct pmu_scope *s);
/* Groups belong to one run: open them in it. */
bool pmu_scope_of_run(const struct pmu_scope *s);
/* Only a trial can be opened now: the workload comes later. */
bool pmu_scope_waits(const struct pmu_scope *s);
/* What to open groups with; for a workload that is not known yet this very thread, as a trial. */
struct pmu_target pmu_scope_target(const struct pmu_scope *s, const bool *cpus, size_t cpus_len);

/* "perf-sw-cpuwide/1" -> "perf-sw-workload/1", "ipc/1" -> "ipc-cgroup/1"; the box's is unchanged.
 * Returns `method` or buf; NULL stays NULL. */
const char *pmu_scope_method(const struct pmu_scope *s, const char *method, char *buf, size_t cap);
/* Adds the label `scope` behind those that the declaration has. */
void pmu_scope_label(const struct pmu_scope *s, struct series_decl *d);

/* A sum as it is stored. A task or cgroup that did not run has a true 0 of the whole interval. */
struct counter_sample pmu_scope_sample(const struct pmu_sum *sum, int64_t dt_ns);

/* What the end of a run says about a counter's series: nothing when it was counted exactly in every
 * interval. `run`: the sum of those with a number; `worst`: of all `intervals`. */
void pmu_scope_state(struct run_summary *s, uint64_t series, const struct pmu_sum *run,
		     enum pmu_state worst, uint64_t missing, uint64_t intervals);

/* Opens the directory of a cgroup that perf can count by; returns the descriptor. `mounts` is
 * /proc/self/mounts, another file in tests. */
int pmu_cgroup_open(const char *mounts, const char *path, int *ret_fd,
		    struct err *reterr) MUSTCHECK;
