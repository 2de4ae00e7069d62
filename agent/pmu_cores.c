/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu_cores.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/sysread.h"
#include "common/parse.h"

#define BUSY_MIN_NS (NS_PER_SEC / 2) /* less work says nothing about the frequency */
#define WHY_MAX	    300
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
	size_t events, first; /* `first`: the plan's first event */
	struct pmu_sum run[PMU_GROUP_MAX];
	uint64_t missing[PMU_GROUP_MAX]; /* measured intervals without a number */
	enum pmu_state worst[PMU_GROUP_MAX];
};

struct core_counters {
	const char *root;
	struct pmu_core core;
	bool label;
	bool cpus[PMU_CPUS_MAX];
	double fmax_hz;
	struct question base, slots; /* base: cycles, instructions, unstalled; slots: retiring */
	char why[DERIVED][WHY_MAX];  /* known at the start; "": the run decides */
	uint64_t series[BASE_EVENTS];
	double busy_ns, last_busy_ns; /* of the measured window; total at the last read */
	uint64_t intervals;
	const char *implausible; /* the window holds a count that cannot be true */
};

/* ---- opening ---- */

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
static bool question_events(const struct core_counters *c, struct question *q,
			    struct pmu_event *events, char *why)
{
	struct err err;

	q->events = q->first;
	for (size_t i = 0; q->plan.event[i]; i++)
		if (!plan_event(c, q->plan.event[i], &events[q->events++], &err)) {
			snprintf(why, WHY_MAX, "not available: %.250s", err.text);
			q->events = q->first;
			return false;
		}
	return true;
}

static void open_question(struct core_counters *c, struct question *q, struct pmu_event *events)
{
	const struct pmu_event *list[PMU_GROUP_MAX];
	const struct pmu_target target = {.mode = PMU_BOX,
					  .cpus = c->cpus,
					  .cpus_len = PMU_CPUS_MAX,
					  .mux_ns = pmu_mux_ns(c->root, c->core.name)};

	for (size_t i = 0; i < q->events; i++)
		list[i] = &events[i];
	if (q->events)
		q->group = pmu_group_open(list, q->events, &target);
}

/* The first refused member of first..last-1 becomes the reason, unless there is one. */
static void explain_refusal(const struct question *q, size_t first, size_t last, char *why)
{
	for (size_t i = first; i < last && !*why; i++)
		if (pmu_group_error(q->group, i))
			(void)pmu_error_text(pmu_group_error(q->group, i), PMU_BOX, why, WHY_MAX);
}

static void open_base(struct core_counters *c, const struct pmu_cpu *cpu, struct pmu_event *events)
{
	struct question *q = &c->base;

	if (!generic_event(c, "cycles", &events[CYCLES]) ||
	    !generic_event(c, "instructions", &events[INSTRUCTIONS]))
		return; /* cannot be: the PMU is one of the cores' */
	q->first = BASE_EVENTS;
	pmu_plan_unstalled(cpu, &q->plan);
	if (q->plan.reason)
		snprintf(c->why[D_UNSTALLED], WHY_MAX, "%s", q->plan.reason);
	(void)question_events(c, q, events, c->why[D_UNSTALLED]);
	open_question(c, q, events);
	explain_refusal(q, CYCLES, BASE_EVENTS, c->why[D_IPC]);
	explain_refusal(q, CYCLES, CYCLES + 1, c->why[D_GHZ]);
	explain_refusal(q, CYCLES, CYCLES + 1, c->why[D_UNSTALLED]);
	explain_refusal(q, q->first, q->events, c->why[D_UNSTALLED]);
}

static void open_slots(struct core_counters *c, const struct pmu_cpu *cpu, struct pmu_event *events)
{
	struct question *q = &c->slots;
	char *why = c->why[D_RETIRING];

	pmu_plan_retiring(cpu, &q->plan);
	if (q->plan.reason) {
		snprintf(why, WHY_MAX, "%s", q->plan.reason);
		return;
	}
	q->first = q->plan.alone ? 0 : 1;
	if (q->first && !generic_event(c, "cycles", &events[CYCLES]))
		return;
	if (!question_events(c, q, events, why))
		return;
	open_question(c, q, events);
	explain_refusal(q, 0, q->events, why);
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
					 const bool *cpus, size_t cpus_len)
{
	struct core_counters *c = xcalloc(1, sizeof(*c));
	struct pmu_event *events = xcalloc(PMU_GROUP_MAX, sizeof(*events));
	struct pmu_cpu cpu;

	c->root = root;
	c->core = *core;
	c->label = label;
	for (size_t i = 0; i < cpus_len && i < PMU_CPUS_MAX; i++)
		c->cpus[i] = cpus[i] && (!core->only_cpus || core->cpus[i]);
	c->fmax_hz = read_fmax(c);
	pmu_cpu_read(root, core, &cpu);
	open_base(c, &cpu, events);
	open_slots(c, &cpu, events);
	free(events);
	return c;
}

void core_counters_free(struct core_counters *c)
{
	if (!c)
		return;
	pmu_group_close(c->base.group);
	pmu_group_close(c->slots.group);
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
	return d;
}

static const char *method_of(const struct core_counters *c, enum derived d)
{
	return d == D_UNSTALLED	 ? c->base.plan.method
	       : d == D_RETIRING ? c->slots.plan.method
				 : deriveds[d].method;
}

void core_counters_declare(struct core_counters *c, struct series_list *l)
{
	static const char *const names[] = {"cycles", "instructions"};

	for (size_t i = 0; i < BASE_EVENTS; i++) {
		struct series_decl d = decl(c, names[i], "1");
		int error = c->base.group ? pmu_group_error(c->base.group, i) : ENODEV;
		char why[WHY_MAX];

		d.kind = error ? "absent" : "counter";
		d.method = "perf-hw-cpuwide/1";
		d.reason = error ? pmu_error_text(error, PMU_BOX, why, WHY_MAX) : NULL;
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

void core_counters_declare_absent(struct series_list *l, const char *reason)
{
	static const char *const names[] = {"cycles", "instructions"};
	struct series_decl d = {.kind = "absent", .unit = "1", .reason = reason};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		d.metric = names[i];
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

void core_counters_collect(struct core_counters *c, const struct interval *in,
			   struct record_writer *w)
{
	struct pmu_sum sum[PMU_GROUP_MAX];
	double busy = read_busy(c), busy_ns = busy - c->last_busy_ns;

	c->last_busy_ns = busy;
	if (c->slots.group) {
		pmu_group_read(c->slots.group, sum);
		if (in->measured)
			add_interval(&c->slots, sum);
	}
	if (!c->base.group)
		return;
	pmu_group_read(c->base.group, sum);
	if (!c->implausible)
		check_interval(c, sum, busy_ns);
	if (in->measured) {
		c->intervals++;
		c->busy_ns += busy_ns;
		add_interval(&c->base, sum);
	}
	for (size_t i = 0; i < BASE_EVENTS && !c->implausible; i++) {
		const struct counter_sample s = {(int64_t)sum[i].value, sum[i].enabled_ns,
						 sum[i].running_ns};

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
	c->last_busy_ns = read_busy(c);
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
	if (isnan(r.value))
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
		r.value = q->run[INSTRUCTIONS].scaled / cycles;
		return r;
	}
	r.state = state_of(q, CYCLES, CYCLES + 1, c->intervals);
	if (r.state == PMU_DOUBTFUL && q->missing[CYCLES])
		r.reason = "not available: the busy time is that of the whole run, and some "
			   "intervals were not counted";
	else if (c->busy_ns < BUSY_MIN_NS)
		r.reason = "not available: the CPUs worked less than 0.5 s in this run";
	r.value = r.reason ? (double)NAN : cycles / c->busy_ns;
	return r;
}

static void put_derived(const struct core_counters *c, enum derived i, struct record_writer *w,
			uint64_t *last_series)
{
	struct series_decl d = decl(c, deriveds[i].metric, deriveds[i].unit);
	struct result r = derive(c, i);
	uint64_t number;

	if (c->implausible) {
		r.value = (double)NAN;
		r.reason = c->implausible;
	}
	d.method = method_of(c, i);
	if (!pmu_state_has_value(r.state) || isnan(r.value)) {
		d.kind = "absent";
		d.reason = r.reason ? r.reason : pmu_state_reason(r.state);
		(void)series_declare_more(w, last_series, &d);
		return;
	}
	d.kind = "value";
	d.state = pmu_state_name(r.state);
	if (r.state != PMU_EXACT)
		d.reason = pmu_state_reason(r.state);
	number = series_declare_more(w, last_series, &d);
	record_item_value(w, number, r.value);
}

void core_counters_finish(struct core_counters *c, struct record_writer *w, uint64_t *last_series)
{
	for (enum derived i = 0; i < DERIVED; i++)
		if (!c->why[i][0] && c->intervals)
			put_derived(c, i, w, last_series);
}

void core_counters_summary(const struct core_counters *c, struct marks *marks)
{
	const struct question *both[] = {&c->base, &c->slots};

	if (c->implausible)
		marks_add(marks, "counters-untrusted",
			  "%s: %s; no value of the hardware counters is given", c->core.name,
			  c->implausible);
	for (size_t k = 0; k < ARRAY_LEN(both); k++)
		for (size_t i = 0; i < both[k]->events; i++) {
			enum pmu_state s = both[k]->worst[i];

			if (both[k]->missing[i] && s != PMU_ABSENT)
				marks_add(marks, "pmu-gap",
					  "%llu intervals have no number of the hardware counters "
					  "(%s): %s",
					  (unsigned long long)both[k]->missing[i],
					  pmu_state_name(s), pmu_state_reason(s));
			else if (s == PMU_ESTIMATED || s == PMU_DOUBTFUL)
				marks_add(marks, "pmu-multiplexed",
					  "hardware counters were shared with other events: %s",
					  pmu_state_reason(s));
		}
}
