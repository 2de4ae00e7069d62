/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this process may do; tried where trying does no harm. */
#include "agent/check.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/rights.h"
#include "agent/sysread.h"
#include "common/parse.h"

#define CAP_IPC_LOCK_BIT  14
#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT	  38

/* The effective capabilities, as a bit set. */
static uint64_t capabilities(const struct checks *c)
{
	char text[SYSREAD_MAX];
	const char *line;

	if (!sysread_all(text, sizeof(text), c->root, "/proc/self/status"))
		return 0;
	line = strstr(text, "CapEff:");
	return line ? strtoull(line + strlen("CapEff:"), NULL, 16) : 0;
}

static void check_realtime(struct checks *c)
{
	const struct sched_param want = {.sched_priority = c->conf->priority};
	struct sched_param old;
	int old_policy = sched_getscheduler(0);

	if (sched_getparam(0, &old) < 0 || old_policy < 0 ||
	    sched_setscheduler(0, c->conf->policy | SCHED_RESET_ON_FORK, &want) < 0) {
		check_add(
			c, CHECK_FAIL, "real-time",
			"grant CAP_SYS_NICE (AmbientCapabilities= in the unit, or setcap "
			"cap_sys_nice+ep) or LimitRTPRIO=99",
			"measuring threads cannot run as SCHED_%s %d (%s): they would measure the "
			"scheduler's fairness",
			policy_name(c->conf->policy), c->conf->priority, strerror(errno));
		return;
	}
	(void)sched_setscheduler(0, old_policy, &old);
	check_add(c, CHECK_OK, "real-time", NULL, "measuring threads can run as %s %d",
		  policy_name(c->conf->policy), c->conf->priority);
}

static void check_memory_lock(struct checks *c, uint64_t caps)
{
	struct rlimit limit;

	if (caps >> CAP_IPC_LOCK_BIT & 1 ||
	    (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY))
		check_add(c, CHECK_OK, "memory-lock", NULL, "memory can be locked");
	else
		check_add(c, CHECK_WARN, "memory-lock",
			  "grant CAP_IPC_LOCK or LimitMEMLOCK=infinity",
			  "memory cannot be locked: a page fault may show as latency");
}

static void check_perf(struct checks *c, uint64_t caps)
{
	char line[SYSREAD_MAX];
	int64_t level = 2;

	if (!sysread_line(line, sizeof(line), c->root, "/proc/sys/kernel/perf_event_paranoid")) {
		check_add(c, CHECK_WARN, "perf", "use a kernel with CONFIG_PERF_EVENTS",
			  "this kernel has no performance events");
		return;
	}
	if (parse_i64(line, &level, NULL))
		level = 2;
	if ((caps >> CAP_PERFMON_BIT | caps >> CAP_SYS_ADMIN_BIT) & 1)
		check_add(
			c, CHECK_OK, "perf", NULL,
			"events of the whole box can be counted (perf_event_paranoid=%lld does not "
			"bind us)",
			(long long)level);
	else if (level <= 0)
		check_add(c, CHECK_OK, "perf", NULL, "perf_event_paranoid=%lld", (long long)level);
	else
		check_add(c, CHECK_WARN, "perf",
			  "grant CAP_PERFMON, or sysctl -w kernel.perf_event_paranoid=0",
			  "perf_event_paranoid=%lld forbids counting the whole box: counters are "
			  "absent",
			  (long long)level);
}

void check_rights(struct checks *c)
{
	uint64_t caps = capabilities(c);

	check_realtime(c);
	check_memory_lock(c, caps);
	check_perf(c, caps);
}
