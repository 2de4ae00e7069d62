/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif

void marks_add(struct marks *m, const char *code, const char *fmt, ...)
{
	struct mark *at;
	va_list ap;

	for (size_t i = 0; i < m->len; i++)
		if (!strcmp(m->v[i].code, code))
			return;
	GROW(m->v, m->len, m->cap);
	at = &m->v[m->len++];
	snprintf(at->code, sizeof(at->code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(at->text, sizeof(at->text), fmt, ap);
	va_end(ap);
}

void marks_done(struct marks *m)
{
	free(m->v);
	*m = (struct marks){0};
}

void rights_lock_memory(struct marks *m)
{
	if (!mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return;
	marks_add(m, "no-memlock",
		  "memory is not locked (%s): a page fault may show as latency. Grant "
		  "CAP_IPC_LOCK (AmbientCapabilities= in the unit, or setcap cap_ipc_lock+ep) or "
		  "LimitMEMLOCK=infinity",
		  strerror(errno));
}

int rights_hold_dma_latency(struct marks *m)
{
	static const char path[] = "/dev/cpu_dma_latency";
	int32_t zero = 0;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && write(fd, &zero, sizeof(zero)) == (ssize_t)sizeof(zero))
		return fd;
	marks_add(m, "no-dma-latency",
		  "%s cannot be held at 0 (%s): deep idle states may show as latency. Let the "
		  "agent's user write to it (a udev rule: KERNEL==\"cpu_dma_latency\", "
		  "GROUP=\"rigstat\", MODE=\"0660\")",
		  path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void rights_housekeeping(int cpu, const bool *measured, size_t cap, struct marks *m)
{
	cpu_set_t allowed, want;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	CPU_ZERO(&want);
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed) && (cpu < 0 ? i >= cap || !measured[i] : (int)i == cpu))
			CPU_SET(i, &want);
	if (CPU_COUNT(&want) == 0) {
		if (cpu >= 0)
			marks_add(
				m, "no-housekeeping-cpu",
				"CPU %d cannot be used for housekeeping: it is offline or outside "
				"the agent's cpuset",
				cpu);
		else
			marks_add(
				m, "shares-measured-cpus",
				"every CPU is measured, so the agent's own work runs on them too; "
				"leave one out with --cpus, or name one with --housekeeping");
		return;
	}
	if (sched_setaffinity(0, sizeof(want), &want))
		marks_add(m, "no-housekeeping-cpu",
			  "the agent's own work cannot be moved off the "
			  "measured CPUs (%s)",
			  strerror(errno));
}

static const struct {
	const char *name;
	int policy;
} policies[] = {
	{"other", SCHED_OTHER}, {"fifo", SCHED_FIFO}, {"rr", SCHED_RR},
	{"batch", SCHED_BATCH}, {"idle", SCHED_IDLE}, {"deadline", 6 /* SCHED_DEADLINE */},
};

const char *policy_name(int policy)
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		if (policies[i].policy == policy)
			return policies[i].name;
	return "unknown";
}

bool policy_parse(const char *s, int *ret_policy)
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		if (!strcmp(policies[i].name, s) && policies[i].policy <= SCHED_RR) {
			*ret_policy = policies[i].policy;
			return true;
		}
	return false;
}
