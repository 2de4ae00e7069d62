/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu_derived.h"

#include <math.h>
#include <stdio.h>

#define IPC_MAX	    12.0 /* wider than any CPU of today */
#define HZ_MIN	    100e6
#define CYCLES_MANY 1e6

#define ARM_PART(midr)	   ((unsigned int)((midr) >> 4) & 0xfff)
#define ARM_VARIANT(midr)  ((unsigned int)((midr) >> 20) & 0xf)
#define ARM_REVISION(midr) ((unsigned int)(midr)&0xf)
#define ARM_VENDOR(midr)   ((unsigned int)((midr) >> 24) & 0xff)
#define ARM_LTD		   0x41
#define NEOVERSE_V1	   0xd40
#define NEOVERSE_N2	   0xd49
#define NEOVERSE_V2	   0xd4f

/* ---- Intel ---- */

enum intel_kind { INTEL_OLD, INTEL_4WIDE, INTEL_TOPDOWN, INTEL_LUNAR, INTEL_ATOM, INTEL_UNKNOWN };

/* Family 6. `kind` is that of the cores of the PMU "cpu" or "cpu_core". */
static const struct {
	unsigned int model;
	enum intel_kind kind;
} intel_models[] = {
	{0x1a, INTEL_OLD},     {0x1e, INTEL_OLD},     {0x25, INTEL_OLD},     /* Nehalem, */
	{0x2c, INTEL_OLD},     {0x2e, INTEL_OLD},     {0x2f, INTEL_OLD},     /* Westmere */
	{0x2a, INTEL_OLD},     {0x2d, INTEL_OLD},     {0x3a, INTEL_OLD},     /* Sandy Bridge, */
	{0x3e, INTEL_OLD},						     /* Ivy Bridge */
	{0x3c, INTEL_4WIDE},   {0x3f, INTEL_4WIDE},   {0x45, INTEL_4WIDE},   /* Haswell */
	{0x46, INTEL_4WIDE},						     /* Haswell */
	{0x3d, INTEL_4WIDE},   {0x47, INTEL_4WIDE},   {0x4f, INTEL_4WIDE},   /* Broadwell */
	{0x56, INTEL_4WIDE},						     /* Broadwell-DE */
	{0x4e, INTEL_4WIDE},   {0x5e, INTEL_4WIDE},   {0x55, INTEL_4WIDE},   /* Skylake, */
	{0x8e, INTEL_4WIDE},   {0x9e, INTEL_4WIDE},   {0xa5, INTEL_4WIDE},   /* Cascade, Kaby, */
	{0xa6, INTEL_4WIDE},						     /* Comet Lake */
	{0x7d, INTEL_TOPDOWN}, {0x7e, INTEL_TOPDOWN}, {0x6a, INTEL_TOPDOWN}, /* Ice Lake */
	{0x6c, INTEL_TOPDOWN}, {0x8c, INTEL_TOPDOWN}, {0x8d, INTEL_TOPDOWN}, /* Tiger Lake */
	{0xa7, INTEL_TOPDOWN}, {0x8f, INTEL_TOPDOWN}, {0xcf, INTEL_TOPDOWN}, /* Sapphire, Emerald */
	{0x97, INTEL_TOPDOWN}, {0x9a, INTEL_TOPDOWN}, {0xb7, INTEL_TOPDOWN}, /* Alder, Raptor */
	{0xba, INTEL_TOPDOWN}, {0xbf, INTEL_TOPDOWN}, {0xaa, INTEL_TOPDOWN}, /* Meteor Lake */
	{0xac, INTEL_TOPDOWN}, {0xad, INTEL_TOPDOWN}, {0xae, INTEL_TOPDOWN}, /* Granite Rapids */
	{0xbd, INTEL_LUNAR},   {0xc5, INTEL_LUNAR},   {0xc6, INTEL_LUNAR},   /* Lunar, Arrow */
	{0xb5, INTEL_LUNAR},						     /* Arrow Lake-U */
	{0xbe, INTEL_ATOM},    {0xaf, INTEL_ATOM},    {0xb6, INTEL_ATOM},    /* Alder-N, Forests */
};

static enum intel_kind intel_kind(const struct pmu_cpu *cpu)
{
	if (cpu->type == PMU_CORE_E)
		return INTEL_ATOM;
	for (size_t i = 0; cpu->family == 6 && i < ARRAY_LEN(intel_models); i++)
		if (intel_models[i].model == cpu->model)
			return intel_models[i].kind;
	return INTEL_UNKNOWN;
}

static const struct pmu_plan stalls_total = {
	.formula = PMU_F_REST,
	.method = "intel-stalls-total/1",
	.event = {"event=0xa3,umask=0x4,cmask=4"},
};

static const struct pmu_plan retired_cycles = {
	.formula = PMU_F_SHARE,
	.method = "intel-retired-cycles/1",
	.event = {"event=0xc2,umask=0x2,cmask=1"},
	.width = 1,
};

static const struct pmu_plan topdown = {
	.formula = PMU_F_TOPDOWN,
	.method = "intel-topdown-l1/1",
	.event = {"slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
		  "topdown-be-bound"},
	.alone = true,
};

static const struct pmu_plan retire_slots = {
	.formula = PMU_F_SHARE,
	.method = "intel-retire-slots/1",
	.event = {"event=0xc2,umask=0x2"},
	.width = 4,
};

/* TOPDOWN_RETIRING.ALL over the slots of the core. */
static const struct pmu_plan gracemont = {
	.formula = PMU_F_SHARE,
	.method = "intel-atom-retiring/1",
	.event = {"event=0xc2,umask=0x0"},
	.width = 5,
};
static const struct pmu_plan crestmont = {
	.formula = PMU_F_SHARE,
	.method = "intel-atom6-retiring/1",
	.event = {"event=0xc2,umask=0x0"},
	.width = 6,
};

static void none(struct pmu_plan *ret, const char *reason)
{
	*ret = (struct pmu_plan){.reason = reason};
}

#define UNKNOWN_MODEL                                                                              \
	"not available: this CPU model is not in the agent's table, so no event is trusted to "    \
	"mean this"
#define BEFORE_HASWELL "not available: the agent's table begins with Haswell"

static void intel_unstalled(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	switch (intel_kind(cpu)) {
	case INTEL_4WIDE:
	case INTEL_TOPDOWN:
		*ret = stalls_total;
		return;
	case INTEL_LUNAR:
		*ret = retired_cycles;
		return;
	case INTEL_ATOM:
		none(ret, "not available: E-cores have no event that counts stalled cycles; see "
			  "retiring_slots_pct, another quantity");
		return;
	case INTEL_OLD:
		none(ret, BEFORE_HASWELL);
		return;
	case INTEL_UNKNOWN:
		none(ret, UNKNOWN_MODEL);
		return;
	}
}

static bool has_crestmont(const struct pmu_cpu *cpu)
{
	return cpu->model == 0xaf || cpu->model == 0xb6 || cpu->model == 0xaa || cpu->model == 0xac;
}

static void intel_retiring(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	switch (intel_kind(cpu)) {
	case INTEL_4WIDE:
		*ret = retire_slots;
		if (cpu->smt)
			none(ret, "not available: before Ice Lake the slots are those of a whole "
				  "core, so a thread's share is not defined while SMT is on");
		return;
	case INTEL_TOPDOWN:
	case INTEL_LUNAR:
		*ret = topdown;
		if (!cpu->topdown)
			none(ret, "not available: the kernel offers no event \"slots\" here (a "
				  "virtual machine has none as a rule)");
		return;
	case INTEL_ATOM:
		*ret = has_crestmont(cpu) ? crestmont : gracemont;
		if (cpu->model == 0xbd || cpu->model == 0xc5 || cpu->model == 0xc6 ||
		    cpu->model == 0xb5)
			none(ret, UNKNOWN_MODEL);
		return;
	case INTEL_OLD:
		none(ret, BEFORE_HASWELL);
		return;
	case INTEL_UNKNOWN:
		none(ret, UNKNOWN_MODEL);
		return;
	}
}

/* ---- AMD ---- */

/* 0: not a Zen. Families 17h (Zen 1, 2; and Hygon 18h), 19h (3, 4), 1Ah (5). */
static unsigned int zen(const struct pmu_cpu *cpu)
{
	unsigned int m = cpu->model;

	if (cpu->family == 0x18)
		return 1;
	if (cpu->family == 0x17)
		return m >= 0x30 ? 2 : 1;
	if (cpu->family == 0x19)
		return (m >= 0x10 && m <= 0x1f) || (m >= 0x60 && m <= 0xaf) ? 4 : 3;
	return cpu->family == 0x1a ? 5 : 0;
}

static void amd_unstalled(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	static const struct pmu_plan retire_cmask = {
		.formula = PMU_F_SHARE,
		.method = "amd-retire-cmask1/1",
		.event = {"event=0xc1,umask=0x0,cmask=1"},
		.width = 1,
	};
	static const struct pmu_plan no_retire = {
		.formula = PMU_F_REST,
		.method = "amd-no-retire/1",
		.event = {"event=0xd6,umask=0x1b"},
	};
	unsigned int n = zen(cpu);

	if (!n)
		none(ret, UNKNOWN_MODEL);
	else
		*ret = n >= 4 ? no_retire : retire_cmask;
}

static void amd_retiring(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	unsigned int n = zen(cpu);

	if (!n)
		none(ret, UNKNOWN_MODEL);
	else if (n < 4)
		none(ret, "not available: AMD counts pipeline slots from Zen 4 on");
	else
		*ret = (struct pmu_plan){
			.formula = PMU_F_SHARE,
			.method = n == 4 ? "amd-ret-ops-6/1" : "amd-ret-ops-8/1",
			.event = {"event=0xc1,umask=0x0"},
			.width = n == 4 ? 6 : 8,
		};
}

/* ---- Arm ---- */

/* Only listed events: opening an unlisted one raw succeeds and counts 0. */
static void arm_unstalled(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	if (cpu->stall)
		*ret = (struct pmu_plan){
			.formula = PMU_F_REST, .method = "arm-stall/1", .event = {"event=0x3c"}};
	else if (cpu->stall_frontend && cpu->stall_backend)
		*ret = (struct pmu_plan){.formula = PMU_F_REST,
					 .method = "arm-stall-fe-be/1",
					 .event = {"event=0x23", "event=0x24"}};
	else
		none(ret, "not available: this core does not list its stall events");
}

static void arm_retiring(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	unsigned int part = ARM_VENDOR(cpu->midr) == ARM_LTD ? ARM_PART(cpu->midr) : 0;
	bool old_n2 =
		part == NEOVERSE_N2 && ARM_VARIANT(cpu->midr) == 0 && ARM_REVISION(cpu->midr) < 3;

	if (part != NEOVERSE_V1 && part != NEOVERSE_N2 && part != NEOVERSE_V2) {
		none(ret, "not available: this core (MIDR) is not in the agent's table of slots");
	} else if (!cpu->stall_slot || !cpu->op_retired || !cpu->op_spec) {
		none(ret, "not available: this core does not list its slot events");
	} else if (!cpu->slots) {
		none(ret, "not available: the PMU says 0 slots (caps/slots)");
	} else {
		*ret = (struct pmu_plan){
			.formula = old_n2 ? PMU_F_ARM_N2 : PMU_F_ARM_SLOTS,
			.method = old_n2 ? "arm-slots-n2-erratum/1" : "arm-slots/1",
			.event = {"event=0x3a", "event=0x3b", "event=0x3f"},
			.width = cpu->slots,
		};
	}
}

/* ---- choice and value ---- */

void pmu_plan_unstalled(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	if (cpu->vendor == PMU_INTEL)
		intel_unstalled(cpu, ret);
	else if (cpu->vendor == PMU_AMD)
		amd_unstalled(cpu, ret);
	else if (cpu->vendor == PMU_ARM)
		arm_unstalled(cpu, ret);
	else
		none(ret, UNKNOWN_MODEL);
}

void pmu_plan_retiring(const struct pmu_cpu *cpu, struct pmu_plan *ret)
{
	if (cpu->vendor == PMU_INTEL)
		intel_retiring(cpu, ret);
	else if (cpu->vendor == PMU_AMD)
		amd_retiring(cpu, ret);
	else if (cpu->vendor == PMU_ARM)
		arm_retiring(cpu, ret);
	else
		none(ret, UNKNOWN_MODEL);
}

static double raw_value(const struct pmu_plan *p, double cycles, const double *e)
{
	double sum = 0;

	switch (p->formula) {
	case PMU_F_REST:
		for (size_t i = 0; p->event[i]; i++)
			sum += e[i];
		return 100 * (1 - sum / cycles);
	case PMU_F_SHARE:
		return 100 * e[0] / (p->width * cycles);
	case PMU_F_TOPDOWN:
		return 100 * e[1] / (e[1] + e[2] + e[3] + e[4]);
	case PMU_F_ARM_SLOTS:
		return 100 * e[0] / e[1] * (1 - e[2] / (p->width * cycles));
	case PMU_F_ARM_N2:
		return 100 * e[0] / e[1] * (1 - (e[2] - cycles) / (p->width * cycles));
	case PMU_F_NONE:
		break;
	}
	return (double)NAN;
}

/* A stall counter that says 0 in a busy interval is a stub, not a perfect pipeline. */
static bool is_stub(const struct pmu_plan *p, double cycles, const double *e)
{
	double sum = 0;

	for (size_t i = 0; p->event[i]; i++)
		sum += e[i];
	return cycles > CYCLES_MANY && !(sum > 0);
}

double pmu_plan_value(const struct pmu_plan *p, double cycles, const double *events)
{
	double v;

	if (p->formula == PMU_F_NONE || (!p->alone && !(cycles > 0)) ||
	    is_stub(p, p->alone ? CYCLES_MANY + 1 : cycles, events))
		return (double)NAN;
	v = raw_value(p, cycles, events);
	if (!(v >= -1 && v <= 101))
		return (double)NAN;
	return v < 0 ? 0 : v > 100 ? 100 : v;
}

const char *pmu_implausible(double cycles, double instructions, double running_ns, double busy_ns,
			    double fmax_hz)
{
	if (cycles > CYCLES_MANY && !(instructions > 0))
		return "cycles were counted but no instructions";
	if (instructions > IPC_MAX * cycles)
		return "more instructions a cycle than any CPU can issue";
	if (cycles < busy_ns * HZ_MIN / 1e9)
		return "fewer cycles than 100 MHz would give in the time that the CPUs were busy";
	if (fmax_hz > 0 && cycles > running_ns * fmax_hz / 1e9 * 1.1)
		return "more cycles than the highest frequency allows";
	return NULL;
}

static void join_method(char *buf, size_t cap, const char *method)
{
	size_t len = strlen(buf);

	if (!len)
		snprintf(buf, cap, "%s", method);
	else if (!strstr(buf, method))
		snprintf(buf + len, cap - len, "+%s", method);
}

double pmu_total(const struct pmu_part *part, size_t n, char *method, size_t method_cap, char *why,
		 size_t why_cap)
{
	double sum = 0, weight = 0;

	method[0] = why[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!(part[i].weight > 0) && !part[i].reason)
			continue;
		if (isnan(part[i].value)) {
			snprintf(why, why_cap, "not available: the total lacks %.40s: %.200s",
				 part[i].pmu, part[i].reason);
			return (double)NAN;
		}
		join_method(method, method_cap, part[i].method);
		sum += part[i].value * part[i].weight;
		weight += part[i].weight;
	}
	if (!(weight > 0))
		snprintf(why, why_cap, "not available: nothing ran that could be counted");
	return weight > 0 ? sum / weight : (double)NAN;
}
