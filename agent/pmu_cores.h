/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting on the cores of one hardware PMU: cycles and instructions each interval, and of the run
 * `ipc`, `cpu_ghz`, `unstalled_cycles_pct` and `retiring_slots_pct`. What cannot be had is an
 * absent series with the reason; a number that cannot be true is none.
 *
 * A hybrid CPU has one of these for each core type, whose series name the PMU. Beside them stand
 * totals without that label: ratios of the sums for ipc and cpu_ghz, weighted by the cycles of each
 * core type for the percentages. A percentage that one of the types lacks has no total. */
#pragma once

#include "agent/pmu_derived.h"
#include "agent/pmu_group.h"
#include "agent/pmu_scope.h"

struct core_counters;
/* `cpus`: those to count on. `label`: the PMU is named in the series (hybrid CPUs). `scope` is
 * borrowed until free; in another scope than the box groups are opened by core_counters_run(). */
struct core_counters *core_counters_open(const char *root, const struct pmu_core *core, bool label,
					 const bool *cpus, size_t cpus_len,
					 const struct pmu_scope *scope);
void core_counters_free(struct core_counters *c); /* NULL is fine */

/* A run of another scope begins: opens its groups, or for a workload that comes later tries to. */
void core_counters_run(struct core_counters *c);
/* The workload is known now (scope->pid). */
void core_counters_workload(struct core_counters *c);
void core_counters_declare(struct core_counters *c, struct series_list *l);
void core_counters_begin(struct core_counters *c);
void core_counters_collect(struct core_counters *c, const struct interval *i,
			   struct record_writer *w);
void core_counters_finish(struct core_counters *c, struct record_writer *w, uint64_t *last_series);
/* The totals over the core types of a hybrid CPU. */
void core_counters_finish_totals(struct core_counters *const *c, size_t n, struct record_writer *w,
				 uint64_t *last_series);
void core_counters_summary(const struct core_counters *c, struct run_summary *s);

/* All of these as absent, for a box without a PMU or with one that is not trusted. */
void core_counters_declare_absent(const struct pmu_scope *scope, struct series_list *l,
				  const char *reason);
/* Rotation period of a PMU's multiplexing; 0: not known. */
int64_t pmu_mux_ns(const char *root, const char *pmu);
