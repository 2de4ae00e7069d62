/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/hw_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/sysread.h"
#include "common/parse.h"

#define CPU_DIR	      "/sys/devices/system/cpu"
#define CPUS_MAX      4096
#define MSR_SMI_COUNT 0x34
#define CPUINFO_MAX   65536 /* the first CPU is enough */

bool hw_read_ticks(const char *root, struct hw_ticks *ret)
{
	char line[SYSREAD_MAX];
	unsigned long long v[8] = {0};

	*ret = (struct hw_ticks){0};
	if (!sysread_line(line, sizeof(line), root, "/proc/stat"))
		return false;
	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) != 8)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		ret->all += v[i];
	ret->steal = v[7];
	return true;
}

bool hw_is_virtual(const char *root)
{
	CLEANUP(freep) char *text = xcalloc(1, CPUINFO_MAX);

	return sysread_all(text, CPUINFO_MAX, root, "/proc/cpuinfo") && strstr(text, " hypervisor");
}

/* "vendor_id	: GenuineIntel" */
static const char *cpuinfo_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	at = at ? strchr(at, ':') : NULL;
	return at ? at + 1 + strspn(at + 1, " \t") : "";
}

void hw_cpu_family(const char *root, char vendor[32], unsigned int *ret_family)
{
	CLEANUP(freep) char *text = xcalloc(1, CPUINFO_MAX);
	const char *name;

	(void)sysread_all(text, CPUINFO_MAX, root, "/proc/cpuinfo");
	name = cpuinfo_value(text, "vendor_id");
	(void)snprintf(vendor, 32, "%.*s", (int)strcspn(name, "\n"), name);
	*ret_family = (unsigned int)strtoul(cpuinfo_value(text, "cpu family"), NULL, 10);
}

bool hw_read_smi_msr(const char *root, uint64_t *ret)
{
	CLEANUP(freep) char *path = xasprintf("%s/dev/cpu/0/msr", root);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = pread(fd, ret, sizeof(*ret), MSR_SMI_COUNT) == sizeof(*ret);
	close(fd);
	return ok;
}

/* ---- throttling ---- */

static const struct {
	const char *count, *siblings, *siblings_before; /* before Linux 5.9 */
} parts[HW_PARTS] = {
	[HW_CORE] = {"core_throttle_count", "core_cpus_list", "thread_siblings_list"},
	[HW_PACKAGE] = {"package_throttle_count", "package_cpus_list", "core_siblings_list"},
};

static bool read_count(const char *root, size_t cpu, enum hw_part part, uint64_t *ret)
{
	char line[SYSREAD_MAX];

	return sysread_line(line, sizeof(line), root, CPU_DIR "/cpu%zu/thermal_throttle/%s", cpu,
			    parts[part].count) &&
	       parse_u64(line, ret, NULL) == 0;
}

/* The first of the CPUs that share the part counts for all of them. */
static bool is_first(const char *root, size_t cpu, enum hw_part part)
{
	char line[SYSREAD_MAX];

	if (!sysread_line(line, sizeof(line), root, CPU_DIR "/cpu%zu/topology/%s", cpu,
			  parts[part].siblings) &&
	    !sysread_line(line, sizeof(line), root, CPU_DIR "/cpu%zu/topology/%s", cpu,
			  parts[part].siblings_before))
		return true;
	return strtoul(line, NULL, 10) == cpu;
}

struct walk {
	struct hw_throttle *t;
	const char *root;
	bool any;
};

static void look_at_cpu(void *user, const char *name)
{
	struct walk *w = user;
	uint64_t cpu, count;

	if (strncmp(name, "cpu", 3) != 0 || parse_u64(name + 3, &cpu, NULL) || cpu >= CPUS_MAX)
		return;
	for (int p = 0; p < HW_PARTS; p++) {
		if (!read_count(w->root, cpu, (enum hw_part)p, &count))
			continue;
		w->t->first[p][cpu] = is_first(w->root, cpu, (enum hw_part)p);
		w->any = true;
	}
	if (cpu >= w->t->cpus)
		w->t->cpus = cpu + 1;
}

bool hw_throttle_init(struct hw_throttle *t, const char *root)
{
	struct walk w = {t, root, false};

	*t = (struct hw_throttle){0};
	for (int p = 0; p < HW_PARTS; p++)
		t->first[p] = xcalloc(CPUS_MAX, sizeof(bool));
	sysread_dir(root, CPU_DIR, look_at_cpu, &w);
	return w.any;
}

void hw_throttle_done(struct hw_throttle *t)
{
	for (int p = 0; p < HW_PARTS; p++)
		free(t->first[p]);
	*t = (struct hw_throttle){0};
}

bool hw_throttle_read(const struct hw_throttle *t, const char *root, enum hw_part part,
		      uint64_t *ret)
{
	bool any = false;

	*ret = 0;
	for (size_t cpu = 0; cpu < t->cpus; cpu++) {
		uint64_t n;

		if (!t->first[part][cpu])
			continue;
		if (!read_count(root, cpu, part, &n))
			return false; /* it went offline: the sum would go back */
		*ret += n;
		any = true;
	}
	return any;
}

double hw_effective_ghz(uint64_t aperf, uint64_t mperf, uint64_t tsc, uint64_t ns)
{
	if (!mperf || !ns || !tsc)
		return -1;
	return (double)tsc / (double)ns * (double)aperf / (double)mperf;
}
