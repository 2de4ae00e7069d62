/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the kernel that show in latency. */
#include "agent/check.h"

#include <stdio.h>
#include <sys/timex.h>
#include <unistd.h>

#include "agent/sysread.h"
#include "common/parse.h"

static bool read_number(const struct checks *c, const char *path, int64_t *ret)
{
	char line[SYSREAD_MAX];

	return sysread_line(line, sizeof(line), c->root, "%s", path) && !parse_i64(line, ret, NULL);
}

static void check_rt_throttling(struct checks *c)
{
	static const char path[] = "/proc/sys/kernel/sched_rt_runtime_us";
	int64_t runtime, period = 1000000;

	(void)read_number(c, "/proc/sys/kernel/sched_rt_period_us", &period);
	if (!read_number(c, path, &runtime))
		check_add(c, CHECK_OK, "rt-throttling", NULL, "this kernel has none");
	else if (runtime < 0 || runtime >= period)
		check_add(c, CHECK_OK, "rt-throttling", NULL, "is off");
	else if (runtime == 0)
		check_add(c, CHECK_FAIL, "rt-throttling",
			  "sysctl -w kernel.sched_rt_runtime_us=950000",
			  "no real-time task may run at all: nothing can be measured");
	else
		check_add(c, CHECK_WARN, "rt-throttling",
			  "sysctl -w kernel.sched_rt_runtime_us=-1 while you measure a real-time "
			  "workload",
			  "real-time tasks get at most %lld %% of a CPU; one that wants more is "
			  "held back, which shows as latency",
			  (long long)(runtime * 100 / period));
}

static void check_watchdog(struct checks *c)
{
	int64_t on;

	if (!read_number(c, "/proc/sys/kernel/nmi_watchdog", &on) || !on)
		check_add(c, CHECK_OK, "nmi-watchdog", NULL, "is off");
	else
		check_add(c, CHECK_WARN, "nmi-watchdog", "sysctl -w kernel.nmi_watchdog=0",
			  "is on: it takes a hardware counter and interrupts every CPU");
}

static void count_node(void *user, const char *name)
{
	size_t *nodes = user;

	*nodes += !strncmp(name, "node", 4) && name[4] >= '0' && name[4] <= '9';
}

static void check_numa(struct checks *c)
{
	size_t nodes = 0;
	int64_t on;

	sysread_dir(c->root, "/sys/devices/system/node", count_node, &nodes);
	if (nodes < 2)
		check_add(c, CHECK_OK, "numa-balancing", NULL, "one node: it does not apply");
	else if (!read_number(c, "/proc/sys/kernel/numa_balancing", &on) || !on)
		check_add(c, CHECK_OK, "numa-balancing", NULL, "is off");
	else
		check_add(c, CHECK_WARN, "numa-balancing", "sysctl -w kernel.numa_balancing=0",
			  "is on: it unmaps pages to watch their use, which faults and migrates");
}

static void check_thp(struct checks *c)
{
	static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
	char line[SYSREAD_MAX];

	if (sysread_line(line, sizeof(line), c->root, "%s", path) && strstr(line, "[always]"))
		check_add(c, CHECK_WARN, "huge-pages",
			  "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
			  "transparent huge pages are made for every process: compaction and long "
			  "page faults show as latency");
	else
		check_add(c, CHECK_OK, "huge-pages", NULL,
			  "transparent huge pages only on request, or never");
}

static void check_clocksource(struct checks *c)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	static const char fix[] =
		"see `dmesg | grep -i -e tsc -e clocksource` for why tsc was given "
		"up; try tsc=reliable";
	static const char *const good[] = {"tsc", "arch_sys_counter", "kvm-clock", "timebase",
					   "tod"};
	char name[SYSREAD_MAX];

	if (!sysread_line(name, sizeof(name), c->root, "%s", path)) {
		check_add(c, CHECK_WARN, "clocksource", "mount sysfs", "cannot be read");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!strcmp(name, good[i])) {
			check_add(c, CHECK_OK, "clocksource", NULL, "%s", name);
			return;
		}
	if (!strcmp(name, "jiffies"))
		check_add(c, CHECK_FAIL, "clocksource", fix, "jiffies cannot tell microseconds");
	else
		check_add(c, CHECK_WARN, "clocksource", fix,
			  "%s is slow to read: every sample costs more and is less exact", name);
}

static void check_time_sync(struct checks *c)
{
	struct timex t = {0};
	int state = adjtimex(&t);

	if (state < 0 || state == TIME_ERROR || (t.status & STA_UNSYNC))
		check_add(
			c, CHECK_WARN, "time-sync",
			"start chrony, systemd-timesyncd or ntpd (in a virtual machine whose host "
			"keeps its clock this may be fine)",
			"the clock is not synchronised: runs of several boxes cannot be put on one "
			"time axis");
	else
		check_add(c, CHECK_OK, "time-sync", NULL, "synchronised, at most %ld us off",
			  t.maxerror);
}

static bool can_trace(const struct checks *c)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		CLEANUP(freep) char *path = xasprintf("%s%s/events/sched", c->root, places[i]);

		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void check_tracefs(struct checks *c)
{
	if (can_trace(c))
		check_add(c, CHECK_OK, "tracefs", NULL, "tracepoints can be read");
	else
		check_add(
			c, CHECK_WARN, "tracefs",
			"mount -t tracefs tracefs /sys/kernel/tracing; for the service name the "
			"tracepoints by event = in agent.conf: its start writes their numbers down",
			"tracefs cannot be read by this user: events such as sched:sched_switch "
			"are counted only when the service's start has looked them up");
}

void check_kernel(struct checks *c)
{
	check_clocksource(c);
	check_time_sync(c);
	check_rt_throttling(c);
	check_watchdog(c);
	check_numa(c);
	check_thp(c);
	check_tracefs(c);
}
