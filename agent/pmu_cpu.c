/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of a CPU that decide which events it has. */
#include <stdio.h>

#include "agent/pmu_derived.h"
#include "agent/sysread.h"
#include "common/parse.h"

#define CPUINFO_MAX 8192 /* the first CPU's part */

/* "key\t: value" of /proc/cpuinfo; false when there is no such key. */
static bool cpuinfo(const char *text, const char *key, char *ret, size_t cap)
{
	size_t len = strlen(key);

	for (const char *s = text; s && *s; s = strchr(s, '\n'), s = s ? s + 1 : NULL) {
		const char *v = s + len;

		if (strncmp(s, key, len) != 0)
			continue;
		v += strspn(v, " \t");
		if (*v++ != ':')
			continue;
		v += strspn(v, " \t");
		snprintf(ret, cap, "%.*s", (int)strcspn(v, "\n"), v);
		return true;
	}
	return false;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 0);
}

static bool listed(const char *root, const struct pmu_cpu *c, const char *event)
{
	char line[SYSREAD_MAX];

	return sysread_line(line, sizeof(line), root, PMU_DEVICES "/%s/events/%s", c->pmu, event);
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *s = text; (s = strstr(s, word)); s += len)
		if ((s == text || s[-1] == ' ') && (!s[len] || s[len] == ' '))
			return true;
	return false;
}

static void read_x86(const char *text, struct pmu_cpu *ret)
{
	static char line[CPUINFO_MAX]; /* start-up only */

	if (cpuinfo(text, "vendor_id", line, sizeof(line)))
		ret->vendor = !strcmp(line, "GenuineIntel")   ? PMU_INTEL
			      : !strcmp(line, "AuthenticAMD") ? PMU_AMD
			      : !strcmp(line, "HygonGenuine") ? PMU_AMD
							      : PMU_OTHER;
	if (cpuinfo(text, "cpu family", line, sizeof(line)))
		ret->family = (unsigned int)number(line);
	if (cpuinfo(text, "model", line, sizeof(line)))
		ret->model = (unsigned int)number(line);
	if (cpuinfo(text, "flags", line, sizeof(line)))
		ret->hypervisor = has_word(line, "hypervisor");
}

static void read_arm(const char *root, const struct pmu_core *core, struct pmu_cpu *ret)
{
	char line[SYSREAD_MAX];
	unsigned int cpu = 0;

	while (core->only_cpus && cpu + 1 < PMU_CPUS_MAX && !core->cpus[cpu])
		cpu++;
	if (!sysread_line(line, sizeof(line), root,
			  "/sys/devices/system/cpu/cpu%u/regs/identification/midr_el1", cpu))
		return;
	ret->vendor = PMU_ARM;
	ret->midr = number(line);
	ret->stall = listed(root, ret, "stall");
	ret->stall_frontend = listed(root, ret, "stall_frontend");
	ret->stall_backend = listed(root, ret, "stall_backend");
	ret->stall_slot = listed(root, ret, "stall_slot");
	ret->op_retired = listed(root, ret, "op_retired");
	ret->op_spec = listed(root, ret, "op_spec");
	if (sysread_line(line, sizeof(line), root, PMU_DEVICES "/%s/caps/slots", ret->pmu))
		ret->slots = (unsigned int)number(line);
}

void pmu_cpu_read(const char *root, const struct pmu_core *core, struct pmu_cpu *ret)
{
	static char text[CPUINFO_MAX]; /* start-up only */
	char line[SYSREAD_MAX];

	*ret = (struct pmu_cpu){.vendor = PMU_OTHER};
	snprintf(ret->pmu, sizeof(ret->pmu), "%s", core->name);
	if (!strcmp(core->name, "cpu_core"))
		ret->type = PMU_CORE_P;
	else if (!strcmp(core->name, "cpu_atom") || !strcmp(core->name, "cpu_lowpower"))
		ret->type = PMU_CORE_E;
	(void)sysread_all(text, sizeof(text), root, "/proc/cpuinfo");
	read_x86(text, ret);
	read_arm(root, core, ret);
	ret->topdown = listed(root, ret, "slots");
	ret->smt = sysread_line(line, sizeof(line), root, "/sys/devices/system/cpu/smt/active") &&
		   !strcmp(line, "1");
}
