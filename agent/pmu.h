/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters probe of the hardware: cycles, instructions and the percentages of every core-type
 * PMU (pmu_cores.h), and the events that a person asked for (`--event NAME`), each as
 * `event_<name>`: a counter each interval, or with a PMU's scale one value of the run. */
#pragma once

#include "agent/pmu_scope.h"

struct pmu_conf {
	char *const *events; /* names, borrowed until free */
	size_t events_len;
	const bool *cpus; /* borrowed until free; NULL: all that are online */
	size_t cpus_len;
	struct pmu_scope_conf scope;
	const char *root;	 /* of /proc and /sys, borrowed until free; NULL: the real ones */
	const char *tracepoints; /* file of their numbers (tracepoint.h), borrowed until free */
};

/* Never fails: what cannot be counted is an absent series with the reason. */
struct probe *pmu_probe(const struct pmu_conf *conf);
/* Refuses a name that can never be an event; whether this box has it shows later. */
int pmu_event_check(const char *name, struct err *reterr) MUSTCHECK;
/* "msr/smi/" -> "event_msr_smi" */
void pmu_event_metric(const char *name, char *buf, size_t cap);
