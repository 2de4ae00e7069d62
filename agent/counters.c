/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two perf groups a place, so that an interval costs two reads a CPU: the task clock, which is a
 * PMU of its own, and the events of the software PMU. In one group Linux 6.18 counts only those of
 * the leader's PMU and still reports that all were running (seen here: 0 context switches a
 * second).
 *
 * A CPU that stood still (hotplug) makes the interval a gap: it is left out and counted
 * (pmu_group.c). No context switch of the whole box at all is a gap, too: our own threads switch.
 */
#include "agent/counters.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "agent/conf.h"
#include "agent/sysinfo.h"
#include "common/check.h"
#include "common/clock.h"

/* In an interval of this length our own threads have switched. */
#define SWITCHES_WITHIN_NS (500 * NS_PER_MS)

static const struct event {
	const char *metric, *unit, *name;
	size_t group;
} events[] = {
	{"task_clock", "ns", "task-clock", 0},
	{"context_switches", "1", "context-switches", 1},
	{"migrations", "1", "cpu-migrations", 1},
	{"page_faults", "1", "page-faults", 1},
	{"major_page_faults", "1", "major-faults", 1},
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

struct counters {
	struct probe p;
	struct pmu_scope scope;
	bool online[AGENT_CPUS_MAX];
	struct pmu_group *group[GROUPS]; /* NULL: nothing is open now */
	int error[EVENTS];		 /* errno of the refusal, 0: it can be counted */
	uint64_t series[EVENTS], proc_series[PROCS];
	uint64_t proc_last[PROCS];
	bool proc_known[PROCS];
	uint64_t intervals, gaps[GROUPS]; /* of the measured window */
	struct pace pace;
};

/* ---- opening ---- */

/* Place of an event in its group: they stand in the table in that order. */
static size_t slot_of(size_t e)
{
	size_t slot = 0;

	for (size_t i = 0; i < e; i++)
		slot += events[i].group == events[e].group;
	return slot;
}

static void close_groups(struct counters *c)
{
	for (size_t g = 0; g < GROUPS; g++)
		pmu_group_close(TAKE(c->group[g]));
}

static void open_group(struct counters *c, size_t number)
{
	const struct pmu_target target = pmu_scope_target(&c->scope, c->online, AGENT_CPUS_MAX);
	struct pmu_event *v = xcalloc(EVENTS, sizeof(*v));
	const struct pmu_event *list[PMU_GROUP_MAX];
	size_t n = 0;

	for (size_t e = 0; e < EVENTS; e++) {
		if (events[e].group != number)
			continue;
		CHECK(!pmu_event_parse(events[e].name, "", &v[n], NULL)); /* generic ones */
		list[n] = &v[n];
		n++;
	}
	c->group[number] = pmu_group_open(list, n, &target);
	for (size_t e = 0; e < EVENTS; e++)
		if (events[e].group == number)
			c->error[e] = pmu_group_error(c->group[number], slot_of(e));
	free(v);
}

static void open_groups(struct counters *c)
{
	close_groups(c);
	for (size_t g = 0; g < GROUPS; g++)
		open_group(c, g);
}

static bool any_open(const struct counters *c)
{
	for (size_t e = 0; e < EVENTS; e++)
		if (!c->error[e])
			return true;
	return false;
}

static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl); /* a refusal shows as EMFILE later */
	}
}

/* ---- declaring ---- */

static void declare_event(struct counters *c, size_t e, struct series_list *l)
{
	char why[400], method[64];
	struct series_decl d = {
		.metric = events[e].metric,
		.kind = "counter",
		.unit = events[e].unit,
		.method = pmu_scope_method(&c->scope, "perf-sw-cpuwide/1", method, sizeof(method)),
		.state = "exact",
	};

	pmu_scope_label(&c->scope, &d);
	if (*c->scope.why || c->error[e]) {
		d.kind = "absent";
		d.state = NULL;
		d.reason = *c->scope.why ? c->scope.why
					 : pmu_error_text(c->error[e], c->scope.conf.mode, why,
							  sizeof(why));
	}
	c->series[e] = series_declare(l, &d);
}

/* Groups of a run are opened in it; for a workload this is a trial, which tells what is refused. */
static void open_for_run(struct counters *c)
{
	pmu_scope_begin(&c->scope);
	if (!pmu_scope_of_run(&c->scope))
		return;
	close_groups(c);
	if (*c->scope.why)
		return;
	open_groups(c);
	if (pmu_scope_waits(&c->scope))
		close_groups(c);
}

static void on_declare(struct probe *p, struct series_list *l)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	open_for_run(c);
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
		if (!procs[i].only_without_perf || !any_open(c))
			c->proc_series[i] = series_declare(l, &d);
	}
}

static void on_workload(struct probe *p, int pid)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	if (c->scope.conf.mode != PMU_TASK || *c->scope.why)
		return;
	c->scope.pid = pid;
	open_groups(c);
}

/* ---- collecting ---- */

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

/* Our own threads switch on the measured CPUs: none at all is a counter that does not count. */
static bool implausible(const struct counters *c, size_t number, const struct pmu_sum *sum,
			const struct interval *in)
{
	return number == events[SWITCHES].group && !c->error[SWITCHES] &&
	       c->scope.conf.mode == PMU_BOX && in->dt_ns >= SWITCHES_WITHIN_NS &&
	       !sum[slot_of(SWITCHES)].value;
}

/* Whole or not at all: a sum that misses a CPU is no number. */
static bool is_whole(const struct counters *c, size_t number, const struct pmu_sum *sum)
{
	for (size_t e = 0; e < EVENTS; e++)
		if (events[e].group == number && !c->error[e] &&
		    !pmu_state_has_value(sum[slot_of(e)].state))
			return false;
	return true;
}

static void put_group(const struct counters *c, size_t number, const struct pmu_sum *sum,
		      const struct interval *in, struct record_writer *w)
{
	for (size_t e = 0; e < EVENTS; e++) {
		struct counter_sample s;

		if (c->error[e] || events[e].group != number)
			continue;
		s = pmu_scope_sample(&sum[slot_of(e)], in->dt_ns);
		record_item_counter(w, c->series[e], in->t0_ns, in->dt_ns, &s, 1);
	}
}

static void on_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct interval all;

	if (!pace_due(&c->pace, in, &all))
		return;
	collect_procs(c, &all, w);
	c->intervals += in->measured;
	for (size_t g = 0; g < GROUPS; g++) {
		if (!c->group[g])
			continue;
		pmu_group_read(c->group[g], sum);
		if (is_whole(c, g, sum) && !implausible(c, g, sum, &all))
			put_group(c, g, sum, &all, w);
		else
			c->gaps[g] += in->measured;
	}
}

static void on_begin(struct probe *p)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	const struct interval none = {0};
	struct pmu_sum sum[PMU_GROUP_MAX];

	pace_begin(&c->pace, c->pace.divisor);
	collect_procs(c, &none, NULL);
	for (size_t g = 0; g < GROUPS; g++)
		if (c->group[g])
			pmu_group_read(c->group[g], sum);
	c->intervals = 0;
	memset(c->gaps, 0, sizeof(c->gaps));
}

static void on_slow(struct probe *p, unsigned int divisor)
{
	CONTAINER_OF(p, struct counters, p)->pace.divisor = divisor;
}

static void on_summary(struct probe *p, struct run_summary *s)
{
	static const struct pmu_sum exact = {.state = PMU_EXACT};
	struct counters *c = CONTAINER_OF(p, struct counters, p);
	uint64_t gaps = c->gaps[0] + c->gaps[1];

	if (gaps)
		marks_add(&s->marks, "counter-gap",
			  "counters of %llu intervals are left out: they stood still (did a CPU go "
			  "offline?)",
			  (unsigned long long)gaps);
	for (size_t e = 0; e < EVENTS; e++)
		if (!c->error[e] && !*c->scope.why)
			pmu_scope_state(s, c->series[e], &exact, PMU_GAP, c->gaps[events[e].group],
					c->intervals);
}

static void on_free(struct probe *p)
{
	struct counters *c = CONTAINER_OF(p, struct counters, p);

	close_groups(c);
	pmu_scope_done(&c->scope);
	free(c);
}

struct probe *counters_probe(const struct pmu_scope_conf *scope)
{
	struct counters *c = xcalloc(1, sizeof(*c));

	raise_fd_limit();
	(void)sysinfo_online_cpus(c->online, AGENT_CPUS_MAX);
	pmu_scope_init(&c->scope, scope);
	if (!pmu_scope_of_run(&c->scope))
		open_groups(c);
	c->p = (struct probe){
		.name = "counters",
		.budget = PROBE_COUNTING_BUDGET,
		.expense = "counting",
		.slow = on_slow,
		.declare = on_declare,
		.begin = on_begin,
		.workload = on_workload,
		.collect = on_collect,
		.summary = on_summary,
		.free = on_free,
	};
	return &c->p;
}
