/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu_cores.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/sysread.h"
#include "common/parse.h"

#define SAME_TIMES  0.001	     /* of the running time */
#define BUSY_MIN_NS (NS_PER_SEC / 2) /* less work says nothing about the frequency */
#define WHY_MAX	    300
#define METHOD_MAX  128
#define STAT_MAX    (256 * 1024)

enum derived { D_IPC, D_GHZ, D_UNSTALLED, D_RETIRING, DERIVED };

static const struct {
	const char *metric, *unit, *method;
} deriveds[DERIVED] = {
	[D_IPC] = {"ipc", "1", "instructions-per-cycle/1"},
	[D_GHZ] = {"cpu_ghz", "GHz", "cycles-per-busy-time/1"},
	[D_UNSTALLED] = {"unstalled_cycles_pct", "%", NULL}, /* the plan's */
	[D_RETIRING] = {"retiring_slots_pct", "%", NULL},
};

enum { CYCLES, INSTRUCTIONS, BASE_EVENTS };

/* A group whose first members may be cycles and instructions, then the events of a plan. */
struct question {
	struct pmu_group *group;
	struct pmu_plan plan;
	struct pmu_event *event; /* PMU_GROUP_MAX, those to open */
	size_t events, first;	 /* `first`: the plan's first event */
	struct pmu_sum run[PMU_GROUP_MAX];
	uint64_t missing[PMU_GROUP_MAX]; /* measured intervals without a number */
	enum pmu_state worst[PMU_GROUP_MAX];
};

struct core_counters {
	const char *root;
	struct pmu_core core;
	const struct pmu_scope *scope;
	bool label;
	bool cpus[PMU_CPUS_MAX];
	double fmax_hz;
	struct question base, slots;  /* base: cycles, instructions, unstalled; slots: retiring */
	char never[DERIVED][WHY_MAX]; /* what this CPU cannot have */
	char why[DERIVED][WHY_MAX];   /* the same and what was refused; "": the run decides */
	int error[BASE_EVENTS];	      /* errno of the refusal of cycles, instructions */
	uint64_t series[BASE_EVENTS];
	double busy_ns, last_busy_ns; /* of the measured window; total at the last read */
	uint64_t intervals;
	const char *implausible; /* the window holds a count that cannot be true */
};

static bool is_box(const struct core_counters *c)
{
	return c->scope->conf.mode == PMU_BOX;
}

/* ---- choosing events ---- */

static bool plan_event(const struct core_counters *c, const char *terms, struct pmu_event *ret,
		       struct err *reterr)
{
	char name[sizeof(ret->name)];

	snprintf(name, sizeof(name), "%s/%s/", c->core.name, terms);
	return !pmu_event_parse(name, c->root, ret, reterr);
}

static bool generic_event(const struct core_counters *c, const char *name, struct pmu_event *ret)
{
	return !pmu_event_parse(name, c->root, ret, NULL) && pmu_event_only(ret, c->core.name);
}

/* Events of the question in the order of the group; false with the reason. */
static bool question_events(const struct core_counters *c, struct question *q, char *why)
{
	struct err err;

	q->events = q->first;
	for (size_t i = 0; q->plan.event[i]; i++)
		if (!plan_event(c, q->plan.event[i], &q->event[q->events++], &err)) {
			snprintf(why, WHY_MAX, "not available: %.250s", err.text);
			q->events = q->first;
			return false;
		}
	return true;
}

static void choose_base(struct core_counters *c, const struct pmu_cpu *cpu)
{
	struct question *q = &c->base;

	if (!generic_event(c, "cycles", &q->event[CYCLES]) ||
	    !generic_event(c, "instructions", &q->event[INSTRUCTIONS]))
		return; /* cannot be: the PMU is one of the cores' */
	q->first = BASE_EVENTS;
	pmu_plan_unstalled(cpu, &q->plan);
	if (q->plan.reason)
		snprintf(c->never[D_UNSTALLED], WHY_MAX, "%s", q->plan.reason);
	(void)question_events(c, q, c->never[D_UNSTALLED]);
}

static void choose_slots(struct core_counters *c, const struct pmu_cpu *cpu)
{
	struct question *q = &c->slots;
	char *why = c->never[D_RETIRING];

	pmu_plan_retiring(cpu, &q->plan);
	if (q->plan.reason) {
		snprintf(why, WHY_MAX, "%s", q->plan.reason);
		return;
	}
	if (q->plan.alone && c->scope->conf.mode == PMU_TASK) {
		snprintf(why, WHY_MAX,
			 "not available: the topdown metrics need a group, and the events of a "
			 "workload are counted one by one; count the box or a cgroup");
		return;
	}
	q->first = q->plan.alone ? 0 : 1;
	if (q->first && !generic_event(c, "cycles", &q->event[CYCLES]))
		return;
	if (!question_events(c, q, why))
		q->events = 0;
}

/* ---- opening ---- */

static void open_question(struct core_counters *c, struct question *q)
{
	const struct pmu_event *list[PMU_GROUP_MAX];
	struct pmu_target target = pmu_scope_target(c->scope, c->cpus, PMU_CPUS_MAX);

	target.part = c->label;
	target.mux_ns = pmu_mux_ns(c->root, c->core.name);
	for (size_t i = 0; i < q->events; i++)
		list[i] = &q->event[i];
	if (q->events)
		q->group = pmu_group_open(list, q->events, &target);
}

/* The first refused member of first..last-1 becomes the reason, unless there is one. */
static void explain_refusal(const struct core_counters *c, const struct question *q, size_t first,
			    size_t last, char *why)
{
	for (size_t i = first; i < last && !*why; i++)
		if (pmu_group_error(q->group, i))
			(void)pmu_error_text(pmu_group_error(q->group, i), c->scope->conf.mode, why,
					     WHY_MAX);
}

static void close_groups(struct core_counters *c)
{
	pmu_group_close(TAKE(c->base.group));
	pmu_group_close(TAKE(c->slots.group));
}

static void open_groups(struct core_counters *c)
{
	struct question *q = &c->base;

	close_groups(c);
	memcpy(c->why, c->never, sizeof(c->why));
	open_question(c, q);
	for (size_t i = 0; i < BASE_EVENTS; i++)
		c->error[i] = q->group ? pmu_group_error(q->group, i) : ENODEV;
	if (q->group) {
		explain_refusal(c, q, CYCLES, BASE_EVENTS, c->why[D_IPC]);
		explain_refusal(c, q, CYCLES, CYCLES + 1, c->why[D_GHZ]);
		explain_refusal(c, q, CYCLES, CYCLES + 1, c->why[D_UNSTALLED]);
		explain_refusal(c, q, q->first, q->events, c->why[D_UNSTALLED]);
	}
	open_question(c, &c->slots);
	if (c->slots.group)
		explain_refusal(c, &c->slots, 0, c->slots.events, c->why[D_RETIRING]);
}

int64_t pmu_mux_ns(const char *root, const char *pmu)
{
	char line[SYSREAD_MAX];
	int64_t ms;

	if (!sysread_line(line, sizeof(line), root, PMU_DEVICES "/%s/perf_event_mux_interval_ms",
			  pmu) ||
	    parse_i64(line, &ms, NULL) || ms < 0 || ms > 60000)
		return 0;
	return ms * NS_PER_MS;
}

static double read_fmax(const struct core_counters *c)
{
	char line[SYSREAD_MAX];
	int64_t khz;

	for (unsigned int cpu = 0; cpu < PMU_CPUS_MAX; cpu++)
		if (c->cpus[cpu])
			return sysread_line(line, sizeof(line), c->root,
					    "/sys/devices/system/cpu/cpu%u/cpufreq/"
					    "cpuinfo_max_freq",
					    cpu) &&
					       !parse_i64(line, &khz, NULL)
				       ? (double)khz * 1e3
				       : 0;
	return 0;
}

struct core_counters *core_counters_open(const char *root, const struct pmu_core *core, bool label,
					 const bool *cpus, size_t cpus_len,
					 const struct pmu_scope *scope)
{
	struct core_counters *c = xcalloc(1, sizeof(*c));
	struct pmu_cpu cpu;

	c->root = root;
	c->core = *core;
	c->label = label;
	c->scope = scope;
	c->base.event = xcalloc(PMU_GROUP_MAX, sizeof(*c->base.event));
	c->slots.event = xcalloc(PMU_GROUP_MAX, sizeof(*c->slots.event));
	for (size_t i = 0; i < cpus_len && i < PMU_CPUS_MAX; i++)
		c->cpus[i] = cpus[i] && (!core->only_cpus || core->cpus[i]);
	c->fmax_hz = read_fmax(c);
	pmu_cpu_read(root, core, &cpu);
	choose_base(c, &cpu);
	choose_slots(c, &cpu);
	if (is_box(c))
		open_groups(c);
	return c;
}

void core_counters_run(struct core_counters *c)
{
	close_groups(c);
	if (*c->scope->why)
		return;
	open_groups(c);
	if (pmu_scope_waits(c->scope))
		close_groups(c);
}

void core_counters_workload(struct core_counters *c)
{
	if (!*c->scope->why)
		open_groups(c);
}

void core_counters_free(struct core_counters *c)
{
	if (!c)
		return;
	close_groups(c);
	free(c->base.event);
	free(c->slots.event);
	free(c);
}

/* ---- declaring ---- */

static struct series_decl decl(const struct core_counters *c, const char *metric, const char *unit)
{
	struct series_decl d = {.metric = metric, .unit = unit};

	if (c->label) {
		d.label[0][0] = "pmu";
		d.label[0][1] = c->core.name;
	}
	pmu_scope_label(c->scope, &d);
	return d;
}

static const char *method_of(const struct core_counters *c, enum derived d, char *buf, size_t cap)
{
	const char *method = d == D_UNSTALLED  ? c->base.plan.method
			     : d == D_RETIRING ? c->slots.plan.method
					       : deriveds[d].method;

	return pmu_scope_method(c->scope, method, buf, cap);
}

static const char *const base_names[BASE_EVENTS] = {"cycles", "instructions"};

void core_counters_declare(struct core_counters *c, struct series_list *l)
{
	char method[METHOD_MAX], why[WHY_MAX];

	for (size_t i = 0; i < BASE_EVENTS; i++) {
		struct series_decl d = decl(c, base_names[i], "1");

		d.kind = c->error[i] ? "absent" : "counter";
		d.method = pmu_scope_method(c->scope, "perf-hw-cpuwide/1", method, sizeof(method));
		d.reason = c->error[i]
				   ? pmu_error_text(c->error[i], c->scope->conf.mode, why, WHY_MAX)
				   : NULL;
		c->series[i] = series_declare(l, &d);
	}
	for (size_t i = 0; i < DERIVED; i++) {
		struct series_decl d = decl(c, deriveds[i].metric, deriveds[i].unit);

		if (!c->why[i][0])
			continue; /* the run decides */
		d.kind = "absent";
		d.reason = c->why[i];
		(void)series_declare(l, &d);
	}
}

void core_counters_declare_absent(const struct pmu_scope *scope, struct series_list *l,
				  const char *reason)
{
	struct series_decl d = {.kind = "absent", .unit = "1", .reason = reason};

	pmu_scope_label(scope, &d);
	for (size_t i = 0; i < ARRAY_LEN(base_names); i++) {
		d.metric = base_names[i];
		(void)series_declare(l, &d);
	}
	for (size_t i = 0; i < DERIVED; i++) {
		d.metric = deriveds[i].metric;
		d.unit = deriveds[i].unit;
		(void)series_declare(l, &d);
	}
}

/* ---- collecting ---- */

/* The first columns of a CPU in /proc/stat. */
enum tick { TICK_IDLE = 3, TICK_IOWAIT = 4, TICKS = 7 };

/* Time that these CPUs have worked, from /proc/stat: all but idle, waiting for I/O and stolen
 * time. Its step is a tick (10 ms), so only long windows use it. */
static double read_busy(const struct core_counters *c)
{
	static char text[STAT_MAX]; /* loop thread only */
	double ticks = 0;

	(void)sysread_all(text, sizeof(text), c->root, "/proc/stat");
	for (const char *s = text; s && !strncmp(s, "cpu", 3); s = strchr(s, '\n'), s += !!s) {
		char *end;
		unsigned long cpu = strtoul(s + 3, &end, 10);

		if (s[3] == ' ' || cpu >= PMU_CPUS_MAX || !c->cpus[cpu])
			continue; /* the sum of all, or not ours */
		for (enum tick i = 0; i < TICKS; i++) {
			double v = strtod(end, &end);

			ticks += i == TICK_IDLE || i == TICK_IOWAIT ? 0 : v;
		}
	}
	return ticks * (double)NS_PER_SEC / (double)sysconf(_SC_CLK_TCK);
}

static void add_interval(struct question *q, const struct pmu_sum *sum)
{
	for (size_t i = 0; i < q->events; i++) {
		q->missing[i] += !pmu_state_has_value(sum[i].state);
		if (sum[i].state > q->worst[i])
			q->worst[i] = sum[i].state;
		pmu_sum_add(&q->run[i], &sum[i]);
	}
}

static void check_interval(struct core_counters *c, const struct pmu_sum *sum, double busy_ns)
{
	double cycles = sum[CYCLES].scaled, instructions = sum[INSTRUCTIONS].scaled;

	if (!pmu_state_has_value(sum[CYCLES].state))
		return;
	if (!pmu_state_has_value(sum[INSTRUCTIONS].state))
		instructions = cycles; /* not known: nothing to object to */
	c->implausible = pmu_implausible(cycles, instructions, (double)sum[CYCLES].enabled_ns,
					 busy_ns, c->fmax_hz);
}

/* Time that was worked since the last read. A task or cgroup works while its events are enabled. */
static double take_busy(struct core_counters *c, const struct pmu_sum *sum)
{
	double busy, ns;

	if (!is_box(c))
		return (double)sum[CYCLES].enabled_ns;
	busy = read_busy(c);
	ns = busy - c->last_busy_ns;
	c->last_busy_ns = busy;
	return ns;
}

void core_counters_collect(struct core_counters *c, const struct interval *in,
			   struct record_writer *w)
{
	struct pmu_sum sum[PMU_GROUP_MAX];
	double busy_ns;

	if (c->slots.group) {
		pmu_group_read(c->slots.group, sum);
		if (in->measured)
			add_interval(&c->slots, sum);
	}
	if (!c->base.group)
		return;
	pmu_group_read(c->base.group, sum);
	busy_ns = take_busy(c, sum);
	if (!c->implausible)
		check_interval(c, sum, busy_ns);
	if (in->measured) {
		c->intervals++;
		c->busy_ns += busy_ns;
		add_interval(&c->base, sum);
	}
	for (size_t i = 0; i < BASE_EVENTS && !c->implausible; i++) {
		const struct counter_sample s = pmu_scope_sample(&sum[i], in->dt_ns);

		if (pmu_state_has_value(sum[i].state))
			record_item_counter(w, c->series[i], in->t0_ns, in->dt_ns, &s, 1);
	}
}

static void clear(struct question *q)
{
	struct pmu_sum sum[PMU_GROUP_MAX];

	if (q->group)
		pmu_group_read(q->group, sum);
	memset(q->run, 0, sizeof(q->run));
	memset(q->missing, 0, sizeof(q->missing));
	memset(q->worst, 0, sizeof(q->worst));
}

void core_counters_begin(struct core_counters *c)
{
	clear(&c->base);
	clear(&c->slots);
	c->last_busy_ns = is_box(c) ? read_busy(c) : 0;
	c->busy_ns = 0;
	c->intervals = 0;
	c->implausible = NULL;
}

/* ---- the run's values ---- */

struct result {
	double value; /* NaN: none */
	enum pmu_state state;
	const char *reason; /* of no value; NULL: the state's */
};

/* Worst state of members first..last-1 over the run; intervals that are missing make it doubtful.
 */
static enum pmu_state state_of(const struct question *q, size_t first, size_t last,
			       uint64_t intervals)
{
	enum pmu_state worst = PMU_EXACT;

	for (size_t i = first; i < last; i++) {
		enum pmu_state s = q->run[i].state;

		if (q->missing[i])
			s = q->missing[i] < intervals ? PMU_DOUBTFUL : q->worst[i];
		if (s > worst)
			worst = s;
	}
	return worst;
}

/* Members of a task's question are opened one by one: a ratio of theirs is honest only when they
 * were on counters at the same times. */
static bool same_times(const struct core_counters *c, const struct question *q, size_t first,
		       size_t last)
{
	double of_cycles = (double)q->run[CYCLES].running_ns;

	if (c->scope->conf.mode != PMU_TASK)
		return true;
	for (size_t i = first; i < last; i++)
		if (fabs((double)q->run[i].running_ns - of_cycles) > SAME_TIMES * of_cycles)
			return false;
	return true;
}

#define NOT_SAME_TIMES                                                                             \
	"not available: events of a workload are counted one by one, and these were not counted "  \
	"at the same times; ask for fewer events"
#define NOTHING_RAN "not available: nothing ran that could be counted"

static struct result percent(const struct core_counters *c, const struct question *q)
{
	double e[PMU_PLAN_EVENTS] = {0};
	struct result r = {.state = state_of(q, q->first, q->events, c->intervals)};
	enum pmu_state cycles = state_of(q, CYCLES, CYCLES + 1, c->intervals);

	if (cycles > r.state)
		r.state = cycles;
	for (size_t i = 0; i < PMU_PLAN_EVENTS && q->first + i < q->events; i++)
		e[i] = q->run[q->first + i].scaled;
	r.value = pmu_plan_value(&q->plan, q->run[CYCLES].scaled, e);
	if (!same_times(c, q, q->first, q->events)) {
		r.value = (double)NAN;
		r.reason = NOT_SAME_TIMES;
	} else if (!q->plan.alone && !(q->run[CYCLES].scaled > 0))
		r.reason = NOTHING_RAN;
	else if (isnan(r.value))
		r.reason = "not available: the counts of this run cannot be true (a stall counter "
			   "that stays 0, or a share outside 0 to 100 %)";
	return r;
}

static struct result derive(const struct core_counters *c, enum derived d)
{
	const struct question *q = &c->base;
	const double cycles = q->run[CYCLES].scaled;
	struct result r = {.state = state_of(q, 0, BASE_EVENTS, c->intervals)};

	if (d == D_RETIRING)
		return percent(c, &c->slots);
	if (d == D_UNSTALLED)
		return percent(c, q);
	if (d == D_IPC) {
		r.reason = !(cycles > 0)		      ? NOTHING_RAN
			   : same_times(c, q, 0, BASE_EVENTS) ? NULL
							      : NOT_SAME_TIMES;
		r.value = r.reason ? (double)NAN : q->run[INSTRUCTIONS].scaled / cycles;
		return r;
	}
	r.state = state_of(q, CYCLES, CYCLES + 1, c->intervals);
	if (r.state == PMU_DOUBTFUL && q->missing[CYCLES])
		r.reason = "not available: the busy time is that of the whole run, and some "
			   "intervals were not counted";
	else if (c->busy_ns < BUSY_MIN_NS)
		r.reason = is_box(c) ? "not available: the CPUs worked less than 0.5 s in this run"
				     : "not available: it worked less than 0.5 s in this run";
	r.value = r.reason ? (double)NAN : cycles / c->busy_ns;
	return r;
}

static struct result result_of(const struct core_counters *c, enum derived i)
{
	struct result r = derive(c, i);

	if (c->implausible) {
		r.value = (double)NAN;
		r.reason = c->implausible;
	}
	return r;
}

/* Declares and writes a value of the run, or why there is none. */
static void put_result(struct series_decl *d, const struct result *r, struct record_writer *w,
		       uint64_t *last_series)
{
	uint64_t number;

	if (!pmu_state_has_value(r->state) || isnan(r->value)) {
		d->kind = "absent";
		d->reason = r->reason ? r->reason : pmu_state_reason(r->state);
		(void)series_declare_more(w, last_series, d);
		return;
	}
	d->kind = "value";
	d->state = r->state == PMU_IDLE ? "exact" : pmu_state_name(r->state);
	if (r->state != PMU_EXACT)
		d->reason = pmu_state_reason(r->state);
	number = series_declare_more(w, last_series, d);
	record_item_value(w, number, r->value);
}

void core_counters_finish(struct core_counters *c, struct record_writer *w, uint64_t *last_series)
{
	char method[METHOD_MAX];

	for (enum derived i = 0; i < DERIVED; i++) {
		struct series_decl d = decl(c, deriveds[i].metric, deriveds[i].unit);
		struct result r;

		if (c->why[i][0] || !c->intervals)
			continue;
		r = result_of(c, i);
		d.method = method_of(c, i, method, sizeof(method));
		put_result(&d, &r, w, last_series);
	}
}

/* ---- totals over the core types ---- */

static struct pmu_part part_of(const struct core_counters *c, enum derived i,
			       const struct result *r, char method[METHOD_MAX])
{
	const double cycles = c->base.run[CYCLES].scaled;
	bool known = !c->why[i][0] && pmu_state_has_value(r->state) && !isnan(r->value);
	bool counted = !c->error[CYCLES] && !c->implausible && !c->base.missing[CYCLES];
	struct pmu_part p = {.pmu = c->core.name,
			     .method = method_of(c, i, method, METHOD_MAX),
			     .value = known ? r->value : (double)NAN,
			     .weight = i == D_GHZ ? c->busy_ns : cycles};

	/* A type on which nothing ran lacks nothing. */
	if (!known && !(counted && !(cycles > 0)))
		p.reason = c->why[i][0] ? c->why[i]
			   : r->reason	? r->reason
					: pmu_state_reason(r->state);
	if (!known && !p.reason)
		p.weight = 0;
	return p;
}

static void put_total(struct core_counters *const *c, size_t n, enum derived i,
		      struct record_writer *w, uint64_t *last_series)
{
	char methods[PMU_OPENINGS_MAX][METHOD_MAX], method[METHOD_MAX], why[WHY_MAX];
	struct series_decl d = {.metric = deriveds[i].metric, .unit = deriveds[i].unit};
	struct result total = {.state = PMU_EXACT};
	struct pmu_part part[PMU_OPENINGS_MAX];

	for (size_t k = 0; k < n; k++) {
		struct result r = result_of(c[k], i);

		part[k] = part_of(c[k], i, &r, methods[k]);
		if (!isnan(part[k].value) && r.state > total.state)
			total.state = r.state;
	}
	total.value = pmu_total(part, n, method, sizeof(method), why, sizeof(why));
	total.reason = why;
	d.method = *method ? method : NULL;
	pmu_scope_label(c[0]->scope, &d);
	put_result(&d, &total, w, last_series);
}

void core_counters_finish_totals(struct core_counters *const *c, size_t n, struct record_writer *w,
				 uint64_t *last_series)
{
	for (enum derived i = 0; n > 1 && i < DERIVED; i++)
		put_total(c, n, i, w, last_series);
}

static void put_states(const struct core_counters *c, struct run_summary *s)
{
	const struct question *q = &c->base;

	for (size_t i = 0; i < BASE_EVENTS; i++)
		if (c->error[i] || !q->group)
			continue;
		else if (c->implausible)
			run_summary_state(s, c->series[i], "doubtful", "%s: %s",
					  pmu_state_name(PMU_IMPLAUSIBLE), c->implausible);
		else
			pmu_scope_state(s, c->series[i], &q->run[i], q->worst[i], q->missing[i],
					c->intervals);
}

void core_counters_summary(const struct core_counters *c, struct run_summary *s)
{
	const struct question *both[] = {&c->base, &c->slots};
	struct marks *marks = &s->marks;

	put_states(c, s);
	if (c->implausible)
		marks_add(marks, "counters-untrusted",
			  "%s: %s; no value of the hardware counters is given", c->core.name,
			  c->implausible);
	for (size_t k = 0; k < ARRAY_LEN(both); k++)
		for (size_t i = 0; i < both[k]->events; i++) {
			enum pmu_state worst = both[k]->worst[i];

			if (both[k]->missing[i] && worst != PMU_ABSENT)
				marks_add(marks, "pmu-gap",
					  "%llu intervals have no number of the hardware counters "
					  "(%s): %s",
					  (unsigned long long)both[k]->missing[i],
					  pmu_state_name(worst), pmu_state_reason(worst));
			else if (worst == PMU_ESTIMATED || worst == PMU_DOUBTFUL)
				marks_add(marks, "pmu-multiplexed",
					  "hardware counters were shared with other events: %s",
					  pmu_state_reason(worst));
		}
}
