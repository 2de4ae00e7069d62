/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel, CPU, firmware and power facts. Interrupts and disks are in sysinfo_devices.c. */
#include "agent/sysinfo.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "agent/conf.h"
#include "agent/sysinfo_devices.h"
#include "agent/sysread.h"
#include "common/parse.h"

#define CONFIG_MAX (1u << 20)

struct walk {
	struct facts *f;
	const char *root;
};

/* A fact that is one line of one file. */
static const struct {
	const char *key, *path;
} lines[] = {
	{"boot.id", "/proc/sys/kernel/random/boot_id"},
	{"kernel.cmdline", "/proc/cmdline"},
	{"kernel.tainted", "/proc/sys/kernel/tainted"},
	{"kernel.realtime", "/sys/kernel/realtime"},
	{"sched.preempt", "/sys/kernel/debug/sched/preempt"},
	{"sched.rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"},
	{"sched.rt_period_us", "/proc/sys/kernel/sched_rt_period_us"},
	{"sched.autogroup", "/proc/sys/kernel/sched_autogroup_enabled"},
	{"sched.timer_migration", "/proc/sys/kernel/timer_migration"},
	{"sched.numa_balancing", "/proc/sys/kernel/numa_balancing"},
	{"kernel.nmi_watchdog", "/proc/sys/kernel/nmi_watchdog"},
	{"kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"},
	{"cpu.online", "/sys/devices/system/cpu/online"},
	{"cpu.isolated", "/sys/devices/system/cpu/isolated"},
	{"cpu.nohz_full", "/sys/devices/system/cpu/nohz_full"},
	{"cpu.smt", "/sys/devices/system/cpu/smt/control"},
	{"cpu.boost", "/sys/devices/system/cpu/cpufreq/boost"},
	{"cpu.no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
	{"cpu.pstate", "/sys/devices/system/cpu/intel_pstate/status"},
	{"cpu.amd_pstate", "/sys/devices/system/cpu/amd_pstate/status"},
	{"idle.driver", "/sys/devices/system/cpu/cpuidle/current_driver"},
	{"idle.governor", "/sys/devices/system/cpu/cpuidle/current_governor"},
	{"clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"clock.available", "/sys/devices/system/clocksource/clocksource0/available_clocksource"},
	{"memory.thp", "/sys/kernel/mm/transparent_hugepage/enabled"},
	{"memory.ksm", "/sys/kernel/mm/ksm/run"},
	{"memory.swappiness", "/proc/sys/vm/swappiness"},
	{"numa.online", "/sys/devices/system/node/online"},
	{"irq.default_affinity", "/proc/irq/default_smp_affinity"},
	{"virt.hypervisor", "/sys/hypervisor/type"},
	{"dmi.vendor", "/sys/class/dmi/id/sys_vendor"},
	{"dmi.product", "/sys/class/dmi/id/product_name"},
	{"dmi.board", "/sys/class/dmi/id/board_name"},
	{"dmi.bios_vendor", "/sys/class/dmi/id/bios_vendor"},
	{"dmi.bios_version", "/sys/class/dmi/id/bios_version"},
	{"dmi.bios_date", "/sys/class/dmi/id/bios_date"},
	{"dmi.firmware", "/sys/class/dmi/id/ec_firmware_release"},
};

static void collect_lines(struct facts *f, const char *root)
{
	char buf[SYSREAD_MAX];

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (sysread_line(buf, sizeof(buf), root, "%s", lines[i].path))
			facts_set(f, lines[i].key, buf);
}

static void collect_uname(struct facts *f)
{
	struct utsname u;

	if (uname(&u))
		return;
	facts_set(f, "kernel.release", u.release);
	facts_set(f, "kernel.version", u.version);
	facts_set(f, "kernel.machine", u.machine);
}

/* The GNU build id among the ELF notes: namesz 4, type 3, "GNU\0", then the id. */
static void collect_build_id(struct facts *f, const char *root)
{
	unsigned char buf[SYSREAD_MAX];
	size_t len = sysread_all((char *)buf, sizeof(buf), root, "/sys/kernel/notes"), at = 0;

	while (at + 12 <= len) {
		uint32_t head[3];
		size_t name, desc;

		memcpy(head, buf + at, sizeof(head));
		name = (head[0] + 3) & ~3u;
		desc = (head[1] + 3) & ~3u;
		if (head[0] > len || head[1] > len || at + 12 + name + desc > len)
			return;
		if (head[2] == 3 && head[0] == 4 && !memcmp(buf + at + 12, "GNU", 4) &&
		    head[1] <= 32) {
			char hex[65];

			for (size_t i = 0; i < head[1]; i++)
				snprintf(hex + 2 * i, 3, "%02x", buf[at + 12 + name + i]);
			facts_set(f, "kernel.build_id", hex);
			return;
		}
		at += 12 + name + desc;
	}
}

static size_t read_config(const char *root, char *buf, size_t cap)
{
	char path[SYSREAD_MAX];
	struct utsname u;
	gzFile z;
	int n;

	snprintf(path, sizeof(path), "%s/proc/config.gz", root);
	z = gzopen(path, "rbe");
	if (!z && !uname(&u)) {
		snprintf(path, sizeof(path), "%s/boot/config-%s", root, u.release);
		z = gzopen(path, "rbe"); /* reads plain files too */
	}
	if (!z)
		return 0;
	n = gzread(z, buf, (unsigned int)cap - 1);
	gzclose(z);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	return (size_t)n;
}

static bool config_has(const char *config, const char *line)
{
	const char *at = strstr(config, line);
	size_t len = strlen(line);

	return at && (at == config || at[-1] == '\n') && at[len] == '\n';
}

/* A hash of the configuration and the options that decide latency. */
static void collect_config(struct facts *f, const char *root)
{
	static const struct {
		const char *option, *value;
	} preempt[] = {
		{"CONFIG_PREEMPT_RT=y", "rt"},	   {"CONFIG_PREEMPT_LAZY=y", "lazy"},
		{"CONFIG_PREEMPT=y", "full"},	   {"CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"},
		{"CONFIG_PREEMPT_NONE=y", "none"},
	};
	char *config CLEANUP(freep) = xcalloc(CONFIG_MAX, 1);
	size_t len = read_config(root, config, CONFIG_MAX);
	char hex[SHA256_HEX];
	const char *hz;

	if (!len)
		return;
	facts_set(f, "kernel.config_sha256", sha256_hex(config, len, hex));
	for (size_t i = 0; i < ARRAY_LEN(preempt); i++)
		if (config_has(config, preempt[i].option)) {
			facts_set(f, "kernel.preempt", preempt[i].value);
			break;
		}
	if (config_has(config, "CONFIG_PREEMPT_DYNAMIC=y"))
		facts_set(f, "kernel.preempt_dynamic", "yes");
	hz = strstr(config, "\nCONFIG_HZ=");
	if (hz)
		facts_set_number(f, "kernel.hz", strtoll(hz + 11, NULL, 10));
}

/* "model name	: AMD EPYC ..." of the first CPU. */
static void cpuinfo_field(struct facts *f, const char *text, const char *name, const char *key)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *colon;
		char value[256];

		line += *line == '\n';
		if (strncmp(line, name, len) || !strchr(" \t:", line[len]))
			continue;
		colon = strchr(line, ':');
		if (!colon)
			return;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(colon, "\n"), colon);
		facts_set(f, key, value);
		return;
	}
}

static void collect_cpuinfo(struct facts *f, const char *root)
{
	static const char *const fields[][2] = {
		{"vendor_id", "cpu.vendor"},
		{"model name", "cpu.model"},
		{"cpu family", "cpu.family"},
		{"model", "cpu.model_number"},
		{"stepping", "cpu.stepping"},
		{"microcode", "cpu.microcode"},
		{"CPU implementer", "cpu.implementer"},
		{"CPU part", "cpu.part"},
		{"CPU revision", "cpu.revision"},
	};
	char text[8192], flags[SYSREAD_MAX];
	char *end;

	if (!sysread_all(text, sizeof(text), root, "/proc/cpuinfo"))
		return;
	end = strstr(text, "\n\n");
	if (end)
		end[1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		cpuinfo_field(f, text, fields[i][0], fields[i][1]);
	end = strstr(text, "\nflags");
	if (end) {
		snprintf(flags, sizeof(flags), " %.*s ", (int)strcspn(end + 1, "\n"), end + 1);
		facts_set(f, "cpu.hypervisor", strstr(flags, " hypervisor ") ? "yes" : "no");
	}
}

/* One value for all CPUs, or "performance:0-3 powersave:4": value, then its CPUs. */
static void collect_per_cpu(struct facts *f, const char *root, const bool *cpus, const char *key,
			    const char *file)
{
	struct strbuf out CLEANUP(strbuf_done) = {0};
	char now[256] = "", buf[256];
	int begin = -1, last = -1, values = 0;

	for (int i = 0; i <= AGENT_CPUS_MAX; i++) {
		bool have = i < AGENT_CPUS_MAX && cpus[i] &&
			    sysread_line(buf, sizeof(buf), root, "/sys/devices/system/cpu/cpu%d/%s",
					 i, file);

		if (have && begin >= 0 && !strcmp(buf, now)) {
			last = i;
			continue;
		}
		if (begin >= 0 && (have || i == AGENT_CPUS_MAX)) {
			strbuf_printf(&out, "%s%s:%d-%d", values++ ? " " : "", now, begin, last);
			begin = -1;
		}
		if (have) {
			begin = last = i;
			snprintf(now, sizeof(now), "%s", buf);
		}
	}
	if (values == 1)
		facts_set(f, key, now);
	else if (values)
		facts_set(f, key, out.data);
}

static void on_idle_state(void *user, const char *name)
{
	struct strbuf *out = ((void **)user)[0];
	const char *root = ((void **)user)[1];
	char state[64], off[16];

	if (!sysread_line(state, sizeof(state), root,
			  "/sys/devices/system/cpu/cpu0/cpuidle/%s/name", name))
		return;
	sysread_line(off, sizeof(off), root, "/sys/devices/system/cpu/cpu0/cpuidle/%s/disable",
		     name);
	strbuf_printf(out, "%s%s%s", out->len ? " " : "", state, *off == '1' ? "(off)" : "");
}

static void collect_cpus(struct facts *f, const char *root)
{
	struct strbuf idle CLEANUP(strbuf_done) = {0};
	void *ctx[2] = {&idle, (void *)root};
	char online[SYSREAD_MAX];
	bool cpus[AGENT_CPUS_MAX] = {false};
	int64_t n = 0;
	struct err e;

	if (sysread_line(online, sizeof(online), root, "/sys/devices/system/cpu/online") &&
	    !parse_cpu_list(online, cpus, AGENT_CPUS_MAX, &e))
		for (size_t i = 0; i < AGENT_CPUS_MAX; i++)
			n += cpus[i];
	if (n)
		facts_set_number(f, "cpu.count", n);
	collect_per_cpu(f, root, cpus, "cpu.governor", "cpufreq/scaling_governor");
	collect_per_cpu(f, root, cpus, "cpu.driver", "cpufreq/scaling_driver");
	collect_per_cpu(f, root, cpus, "cpu.freq_min_khz", "cpufreq/scaling_min_freq");
	collect_per_cpu(f, root, cpus, "cpu.freq_max_khz", "cpufreq/scaling_max_freq");
	collect_per_cpu(f, root, cpus, "cpu.epp", "cpufreq/energy_performance_preference");
	sysread_dir(root, "/sys/devices/system/cpu/cpu0/cpuidle", on_idle_state, ctx);
	if (idle.len)
		facts_set(f, "idle.states", idle.data);
}

static void on_vulnerability(void *user, const char *name)
{
	struct walk *w = user;
	char key[128], value[512];

	if (!sysread_line(value, sizeof(value), w->root,
			  "/sys/devices/system/cpu/vulnerabilities/%s", name))
		return;
	snprintf(key, sizeof(key), "mitigation.%s", name);
	facts_set(w->f, key, value);
}

static void collect_memory_and_os(struct facts *f, const char *root)
{
	char text[SYSREAD_MAX];
	const char *at;

	if (sysread_line(text, sizeof(text), root, "/proc/meminfo") &&
	    !strncmp(text, "MemTotal:", 9))
		facts_set_number(f, "memory.total_kb", strtoll(text + 9, NULL, 10));
	if (!sysread_all(text, sizeof(text), root, "/etc/os-release"))
		return;
	at = strstr(text, "PRETTY_NAME=\"");
	if (at) {
		at += 13;
		facts_printf(f, "os.release", "%.*s", (int)strcspn(at, "\"\n"), at);
	}
}

void sysinfo_collect(struct facts *f, const char *root)
{
	struct walk w = {f, root};

	collect_uname(f);
	collect_lines(f, root);
	collect_build_id(f, root);
	collect_config(f, root);
	collect_cpuinfo(f, root);
	collect_cpus(f, root);
	sysread_dir(root, "/sys/devices/system/cpu/vulnerabilities", on_vulnerability, &w);
	collect_memory_and_os(f, root);
	sysinfo_devices(f, root);
}

void sysinfo_tunable(struct facts *f, const char *name, const char *value)
{
	char key[256];

	snprintf(key, sizeof(key), "tunable.%s", name);
	facts_set(f, key, value);
}

void sysinfo_boot_id(char boot_id[37])
{
	char buf[64];

	sysread_line(buf, sizeof(buf), "", "/proc/sys/kernel/random/boot_id");
	snprintf(boot_id, 37, "%.36s", buf);
}

void sysinfo_host_name(char *buf, size_t cap)
{
	if (gethostname(buf, cap) || !*buf)
		snprintf(buf, cap, "unnamed");
	buf[cap - 1] = '\0';
}

size_t sysinfo_online_cpus(bool *cpus, size_t cap)
{
	char list[SYSREAD_MAX];
	struct err e;
	size_t n = 0;

	memset(cpus, 0, cap * sizeof(*cpus));
	if (!sysread_line(list, sizeof(list), "", "/sys/devices/system/cpu/online") ||
	    parse_cpu_list(list, cpus, cap, &e))
		for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN) && (size_t)i < cap; i++)
			cpus[i] = true;
	for (size_t i = 0; i < cap; i++)
		n += cpus[i];
	return n;
}
