/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One perf group per CPU holds all software events, so an interval costs one read a CPU. Values
 * are sums over the CPUs with the summed times enabled and running. A CPU whose group stood
 * still (hotplug) makes the interval a gap: it is left out and counted, then the group is opened
 * again. */
#include "agent/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/conf.h"
#include "agent/sysinfo.h"
#include "common/check.h"
#include "common/clock.h"

/* A cpu-wide event that ran less than this part of the interval has a hole (perf.md 2.3). */
#define ENABLED_MIN 0.95

static const struct event {
	const char *metric, *unit;
	uint64_t config;
} events[] = {
	{"task_clock", "ns", PERF_COUNT_SW_TASK_CLOCK},
	{"context_switches", "1", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"migrations", "1", PERF_COUNT_SW_CPU_MIGRATIONS},
	{"page_faults", "1", PERF_COUNT_SW_PAGE_FAULTS},
	{"major_page_faults", "1", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

#define EVENTS ARRAY_LEN(events)

/* Totals that /proc keeps. Under names of their own: they are not the perf events. */
static const struct proc_counter {
	const char *metric, *path, *key;
	bool only_without_perf;
} procs[] = {
	{"proc_context_switches", "/proc/stat", "ctxt", true},
	{"proc_page_faults", "/proc/vmstat", "pgfault", true},
	{"proc_major_page_faults", "/proc/vmstat", "pgmajfault", true},
	{"proc_interrupts", "/proc/stat", "intr", false},
	{"proc_forks", "/proc/stat", "processes", false},
};

#define PROCS ARRAY_LEN(procs)

struct group_value {
	uint64_t nr, enabled, running;
	uint64_t value[EVENTS];
};

struct cpu_group {
	int cpu, leader;
	int fd[EVENTS]; /* -1: not open */
	struct group_value last;
	int64_t last_ns;
};

struct counters {
	struct probe p;
	struct cpu_group *cpu;
	size_t cpus;
	int error[EVENTS];   /* errno of the first refusal, 0: open */
	size_t slot[EVENTS]; /* position in a group's values */
	size_t open;
	uint64_t series[EVENTS], proc_series[PROCS];
	uint64_t proc_last[PROCS];
	bool proc_known[PROCS];
	uint64_t gaps;
};

static int open_event(const struct event *e, int cpu, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = e->config,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static bool read_group(const struct cpu_group *g, struct group_value *ret)
{
	*ret = (struct group_value){0};
	return g->leader >= 0 && read(g->leader, ret, sizeof(*ret)) > 0;
}

static void close_group(struct cpu_group *g)
{
	for (size_t e = 0; e < EVENTS; e++) {
		if (g->fd[e] >= 0)
			close(g->fd[e]);
		g->fd[e] = -1;
	}
	g->leader = -1;
}

/* Opens what no CPU has refused so far; a refusal holds for the whole box. */
static void open_group(struct counters *c, struct cpu_group *g)
{
	g->leader = -1;
	for (size_t e = 0; e < EVENTS; e++) {
		g->fd[e] = -1;
		if (c->error[e])
			continue;
		g->fd[e] = open_event(&events[e], g->cpu, g->leader);
		if (g->fd[e] < 0)
			c->error[e] = errno;
		else if (g->leader < 0)
			g->leader = g->fd[e];
	}
	g->last_ns = clock_monotonic_ns();
	(void)read_group(g, &g->last);
}

/* A second pass when a later CPU refused what an earlier one had opened. */
static void open_all(struct counters *c)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < c->cpus; i++) {
			if (pass)
				close_group(&c->cpu[i]);
			open_group(c, &c->cpu[i]);
		}
		c->open = 0;
		for (size_t e = 0; e < EVENTS; e++)
			if (!c->error[e])
				c->slot[e] = c->open++;
		if (c->open == EVENTS || !c->open)
			return;
	}
}

static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl); /* a refusal shows as EMFILE later */
	}
}

static void why_absent(int error, char *buf, size_t cap)
{
	if (error == EACCES || error == EPERM)
		snprintf(buf, cap,
			 "perf_event_open: %s; grant CAP_PERFMON or set "
			 "kernel.perf_event_paranoid to 0 or less",
			 strerror(error));
	else if (error == ENOENT || error == EOPNOTSUPP)
		snprintf(buf, cap, "this kernel does not have the event (%s)", strerror(error));
	else if (error == EMFILE)
		snprintf(buf, cap, "out of file descriptors; raise LimitNOFILE=");
	else
		snprintf(buf, cap, "perf_event_open: %s", strerror(error));
}

static void declare_event(struct counters *c, size_t e, struct series_list *l)
{
	char why[200] = "";
	struct series_decl d = {
		.metric = events[e].metric,
		.kind = "counter",
		.unit = events[e].unit,
		.method = "perf-sw-cpuwide/1",
		.state = "exact",
	};

	if (c->error[e]) {
		why_absent(c->error[e], why, sizeof(why));
		d.kind = "absent";
		d.state = NULL;
		d.reason = why;
	}
	c->series[e] = series_declare(l, &d);
}

static void on_declare(struct probe *p, struct series_list *l)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	for (size_t e = 0; e < EVENTS; e++)
		declare_event(c, e, l);
	for (size_t i = 0; i < PROCS; i++) {
		const struct series_decl d = {
			.metric = procs[i].metric,
			.kind = "counter",
			.unit = "1",
			.method = "proc/1",
			.state = "exact",
		};

		c->proc_series[i] = 0;
		if (!procs[i].only_without_perf || !c->open)
			c->proc_series[i] = series_declare(l, &d);
	}
}

/* "key 123 ..." at the start of a line of a small /proc file. */
static bool read_total(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ') {
			*ret = strtoull(line + len + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

static bool read_text(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return false;
	n = fread(buf, 1, cap - 1, f);
	fclose(f);
	buf[n] = '\0';
	return true;
}

static void collect_procs(struct counters *c, const struct interval *in, struct record_writer *w)
{
	static char text[256 * 1024]; /* loop thread only */
	const char *loaded = "";

	for (size_t i = 0; i < PROCS; i++) {
		uint64_t v;

		if (!c->proc_series[i])
			continue;
		if (strcmp(loaded, procs[i].path)) {
			if (!read_text(procs[i].path, text, sizeof(text)))
				continue;
			loaded = procs[i].path;
		}
		if (!read_total(text, procs[i].key, &v))
			continue;
		if (c->proc_known[i] && w) {
			const struct counter_sample s = {(int64_t)(v - c->proc_last[i]),
							 (uint64_t)in->dt_ns, (uint64_t)in->dt_ns};

			record_item_counter(w, c->proc_series[i], in->t0_ns, in->dt_ns, &s, 1);
		}
		c->proc_last[i] = v;
		c->proc_known[i] = true;
	}
}

/* Adds the CPU's deltas to the sums; false when the group stood still. */
static bool add_cpu(struct counters *c, struct cpu_group *g, struct group_value *sum)
{
	struct group_value v;
	int64_t now = clock_monotonic_ns();
	double wall = (double)(now - g->last_ns);

	if (!read_group(g, &v) || (double)(v.enabled - g->last.enabled) < ENABLED_MIN * wall) {
		close_group(g);
		open_group(c, g);
		return false;
	}
	sum->enabled += v.enabled - g->last.enabled;
	sum->running += v.running - g->last.running;
	for (size_t i = 0; i < c->open; i++)
		sum->value[i] += v.value[i] - g->last.value[i];
	g->last = v;
	g->last_ns = now;
	return true;
}

static void on_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	struct group_value sum = {0};
	bool whole = true;

	collect_procs(c, in, w);
	if (!c->open)
		return;
	for (size_t i = 0; i < c->cpus; i++)
		whole &= add_cpu(c, &c->cpu[i], &sum);
	if (!whole) {
		c->gaps += in->measured;
		return;
	}
	for (size_t e = 0; e < EVENTS; e++) {
		struct counter_sample s = {.enabled_ns = sum.enabled, .running_ns = sum.running};

		if (c->error[e])
			continue;
		s.delta = (int64_t)sum.value[c->slot[e]];
		record_item_counter(w, c->series[e], in->t0_ns, in->dt_ns, &s, 1);
	}
}

static void on_begin(struct probe *p)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	const struct interval none = {0};
	struct group_value sum = {0};

	collect_procs(c, &none, NULL);
	if (c->open)
		for (size_t i = 0; i < c->cpus; i++)
			(void)add_cpu(c, &c->cpu[i], &sum);
	c->gaps = 0;
}

static void on_summary(struct probe *p, struct run_summary *s)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	if (c->gaps)
		marks_add(&s->marks, "counter-gap",
			  "%llu intervals have no counter values: a CPU went away or stood still",
			  (unsigned long long)c->gaps);
}

static void on_free(struct probe *p)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	for (size_t i = 0; i < c->cpus; i++)
		close_group(&c->cpu[i]);
	free(c->cpu);
	free(c);
}

struct probe *counters_probe(void)
{
	struct counters *c = xcalloc(1, sizeof(*c));
	static bool online[AGENT_CPUS_MAX]; /* loop thread only */

	raise_fd_limit();
	c->cpu = xcalloc(sysinfo_online_cpus(online, AGENT_CPUS_MAX), sizeof(*c->cpu));
	for (size_t i = 0; i < AGENT_CPUS_MAX; i++)
		if (online[i])
			c->cpu[c->cpus++].cpu = (int)i;
	open_all(c);
	c->p = (struct probe){
		.name = "counters",
		.declare = on_declare,
		.begin = on_begin,
		.collect = on_collect,
		.summary = on_summary,
		.free = on_free,
	};
	return &c->p;
}
