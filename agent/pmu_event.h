/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A perf event by its name, as perf(1) spells it:
 *
 *   cycles, cache-misses, context-switches   generic hardware and software events
 *   L1-dcache-load-misses                    hardware cache events
 *   msr/smi/  cpu/event=0x3c,umask=0x1/      an event or the terms of a PMU in sysfs
 *   r003c                                    raw code of the CPU's PMU
 *   sched:sched_switch                       a tracepoint
 *   SKL::INST_RETIRED.ANY                    libpfm4 names, when nothing above fits
 *
 * followed by :u or :k (user or kernel only; after the last slash without the colon). A hardware
 * event of a hybrid CPU has one opening for each of its core-type PMUs, each for the CPUs of that
 * PMU. Files are read below `root` ("" in real life, a made-up tree in tests), so everything that
 * needs rights happens here, before they are dropped. */
#pragma once

#include <linux/perf_event.h>

#include "common/err.h"

#define PMU_CPUS_MAX	 1024
#define PMU_OPENINGS_MAX 4
#define PMU_DEVICES	 "/sys/bus/event_source/devices"

/* What perf_event_open gets for one kind of CPU. */
struct pmu_opening {
	char pmu[40]; /* "cpu", "cpu_atom", "armv8_pmuv3_0", "software", "tracepoint" */
	uint32_t type;
	uint64_t config, config1, config2;
	bool only_cpus; /* `cpus` holds; else every CPU */
	bool cpus[PMU_CPUS_MAX];
};

struct pmu_event {
	char name[120];
	struct pmu_opening opening[PMU_OPENINGS_MAX];
	size_t openings;
	bool exclude_user, exclude_kernel, exclude_hv;
	bool software; /* needs no hardware counter: software, tracepoint */
	double scale;  /* value = count * scale, in `unit` */
	char unit[24]; /* "1" when the PMU names none */
};

int pmu_event_parse(const char *name, const char *root, struct pmu_event *ret,
		    struct err *reterr) MUSTCHECK;
/* Keeps only the opening of that PMU; false when the event has none there. */
bool pmu_event_only(struct pmu_event *e, const char *pmu);
/* The opening that counts on this CPU; NULL: none. */
const struct pmu_opening *pmu_event_on_cpu(const struct pmu_event *e, unsigned int cpu);
void pmu_event_attr(const struct pmu_event *e, const struct pmu_opening *o,
		    struct perf_event_attr *ret);

/* A PMU that counts instructions of CPUs (not of caches, memory or packages). */
struct pmu_core {
	char name[40];
	uint32_t type;
	bool only_cpus;
	bool cpus[PMU_CPUS_MAX];
};
/* Returns how many there are: 0 without hardware counters, 1 as a rule, more on hybrid CPUs. */
size_t pmu_cores(const char *root, struct pmu_core ret[PMU_OPENINGS_MAX]);

/* ---- the parts, for tests ---- */
/* Puts `value` into the bits of a sysfs format such as "config:0-7,32-35". */
int pmu_format_put(const char *format, uint64_t value, struct pmu_opening *to,
		   struct err *reterr) MUSTCHECK;
/* pmu_pfm.c: libpfm4, the fallback. */
int pmu_pfm_parse(const char *name, struct pmu_event *ret, struct err *reterr) MUSTCHECK;
