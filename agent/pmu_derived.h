/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a CPU offers for the percentages, and how they are computed.
 *
 *   unstalled_cycles_pct  share of unhalted cycles in which at least one operation was executed
 *   retiring_slots_pct    share of pipeline slots that retired useful operations (topdown level 1)
 *
 * They are different quantities, and each CPU family counts them with other events: the method
 * names family, events and formula, and values of two methods are never compared. Choosing is a
 * pure function of the CPU's facts. Events and formulas are those of the vendors' documentation
 * as kept in the kernel's tools/perf/pmu-events. */
#pragma once

#include "agent/pmu_event.h"

enum pmu_vendor { PMU_INTEL, PMU_AMD, PMU_ARM, PMU_OTHER };
enum pmu_core_type { PMU_CORE_ONLY, PMU_CORE_P, PMU_CORE_E };

struct pmu_cpu {
	enum pmu_vendor vendor;
	unsigned int family, model; /* x86 */
	uint64_t midr;		    /* Arm */
	bool smt;		    /* more than one thread of a core is in use */
	bool hypervisor;
	char pmu[40]; /* the PMU of these cores, as in sysfs */
	enum pmu_core_type type;
	unsigned int slots;			   /* Arm: caps/slots, 0: unknown */
	bool stall, stall_frontend, stall_backend; /* Arm: listed in the PMU's events/ */
	bool stall_slot, op_retired, op_spec;
	bool topdown; /* Intel: `slots` is listed */
};
/* Facts of the cores of one PMU. */
void pmu_cpu_read(const char *root, const struct pmu_core *core, struct pmu_cpu *ret);

enum pmu_formula {
	PMU_F_NONE,
	PMU_F_REST,	 /* 100 (1 - sum of events / cycles) */
	PMU_F_SHARE,	 /* 100 event / (width cycles) */
	PMU_F_TOPDOWN,	 /* 100 e1 / (e1 + e2 + e3 + e4); e0 is the leader `slots` */
	PMU_F_ARM_SLOTS, /* 100 e0 / e1 (1 - e2 / (width cycles)) */
	PMU_F_ARM_N2,	 /* the same with e2 - cycles: erratum of N2 before r0p3 */
};

#define PMU_PLAN_EVENTS 5

/* How one percentage is measured here, or why it is not. */
struct pmu_plan {
	enum pmu_formula formula;
	const char *method;			/* "intel-stalls-total/1" */
	const char *event[PMU_PLAN_EVENTS + 1]; /* terms for PMU/terms/, ended by NULL */
	double width;				/* slots a cycle */
	bool alone;	    /* the events make a group of their own, without cycles */
	const char *reason; /* PMU_F_NONE: why */
};

void pmu_plan_unstalled(const struct pmu_cpu *cpu, struct pmu_plan *ret);
void pmu_plan_retiring(const struct pmu_cpu *cpu, struct pmu_plan *ret);

/* The percentage; NaN when it cannot be true (outside -1..101, no cycles, stalls > cycles). */
double pmu_plan_value(const struct pmu_plan *p, double cycles, const double *events);

/* What one core type of a hybrid CPU adds to a total. */
struct pmu_part {
	const char *pmu, *method;
	double value;	    /* NaN: none */
	double weight;	    /* its cycles, of cpu_ghz its busy time; 0: nothing ran on it */
	const char *reason; /* why there is no value */
};
/* The mean of the values by their weights: with cycles as weights ipc becomes the sum of the
 * instructions over that of the cycles. `method` becomes "a/1", or "a/1+b/1" when the types are
 * measured in different ways. NaN with `why` when a type that ran has no value. */
double pmu_total(const struct pmu_part *part, size_t n, char *method, size_t method_cap, char *why,
		 size_t why_cap);

/* cycles and instructions of busy time: NULL, or why they cannot be true (perf.md 2.3). `fmax_hz`
 * 0: not known. */
const char *pmu_implausible(double cycles, double instructions, double running_ns, double busy_ns,
			    double fmax_hz);
