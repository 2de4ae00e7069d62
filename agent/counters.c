/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two perf groups a CPU, so that an interval costs two reads a CPU: the task clock, which is a PMU
 * of its own, and the events of the software PMU. In one group Linux 6.18 counts only those of the
 * leader's PMU and still reports that all were running (seen here: 0 context switches a second).
 *
 * Values are sums over the CPUs with the summed times enabled and running. A CPU whose group
 * stood still (hotplug) makes the interval a gap: it is left out and counted, then the group is
 * opened again. No context switch at all is a gap, too: our own threads switch. */
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
/* In an interval of this length our own threads have switched. */
#define SWITCHES_WITHIN_NS (500 * NS_PER_MS)

static const struct event {
	const char *metric, *unit;
	uint64_t config;
	size_t group;
} events[] = {
	{"task_clock", "ns", PERF_COUNT_SW_TASK_CLOCK, 0},
	{"context_switches", "1", PERF_COUNT_SW_CONTEXT_SWITCHES, 1},
	{"migrations", "1", PERF_COUNT_SW_CPU_MIGRATIONS, 1},
	{"page_faults", "1", PERF_COUNT_SW_PAGE_FAULTS, 1},
	{"major_page_faults", "1", PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
};

#define EVENTS	 ARRAY_LEN(events)
#define GROUPS	 2
#define SWITCHES 1 /* index of context_switches */

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

struct group {
	int leader;	/* -1: nothing of it is open */
	int fd[EVENTS]; /* -1: not open */
	struct group_value last;
	int64_t last_ns;
};

struct cpu {
	int number;
	struct group group[GROUPS];
};

struct counters {
	struct probe p;
	struct cpu *cpu;
	size_t cpus;
	int error[EVENTS];   /* errno of the first refusal, 0: open */
	size_t slot[EVENTS]; /* position in its group's values */
	size_t open;	     /* events in all groups */
	uint64_t series[EVENTS], proc_series[PROCS];
	uint64_t proc_last[PROCS];
	bool proc_known[PROCS];
	uint64_t gaps;
	struct pace pace;
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

static bool read_group(const struct group *g, struct group_value *ret)
{
	*ret = (struct group_value){0};
	return g->leader >= 0 && read(g->leader, ret, sizeof(*ret)) > 0;
}

static void close_group(struct group *g)
{
	for (size_t e = 0; e < EVENTS; e++) {
		if (g->fd[e] >= 0)
			close(g->fd[e]);
		g->fd[e] = -1;
	}
	g->leader = -1;
}

/* Opens what no CPU has refused so far; a refusal holds for the whole box. */
static void open_group(struct counters *c, struct cpu *cpu, size_t number)
{
	struct group *g = &cpu->group[number];

	g->leader = -1;
	for (size_t e = 0; e < EVENTS; e++) {
		g->fd[e] = -1;
		if (c->error[e] || events[e].group != number)
			continue;
		g->fd[e] = open_event(&events[e], cpu->number, g->leader);
		if (g->fd[e] < 0)
			c->error[e] = errno;
		else if (g->leader < 0)
			g->leader = g->fd[e];
	}
	g->last_ns = clock_monotonic_ns();
	(void)read_group(g, &g->last);
}

static void number_slots(struct counters *c)
{
	size_t n[GROUPS] = {0};

	c->open = 0;
	for (size_t e = 0; e < EVENTS; e++)
		if (!c->error[e]) {
			c->slot[e] = n[events[e].group]++;
			c->open++;
		}
}

/* A second pass when a later CPU refused what an earlier one had opened. */
static void open_all(struct counters *c)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < c->cpus * GROUPS; i++) {
			if (pass)
				close_group(&c->cpu[i / GROUPS].group[i % GROUPS]);
			open_group(c, &c->cpu[i / GROUPS], i % GROUPS);
		}
		number_slots(c);
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

/* Adds the group's deltas to the sums; false when it stood still. */
static bool add_group(struct counters *c, struct cpu *cpu, size_t number, struct group_value *sum)
{
	struct group *g = &cpu->group[number];
	int64_t now = clock_monotonic_ns();
	struct group_value v;

	if (!read_group(g, &v) ||
	    (double)(v.enabled - g->last.enabled) < ENABLED_MIN * (double)(now - g->last_ns)) {
		close_group(g);
		open_group(c, cpu, number);
		return false;
	}
	sum->enabled += v.enabled - g->last.enabled;
	sum->running += v.running - g->last.running;
	for (size_t i = 0; i < v.nr && i < EVENTS; i++)
		sum->value[i] += v.value[i] - g->last.value[i];
	g->last = v;
	g->last_ns = now;
	return true;
}

static bool group_is_open(const struct counters *c, size_t number)
{
	for (size_t e = 0; e < EVENTS; e++)
		if (!c->error[e] && events[e].group == number)
			return true;
	return false;
}

/* Sums of a group over all CPUs; false when one of them has a hole. */
static bool add_cpus(struct counters *c, size_t number, struct group_value *sum)
{
	bool whole = true;

	*sum = (struct group_value){0};
	for (size_t i = 0; i < c->cpus; i++)
		whole &= add_group(c, &c->cpu[i], number, sum);
	return whole;
}

/* Our own threads switch on the measured CPUs: none at all is a counter that does not count. */
static bool implausible(const struct counters *c, size_t number, const struct group_value *sum,
			const struct interval *in)
{
	return number == events[SWITCHES].group && !c->error[SWITCHES] &&
	       in->dt_ns >= SWITCHES_WITHIN_NS && !sum->value[c->slot[SWITCHES]];
}

static void put_group(const struct counters *c, size_t number, const struct group_value *sum,
		      const struct interval *in, struct record_writer *w)
{
	for (size_t e = 0; e < EVENTS; e++) {
		struct counter_sample s = {.enabled_ns = sum->enabled, .running_ns = sum->running};

		if (c->error[e] || events[e].group != number)
			continue;
		s.delta = (int64_t)sum->value[c->slot[e]];
		record_item_counter(w, c->series[e], in->t0_ns, in->dt_ns, &s, 1);
	}
}

static void on_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	struct group_value sum;
	struct interval all;

	if (!pace_due(&c->pace, in, &all))
		return;
	collect_procs(c, &all, w);
	for (size_t g = 0; g < GROUPS; g++) {
		if (!group_is_open(c, g))
			continue;
		if (add_cpus(c, g, &sum) && !implausible(c, g, &sum, &all))
			put_group(c, g, &sum, &all, w);
		else
			c->gaps += in->measured;
	}
}

static void on_begin(struct probe *p)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	const struct interval none = {0};
	struct group_value sum;

	pace_begin(&c->pace, c->pace.divisor);
	collect_procs(c, &none, NULL);
	for (size_t g = 0; g < GROUPS; g++)
		if (group_is_open(c, g))
			(void)add_cpus(c, g, &sum);
	c->gaps = 0;
}

static void on_slow(struct probe *p, unsigned int divisor)
{
	CONTAINER_OF(p, struct counters, p)->pace.divisor = divisor;
}

static void on_summary(struct probe *p, struct run_summary *s)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	if (c->gaps)
		marks_add(&s->marks, "counter-gap",
			  "counters of %llu intervals are left out: they stood still (did a CPU go "
			  "offline?)",
			  (unsigned long long)c->gaps);
}

static void on_free(struct probe *p)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	for (size_t i = 0; i < c->cpus * GROUPS; i++)
		close_group(&c->cpu[i / GROUPS].group[i % GROUPS]);
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
			c->cpu[c->cpus++].number = (int)i;
	open_all(c);
	c->p = (struct probe){
		.name = "counters",
		.budget = PROBE_COUNTING_BUDGET,
		.expense = "counting",
		.slow = on_slow,
		.declare = on_declare,
		.begin = on_begin,
		.collect = on_collect,
		.summary = on_summary,
		.free = on_free,
	};
	return &c->p;
}
