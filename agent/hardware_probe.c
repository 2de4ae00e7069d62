/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/hardware_probe.h"

#include <stdio.h>

#include "agent/conf.h"
#include "agent/hw_read.h"
#include "agent/pmu_group.h"
#include "agent/sysinfo.h"

#define WENT_BACK  "the counter went back: it was reset, or a CPU came or went"
#define AMD_ZEN	   23
#define AMD_SMI_RX "cpu/event=0x2b/" /* ls_smi_rx: SMIs received */

enum frequency_member { APERF, MPERF, TSC, FREQUENCY_MEMBERS };

/* One number of the run. */
struct disturber {
	const char *metric, *unit, *method;
	char why_not[300]; /* "": it can be read */
	bool has_begin, has_end;
	uint64_t begin, end;
};

enum { SMI, CORE_THROTTLES, PACKAGE_THROTTLES, STEAL, FREQUENCY, DISTURBERS };

struct hardware {
	struct probe base;
	const char *root;
	struct disturber d[DISTURBERS];
	struct pmu_group *smi;	     /* NULL: by MSR, or not at all */
	struct pmu_group *frequency; /* APERF, MPERF, TSC of every CPU */
	struct pmu_sum smi_sum, frequency_sum[FREQUENCY_MEMBERS];
	struct hw_throttle throttle;
	struct hw_ticks ticks[2]; /* at the begin and the end */
	bool begun, over;
};

/* ---- opening ---- */

static struct pmu_group *open_events(const char *const *names, size_t n, const char *root,
				     const bool *cpus, size_t cpus_len, struct err *reterr)
{
	static struct pmu_event event[FREQUENCY_MEMBERS]; /* large; loop thread only */
	const struct pmu_event *list[FREQUENCY_MEMBERS];
	const struct pmu_target target = {.mode = PMU_BOX, .cpus = cpus, .cpus_len = cpus_len};
	struct pmu_group *g;
	char text[300];

	for (size_t i = 0; i < n; i++) {
		if (pmu_event_parse(names[i], root, &event[i], reterr))
			return NULL;
		list[i] = &event[i];
	}
	g = pmu_group_open(list, n, &target);
	for (size_t i = 0; i < n; i++) {
		int error = pmu_group_error(g, i);

		if (!error)
			continue;
		(void)err_set(reterr, ERR_UNSUPPORTED, "%s: %s", names[i],
			      pmu_error_text(error, PMU_BOX, text, sizeof(text)));
		pmu_group_close(g);
		return NULL;
	}
	return g;
}

/* Every CPU takes each SMI, so one CPU is enough. */
static void open_smi(struct hardware *h)
{
	static const char *const intel[] = {"msr/smi/"}, *const amd[] = {AMD_SMI_RX};
	struct disturber *d = &h->d[SMI];
	const bool cpu0[] = {true};
	char vendor[32];
	unsigned int family;
	struct err err;
	uint64_t n;

	h->smi = open_events(intel, 1, h->root, cpu0, ARRAY_LEN(cpu0), &err);
	d->method = "perf-msr-smi/1";
	if (h->smi)
		return;
	d->method = "msr-smi-count/1";
	if (hw_read_smi_msr(h->root, &n))
		return;
	hw_cpu_family(h->root, vendor, &family);
	if (!strcmp(vendor, "AuthenticAMD") && family >= AMD_ZEN)
		h->smi = open_events(amd, 1, h->root, cpu0, ARRAY_LEN(cpu0), &err);
	d->method = "amd-ls-smi-rx/1";
	if (!h->smi)
		(void)snprintf(d->why_not, sizeof(d->why_not),
			       "system management interrupts cannot be counted%s: %.160s, and no "
			       "msr device",
			       hw_is_virtual(h->root) ? " in this virtual machine" : "", err.text);
}

static void open_frequency(struct hardware *h)
{
	static const char *const names[] = {"msr/aperf/", "msr/mperf/", "msr/tsc/"};
	static bool online[AGENT_CPUS_MAX]; /* loop thread only */
	struct err err;

	(void)sysinfo_online_cpus(online, AGENT_CPUS_MAX);
	h->frequency = open_events(names, FREQUENCY_MEMBERS, h->root, online, AGENT_CPUS_MAX, &err);
	if (!h->frequency)
		(void)snprintf(h->d[FREQUENCY].why_not, sizeof(h->d[0].why_not),
			       "the CPU's frequency counters are not there: %.200s", err.text);
}

static void open_throttles(struct hardware *h)
{
	uint64_t n;

	(void)hw_throttle_init(&h->throttle, h->root);
	for (int p = 0; p < HW_PARTS; p++)
		if (!hw_throttle_read(&h->throttle, h->root, (enum hw_part)p, &n))
			(void)snprintf(h->d[CORE_THROTTLES + p].why_not, sizeof(h->d[0].why_not),
				       "the kernel does not count throttling here (no "
				       "thermal_throttle in sysfs)");
}

/* A hypervisor that has never stolen a tick does not say what it steals. */
static void open_steal(struct hardware *h)
{
	struct disturber *d = &h->d[STEAL];
	struct hw_ticks t;

	if (!hw_read_ticks(h->root, &t))
		(void)snprintf(d->why_not, sizeof(d->why_not), "/proc/stat has no stolen time");
	else if (!t.steal && hw_is_virtual(h->root))
		(void)snprintf(d->why_not, sizeof(d->why_not),
			       "this hypervisor does not tell what it takes: the count is 0 since "
			       "boot");
}

/* ---- reading ---- */

static void read_totals(struct hardware *h, bool end)
{
	uint64_t n;

	for (int i = SMI; i <= PACKAGE_THROTTLES; i++) {
		struct disturber *d = &h->d[i];
		bool has;

		if (d->why_not[0] || (i == SMI && h->smi))
			continue;
		has = i == SMI ? hw_read_smi_msr(h->root, &n)
			       : hw_throttle_read(&h->throttle, h->root,
						  (enum hw_part)(i - CORE_THROTTLES), &n);
		*(end ? &d->end : &d->begin) = n;
		*(end ? &d->has_end : &d->has_begin) = has;
	}
}

static void read_all(struct hardware *h, bool end)
{
	struct disturber *steal = &h->d[STEAL];
	struct pmu_sum sum[PMU_GROUP_MAX];

	read_totals(h, end);
	*(end ? &steal->has_end : &steal->has_begin) = hw_read_ticks(h->root, &h->ticks[end]);
	if (h->smi) {
		pmu_group_read(h->smi, sum);
		h->smi_sum = sum[0];
	}
	if (h->frequency) {
		pmu_group_read(h->frequency, sum);
		memcpy(h->frequency_sum, sum, sizeof(h->frequency_sum));
	}
}

static void on_begin(struct probe *p)
{
	struct hardware *h = CONTAINER_OF(p, struct hardware, base);

	h->begun = h->over = false;
}

static void on_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct hardware *h = CONTAINER_OF(p, struct hardware, base);

	(void)w;
	if (!in->edge || h->over)
		return;
	read_all(h, in->measured);
	h->begun |= !in->measured;
	h->over = in->measured && h->begun;
}

/* ---- values ---- */

/* What happened in the window; false with the reason when that is not known. */
static bool count_of(const struct hardware *h, int i, uint64_t *ret, const char **ret_why)
{
	const struct disturber *d = &h->d[i];

	if (d->why_not[0]) {
		*ret_why = d->why_not;
		return false;
	}
	if (i == SMI && h->smi) {
		*ret = h->smi_sum.value;
		*ret_why = pmu_state_reason(h->smi_sum.state);
		return h->smi_sum.state <= PMU_EXACT;
	}
	*ret = d->end - d->begin;
	*ret_why = WENT_BACK;
	return d->has_begin && d->has_end && d->end >= d->begin;
}

/* Percent of all CPU time. */
static bool steal_of(const struct hardware *h, double *ret, const char **ret_why)
{
	const struct disturber *d = &h->d[STEAL];
	const struct hw_ticks *a = &h->ticks[0], *b = &h->ticks[1];

	*ret_why = d->why_not[0] ? d->why_not : WENT_BACK;
	if (d->why_not[0] || !d->has_begin || !d->has_end || b->all <= a->all ||
	    b->steal < a->steal)
		return false;
	*ret = 100.0 * (double)(b->steal - a->steal) / (double)(b->all - a->all);
	return true;
}

static bool frequency_of(const struct hardware *h, double *ret, const char **ret_why)
{
	const struct pmu_sum *s = h->frequency_sum;

	*ret_why = h->d[FREQUENCY].why_not;
	if (h->d[FREQUENCY].why_not[0])
		return false;
	for (size_t i = 0; i < FREQUENCY_MEMBERS; i++) {
		*ret_why = pmu_state_reason(s[i].state);
		if (s[i].state > PMU_EXACT)
			return false;
	}
	*ret_why = "the frequency counters stood still";
	*ret = hw_effective_ghz(s[APERF].value, s[MPERF].value, s[TSC].value, s[TSC].enabled_ns);
	return *ret >= 0;
}

static bool value_of(const struct hardware *h, int i, double *ret, const char **ret_why)
{
	uint64_t n = 0;
	bool known;

	if (i == STEAL)
		return steal_of(h, ret, ret_why);
	if (i == FREQUENCY)
		return frequency_of(h, ret, ret_why);
	known = count_of(h, i, &n, ret_why);
	*ret = known ? (double)n : 0;
	return known;
}

static struct series_decl decl_of(const struct disturber *d, const char *why_not)
{
	return (struct series_decl){.metric = d->metric,
				    .unit = d->unit,
				    .kind = why_not ? "absent" : "value",
				    .method = why_not ? NULL : d->method,
				    .state = why_not ? NULL : "exact",
				    .reason = why_not};
}

static void on_declare(struct probe *p, struct series_list *l)
{
	struct hardware *h = CONTAINER_OF(p, struct hardware, base);

	for (int i = 0; i < DISTURBERS; i++) {
		struct series_decl d = decl_of(&h->d[i], h->d[i].why_not);

		if (h->d[i].why_not[0])
			(void)series_declare(l, &d);
	}
}

static void on_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct hardware *h = CONTAINER_OF(p, struct hardware, base);

	for (int i = 0; h->over && i < DISTURBERS; i++) {
		const char *why;
		double v;
		bool known = value_of(h, i, &v, &why);
		struct series_decl d = decl_of(&h->d[i], known ? NULL : why);
		uint64_t number;

		if (h->d[i].why_not[0])
			continue; /* said at the begin */
		number = series_declare_more(w, last_series, &d);
		if (known)
			record_item_value(w, number, v);
	}
}

static void mark_throttles(const struct hardware *h, struct marks *m)
{
	double core = 0, package = 0;
	const char *why;
	bool known = value_of(h, CORE_THROTTLES, &core, &why);

	known |= value_of(h, PACKAGE_THROTTLES, &package, &why);
	if (known && (core > 0 || package > 0))
		marks_add(m, "throttled",
			  "too hot: cores were slowed %.0f times and packages %.0f times in the "
			  "measured window",
			  core, package);
}

static void on_summary(struct probe *p, struct run_summary *s)
{
	struct hardware *h = CONTAINER_OF(p, struct hardware, base);
	const char *why;
	double v;

	if (!h->over)
		return;
	if (value_of(h, SMI, &v, &why) && v > 0)
		marks_add(&s->marks, "smi",
			  "%.0f system management interrupts of the firmware stopped every CPU in "
			  "the measured window",
			  v);
	mark_throttles(h, &s->marks);
	if (value_of(h, STEAL, &v, &why) && v > 0)
		marks_add(&s->marks, "steal",
			  "the hypervisor gave %.2g %% of the CPU time to others in the measured "
			  "window",
			  v);
}

static void on_free(struct probe *p)
{
	struct hardware *h = CONTAINER_OF(p, struct hardware, base);

	pmu_group_close(h->smi);
	pmu_group_close(h->frequency);
	hw_throttle_done(&h->throttle);
	free(h);
}

struct probe *hardware_probe(const char *root)
{
	struct hardware *h = xcalloc(1, sizeof(*h));

	h->root = root;
	h->base = (struct probe){.name = "hardware",
				 .declare = on_declare,
				 .begin = on_begin,
				 .collect = on_collect,
				 .finish = on_finish,
				 .summary = on_summary,
				 .free = on_free};
	h->d[SMI] = (struct disturber){.metric = "smi_count", .unit = "1"};
	h->d[CORE_THROTTLES] = (struct disturber){
		.metric = "core_throttles", .unit = "1", .method = "thermal-throttle/1"};
	h->d[PACKAGE_THROTTLES] = (struct disturber){
		.metric = "package_throttles", .unit = "1", .method = "thermal-throttle/1"};
	h->d[STEAL] = (struct disturber){
		.metric = "steal_share", .unit = "%", .method = "proc-stat-steal/1"};
	h->d[FREQUENCY] = (struct disturber){
		.metric = "effective_ghz", .unit = "GHz", .method = "aperf-mperf/1"};
	open_smi(h);
	open_throttles(h);
	open_steal(h);
	open_frequency(h);
	return &h->base;
}
