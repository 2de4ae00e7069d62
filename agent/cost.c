/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/cost.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "common/clock.h"

/* "RssAnon:	    1234 kB" */
static int64_t kb_field(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) || line[len] != ':')
		return -1;
	return strtoll(line + len + 1, NULL, 10) * 1024;
}

static void read_memory(struct cost *c)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		int64_t v;

		if ((v = kb_field(line, "VmRSS")) >= 0)
			c->rss_bytes = v;
		else if ((v = kb_field(line, "RssAnon")) >= 0)
			c->rss_anon_bytes = v;
	}
	fclose(f);
}

void cost_read(struct cost *ret)
{
	struct timespec ts;
	struct rusage ru;

	*ret = (struct cost){0};
	if (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		ret->cpu_ns = ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
	if (!getrusage(RUSAGE_SELF, &ru))
		ret->ctx_switches = ru.ru_nvcsw + ru.ru_nivcsw;
	ret->elapsed_ns = clock_boottime_ns();
	read_memory(ret);
}

void cost_since(const struct cost *begin, struct cost *now)
{
	now->cpu_ns -= begin->cpu_ns;
	now->measure_cpu_ns -= begin->measure_cpu_ns;
	now->ctx_switches -= begin->ctx_switches;
	now->elapsed_ns -= begin->elapsed_ns;
}
