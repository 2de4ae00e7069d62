/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "agent/conf.h"
#include "agent/pmu_cores.h"
#include "agent/sysinfo.h"
#include "agent/sysread.h"
#include "agent/tracepoint.h"
#include "common/parse.h"

#define SLOWEST 4 /* intervals */
#define NO_PMU	"not available: no hardware PMU"

/* An event that a person asked for: a group of its own, so that one never spoils another. */
struct asked {
	const char *name;
	struct pmu_event event;
	struct pmu_group *group; /* NULL: see why */
	char why[500];
	bool known; /* the name is an event here */
	uint64_t series;
	struct pmu_sum run;
	uint64_t intervals, missing;
	enum pmu_state worst;
};

struct pmu {
	struct probe base;
	struct pmu_scope scope;
	const char *root;
	const bool *cpus;
	size_t cpus_len;
	const char *tracepoints;
	struct core_counters *core[PMU_OPENINGS_MAX];
	size_t cores;
	struct asked *asked;
	size_t asked_len;
	char no_cores[400]; /* why there are no core counters; "": there are */
	struct marks host;  /* what a reader of any run here must know */
	struct pace pace;
};

/* ---- names ---- */

int pmu_event_check(const char *name, struct err *reterr)
{
	size_t len = strlen(name);

	if (!len || len > 100 || !text_is_clean(name, len) || strpbrk(name, " \t\n\"\\"))
		return err_set(reterr, ERR_INVALID,
			       "\"%.100s\" is no event; write a name of perf list, as cycles, "
			       "msr/smi/ or sched:sched_switch",
			       name);
	return 0;
}

void pmu_event_metric(const char *name, char *buf, size_t cap)
{
	size_t n = (size_t)snprintf(buf, cap, "event");
	bool gap = true; /* signs in a row become one line */

	for (; *name && n + 2 < cap; name++) {
		if (!isalnum((unsigned char)*name)) {
			gap = true;
			continue;
		}
		if (gap)
			buf[n++] = '_';
		gap = false;
		buf[n++] = (char)tolower((unsigned char)*name);
	}
	buf[n] = '\0';
}

/* ---- what this host is ---- */

static void host_marks(const char *root, const struct pmu_cpu *cpu, const struct pmu_selftest *test,
		       struct marks *marks)
{
	char line[SYSREAD_MAX];

	if (cpu->vendor != PMU_ARM &&
	    sysread_line(line, sizeof(line), root, "/proc/sys/kernel/nmi_watchdog") &&
	    !strcmp(line, "1"))
		marks_add(marks, "nmi-watchdog",
			  "the NMI watchdog holds one hardware counter of each CPU; "
			  "kernel.nmi_watchdog=0 frees it");
	if (cpu->hypervisor)
		marks_add(marks, "virtual-pmu",
			  "the hardware counters are those that a hypervisor lends; self-test: %s",
			  test->text);
}

static void append_paranoid(const char *root, int error, char *buf, size_t cap)
{
	char line[SYSREAD_MAX];
	size_t len = strlen(buf);

	if ((error == EACCES || error == EPERM) &&
	    sysread_line(line, sizeof(line), root, "/proc/sys/kernel/perf_event_paranoid"))
		snprintf(buf + len, cap - len, "; perf_event_paranoid is %.8s", line);
}

/* ---- opening ---- */

static void open_cores(struct pmu *p, const bool *cpus, size_t cpus_len)
{
	struct pmu_core core[PMU_OPENINGS_MAX];
	size_t n = pmu_cores(p->root, core);
	struct pmu_selftest test;
	struct pmu_cpu cpu;

	if (!n) {
		snprintf(p->no_cores, sizeof(p->no_cores), NO_PMU);
		return;
	}
	pmu_selftest(p->root, &test);
	if (test.trust == PMU_NO_PMU)
		snprintf(p->no_cores, sizeof(p->no_cores), "%s", test.text);
	if (test.trust == PMU_UNTRUSTED) {
		snprintf(p->no_cores, sizeof(p->no_cores),
			 "not available: the counters are not trusted here: %s", test.text);
		marks_add(&p->host, "counters-untrusted", "%s", p->no_cores);
	}
	pmu_cpu_read(p->root, &core[0], &cpu);
	host_marks(p->root, &cpu, &test, &p->host);
	for (size_t i = 0; i < n && test.trust != PMU_UNTRUSTED && test.trust != PMU_NO_PMU; i++)
		p->core[p->cores++] =
			core_counters_open(p->root, &core[i], n > 1, cpus, cpus_len, &p->scope);
}

static bool is_core_event(const struct pmu *p, const struct pmu_event *e)
{
	struct pmu_core core[PMU_OPENINGS_MAX];
	size_t n = pmu_cores(p->root, core);

	if (e->software)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(e->opening[0].pmu, core[i].name))
			return true;
	return e->opening[0].type == PERF_TYPE_HARDWARE ||
	       e->opening[0].type == PERF_TYPE_HW_CACHE || e->opening[0].type == PERF_TYPE_RAW;
}

static void name_asked(struct pmu *p, struct asked *a, const char *name)
{
	struct err err;

	a->name = name;
	a->known = !pmu_event_parse(name, p->root, &a->event, &err);
	if (!a->known && p->tracepoints && tracepoint_is_name(name) &&
	    !tracepoints_readable(p->root))
		a->known = !tracepoint_saved(p->root, p->tracepoints, name, &a->event, &err);
	if (!a->known)
		snprintf(a->why, sizeof(a->why), "%s", err.text);
	if (a->known && *p->no_cores && is_core_event(p, &a->event)) {
		snprintf(a->why, sizeof(a->why), "%s", p->no_cores);
		a->known = false;
	}
}

/* Of this box or run; `why` says what is refused. */
static void open_asked(struct pmu *p, struct asked *a)
{
	const struct pmu_target target = pmu_scope_target(&p->scope, p->cpus, p->cpus_len);
	const struct pmu_event *event = &a->event;
	int error;

	pmu_group_close(TAKE(a->group));
	if (!a->known)
		return;
	a->group = pmu_group_open(&event, 1, &target);
	error = pmu_group_error(a->group, 0);
	a->why[0] = '\0';
	if (!error)
		return;
	(void)pmu_error_text(error, p->scope.conf.mode, a->why, sizeof(a->why));
	append_paranoid(p->root, error, a->why, sizeof(a->why));
	pmu_group_close(TAKE(a->group));
}

/* Groups of a run are opened in it; for a workload that comes later only on trial. */
static void open_for_run(struct pmu *p)
{
	pmu_scope_begin(&p->scope);
	if (!pmu_scope_of_run(&p->scope))
		return;
	for (size_t i = 0; i < p->cores; i++)
		core_counters_run(p->core[i]);
	for (size_t i = 0; i < p->asked_len; i++) {
		struct asked *a = &p->asked[i];

		if (!*p->scope.why)
			open_asked(p, a);
		if (*p->scope.why || pmu_scope_waits(&p->scope))
			pmu_group_close(TAKE(a->group));
	}
}

static void pmu_workload(struct probe *base, int pid)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);

	if (p->scope.conf.mode != PMU_TASK || *p->scope.why)
		return;
	p->scope.pid = pid;
	for (size_t i = 0; i < p->cores; i++)
		core_counters_workload(p->core[i]);
	for (size_t i = 0; i < p->asked_len; i++)
		open_asked(p, &p->asked[i]);
}

/* ---- the probe ---- */

static bool is_scaled(const struct asked *a)
{
	return a->event.scale < 1 || a->event.scale > 1;
}

/* "" when the event counts in this run. */
static const char *why_not(const struct pmu *p, const struct asked *a)
{
	return a->known && *p->scope.why ? p->scope.why : a->why;
}

static struct series_decl asked_decl(const struct pmu *p, const struct asked *a, char metric[128],
				     char method[64])
{
	struct series_decl d = {.metric = metric,
				.unit = a->known ? a->event.unit : "1",
				.label = {{"event", a->name}}};

	pmu_event_metric(a->name, metric, 128);
	d.method = pmu_scope_method(&p->scope,
				    a->event.software ? "perf-sw-cpuwide/1" : "perf-hw-cpuwide/1",
				    method, 64);
	pmu_scope_label(&p->scope, &d);
	return d;
}

static void pmu_declare(struct probe *base, struct series_list *l)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);
	const char *no_cores = *p->no_cores ? p->no_cores : p->scope.why;

	open_for_run(p);
	if (*no_cores)
		core_counters_declare_absent(&p->scope, l, no_cores);
	for (size_t i = 0; i < p->cores && !*no_cores; i++)
		core_counters_declare(p->core[i], l);
	for (size_t i = 0; i < p->asked_len; i++) {
		struct asked *a = &p->asked[i];
		const char *why = why_not(p, a);
		char metric[128], method[64];
		struct series_decl d = asked_decl(p, a, metric, method);

		if (!*why && is_scaled(a))
			continue; /* one value at the end */
		d.kind = *why ? "absent" : "counter";
		d.reason = *why ? why : NULL;
		d.state = !*why && a->event.software ? "exact" : NULL;
		a->series = series_declare(l, &d);
	}
}

static void pmu_begin(struct probe *base)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);
	struct pmu_sum sum[PMU_GROUP_MAX];

	pace_begin(&p->pace, p->pace.divisor);
	for (size_t i = 0; i < p->cores; i++)
		core_counters_begin(p->core[i]);
	for (size_t i = 0; i < p->asked_len; i++) {
		struct asked *a = &p->asked[i];

		if (a->group)
			pmu_group_read(a->group, sum);
		a->run = (struct pmu_sum){0};
		a->intervals = a->missing = 0;
		a->worst = PMU_IDLE;
	}
}

static void collect_asked(struct asked *a, const struct interval *in, struct record_writer *w)
{
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct counter_sample s;

	pmu_group_read(a->group, sum);
	s = pmu_scope_sample(&sum[0], in->dt_ns);
	if (in->measured) {
		a->intervals++;
		a->missing += !pmu_state_has_value(sum[0].state);
		if (sum[0].state > a->worst)
			a->worst = sum[0].state;
		pmu_sum_add(&a->run, &sum[0]);
	}
	if (pmu_state_has_value(sum[0].state) && !is_scaled(a))
		record_item_counter(w, a->series, in->t0_ns, in->dt_ns, &s, 1);
}

static void pmu_collect(struct probe *base, const struct interval *in, struct record_writer *w)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);
	struct interval all;

	if (!pace_due(&p->pace, in, &all))
		return;
	for (size_t i = 0; i < p->cores; i++)
		core_counters_collect(p->core[i], &all, w);
	for (size_t i = 0; i < p->asked_len; i++)
		if (p->asked[i].group)
			collect_asked(&p->asked[i], &all, w);
}

/* A total is one of the whole window or none. */
static void finish_scaled(const struct pmu *p, const struct asked *a, struct record_writer *w,
			  uint64_t *last_series)
{
	char metric[128], method[64];
	struct series_decl d = asked_decl(p, a, metric, method);
	bool whole = !a->missing;
	uint64_t number;

	d.kind = whole ? "value" : "absent";
	d.state = !whole ? NULL : a->run.state == PMU_IDLE ? "exact" : pmu_state_name(a->run.state);
	d.reason = whole ? NULL : pmu_state_reason(a->worst);
	number = series_declare_more(w, last_series, &d);
	if (whole)
		record_item_value(w, number, a->run.scaled * a->event.scale);
}

static void pmu_finish(struct probe *base, struct record_writer *w, uint64_t *last_series)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);

	for (size_t i = 0; i < p->cores; i++)
		core_counters_finish(p->core[i], w, last_series);
	core_counters_finish_totals(p->core, p->cores, w, last_series);
	for (size_t i = 0; i < p->asked_len; i++)
		if (p->asked[i].group && is_scaled(&p->asked[i]) && p->asked[i].intervals)
			finish_scaled(p, &p->asked[i], w, last_series);
}

static void pmu_summary(struct probe *base, struct run_summary *s)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);

	for (size_t i = 0; i < p->host.len; i++)
		marks_add(&s->marks, p->host.v[i].code, "%s", p->host.v[i].text);
	for (size_t i = 0; i < p->cores; i++)
		core_counters_summary(p->core[i], s);
	for (size_t i = 0; i < p->asked_len; i++) {
		const struct asked *a = &p->asked[i];

		if (a->group && !is_scaled(a))
			pmu_scope_state(s, a->series, &a->run, a->worst, a->missing, a->intervals);
		if (a->missing)
			marks_add(&s->marks, "event-gap",
				  "%s has no number in %llu of %llu intervals: %s", a->name,
				  (unsigned long long)a->missing, (unsigned long long)a->intervals,
				  pmu_state_reason(a->worst));
		else if (a->worst == PMU_ESTIMATED || a->worst == PMU_DOUBTFUL)
			marks_add(&s->marks, "event-multiplexed", "%s: %s", a->name,
				  pmu_state_reason(a->worst));
	}
}

/* Metrics of the fixed counter registers are 8-bit fractions: they are read every few seconds at
 * least (reference: the kernel's topdown.txt). */
static void pmu_slow(struct probe *base, unsigned int divisor)
{
	CONTAINER_OF(base, struct pmu, base)->pace.divisor = divisor < SLOWEST ? divisor : SLOWEST;
}

static void pmu_free(struct probe *base)
{
	struct pmu *p = CONTAINER_OF(base, struct pmu, base);

	for (size_t i = 0; i < p->cores; i++)
		core_counters_free(p->core[i]);
	for (size_t i = 0; i < p->asked_len; i++)
		pmu_group_close(p->asked[i].group);
	free(p->asked);
	pmu_scope_done(&p->scope);
	marks_done(&p->host);
	free(p);
}

struct probe *pmu_probe(const struct pmu_conf *conf)
{
	struct pmu *p = xcalloc(1, sizeof(*p));
	static bool online[AGENT_CPUS_MAX]; /* loop thread only */

	(void)sysinfo_online_cpus(online, AGENT_CPUS_MAX);
	pmu_scope_init(&p->scope, &conf->scope);
	p->root = conf->root ? conf->root : "";
	p->tracepoints = conf->tracepoints;
	p->cpus = conf->cpus ? conf->cpus : online;
	p->cpus_len = conf->cpus ? conf->cpus_len : AGENT_CPUS_MAX;
	open_cores(p, p->cpus, p->cpus_len);
	p->asked = xcalloc(conf->events_len, sizeof(*p->asked));
	p->asked_len = conf->events_len;
	for (size_t i = 0; i < conf->events_len; i++) {
		name_asked(p, &p->asked[i], conf->events[i]);
		if (!pmu_scope_of_run(&p->scope))
			open_asked(p, &p->asked[i]);
	}
	p->base = (struct probe){.name = "pmu",
				 .budget = PROBE_COUNTING_BUDGET,
				 .expense = "counting hardware events",
				 .slow = pmu_slow,
				 .declare = pmu_declare,
				 .begin = pmu_begin,
				 .workload = pmu_workload,
				 .collect = pmu_collect,
				 .finish = pmu_finish,
				 .summary = pmu_summary,
				 .free = pmu_free};
	return &p->base;
}
