/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/sampler.h"

#include <stdio.h>
#include <time.h>

#include "agent/facts.h"
#include "agent/meter.h"
#include "common/check.h"
#include "common/clock.h"

struct entry {
	struct probe *probe;
	struct meter meter;
	struct probe_cost begin; /* of the run */
	int64_t threads_ns;	 /* that the meter has seen */
};

struct sampler {
	struct entry *v;
	size_t len, cap;
	int64_t last_boottime_ns, last_realtime_ns;
};

struct series_list {
	struct record_writer *w;
	uint64_t last;
};

struct sampler *sampler_new(void)
{
	return xcalloc(1, sizeof(struct sampler));
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->len; i++)
		s->v[i].probe->free(s->v[i].probe);
	free(s->v);
	free(s);
}

void sampler_budget(struct sampler *s, const char *probe, double part)
{
	for (size_t i = 0; i < s->len; i++)
		if (!strcmp(s->v[i].probe->name, probe))
			s->v[i].meter.budget = part;
}

void sampler_add(struct sampler *s, struct probe *p)
{
	GROW(s->v, s->len, s->cap);
	s->v[s->len++] = (struct entry){.probe = p, .meter = {.budget = p->budget}};
}

/* ---- what it costs ---- */

static int64_t thread_cpu_ns(void)
{
	struct timespec ts;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static struct probe_cost cost_of(const struct entry *e)
{
	struct probe_cost c = {0, -1};

	if (e->probe->cost)
		e->probe->cost(e->probe, &c);
	return c;
}

/* Adds the loop thread's time since `before_ns` and what the probe's threads took meanwhile.
 * Returns all of it. */
static int64_t charge(struct entry *e, int64_t before_ns)
{
	int64_t loop_ns = thread_cpu_ns() - before_ns, threads_ns = cost_of(e).threads_ns;
	int64_t ns = loop_ns + threads_ns - e->threads_ns;

	e->threads_ns = threads_ns;
	e->meter.cpu_ns += ns;
	return ns;
}

/* Only what comes again every interval is held against the budget. */
static void keep_budget(struct entry *e, int64_t spent_ns)
{
	if (e->probe->slow && meter_spend(&e->meter, spent_ns, clock_boottime_ns()))
		e->probe->slow(e->probe, e->meter.divisor);
}

/* Each run starts at the full rate, so that runs of one experiment are alike. */
static void start_metering(struct sampler *s)
{
	for (size_t i = 0; i < s->len; i++) {
		struct entry *e = &s->v[i];

		meter_begin(&e->meter, clock_boottime_ns());
		e->begin = cost_of(e);
		e->threads_ns = e->begin.threads_ns;
		if (e->probe->slow)
			e->probe->slow(e->probe, 1);
	}
}

void sampler_put_costs(struct sampler *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->len; i++) {
		const struct entry *e = &s->v[i];
		struct probe_cost now = cost_of(e);
		bool known = now.kernel_ns >= 0 && e->begin.kernel_ns >= 0;

		strbuf_puts(out, i ? "," : "");
		meter_put_json(&e->meter, e->probe->name,
			       known ? now.kernel_ns - e->begin.kernel_ns : now.kernel_ns, out);
	}
}

static void mark_slowed(const struct entry *e, struct run_summary *s)
{
	char code[64];

	if (e->meter.divisor <= 1)
		return;
	(void)snprintf(code, sizeof(code), "%s-rate-halved", e->probe->name);
	marks_add(&s->marks, code, "%s cost more than %g %% of a CPU, so its rate was cut to 1/%u",
		  e->probe->expense, 100 * e->meter.budget, e->meter.divisor);
}

/* ---- intervals ---- */

static void put_member(struct strbuf *j, const char *key, const char *value)
{
	if (!value)
		return;
	strbuf_printf(j, ",\"%s\":", key);
	json_put_string(j, value);
}

static void put_decl(struct strbuf *j, const struct series_decl *d)
{
	strbuf_puts(j, "{\"metric\":");
	json_put_string(j, d->metric);
	put_member(j, "kind", d->kind);
	put_member(j, "unit", d->unit);
	strbuf_puts(j, ",\"labels\":{");
	for (size_t i = 0; i < ARRAY_LEN(d->label) && d->label[i][0]; i++) {
		if (i)
			strbuf_putc(j, ',');
		json_put_string(j, d->label[i][0]);
		strbuf_putc(j, ':');
		json_put_string(j, d->label[i][1]);
	}
	strbuf_putc(j, '}');
	put_member(j, "method", d->method);
	put_member(j, "omission", d->omission);
	put_member(j, "state", d->state);
	put_member(j, "reason", d->reason);
	if (d->interval_ns)
		strbuf_printf(j, ",\"interval_ns\":%lld", (long long)d->interval_ns);
	if (d->resolution_ns)
		strbuf_printf(j, ",\"resolution_ns\":%lld", (long long)d->resolution_ns);
	strbuf_putc(j, '}');
}

uint64_t series_declare_more(struct record_writer *w, uint64_t *last, const struct series_decl *d)
{
	struct strbuf j CLEANUP(strbuf_done) = {0};

	put_decl(&j, d);
	record_item_series(w, ++*last, j.data, j.len);
	return *last;
}

uint64_t series_declare(struct series_list *l, const struct series_decl *d)
{
	return series_declare_more(l->w, &l->last, d);
}

static void now(struct sampler *s)
{
	s->last_boottime_ns = clock_boottime_ns();
	s->last_realtime_ns = clock_realtime_ns();
}

uint64_t sampler_begin(struct sampler *s, struct record_writer *w)
{
	struct series_list l = {.w = w};

	start_metering(s);
	for (size_t i = 0; i < s->len; i++)
		s->v[i].probe->declare(s->v[i].probe, &l);
	sampler_discard(s);
	return l.last;
}

void sampler_workload(struct sampler *s, int pid)
{
	for (size_t i = 0; i < s->len; i++) {
		int64_t before_ns = thread_cpu_ns();

		if (s->v[i].probe->workload)
			s->v[i].probe->workload(s->v[i].probe, pid);
		(void)charge(&s->v[i], before_ns);
	}
}

void sampler_collect(struct sampler *s, bool measured, bool edge, struct record_writer *w)
{
	struct interval in = {.t0_ns = s->last_realtime_ns, .measured = measured, .edge = edge};
	int64_t before = s->last_boottime_ns;

	now(s);
	in.dt_ns = s->last_boottime_ns - before;
	for (size_t i = 0; i < s->len; i++) {
		int64_t before_ns = thread_cpu_ns();

		s->v[i].probe->collect(s->v[i].probe, &in, w);
		keep_budget(&s->v[i], charge(&s->v[i], before_ns));
	}
}

void sampler_discard(struct sampler *s)
{
	for (size_t i = 0; i < s->len; i++) {
		int64_t before_ns = thread_cpu_ns();

		if (s->v[i].probe->begin)
			s->v[i].probe->begin(s->v[i].probe);
		(void)charge(&s->v[i], before_ns);
	}
	now(s);
}

void sampler_finish(struct sampler *s, struct record_writer *w, uint64_t *last_series)
{
	for (size_t i = 0; i < s->len; i++) {
		int64_t before_ns = thread_cpu_ns();

		if (s->v[i].probe->finish)
			s->v[i].probe->finish(s->v[i].probe, w, last_series);
		(void)charge(&s->v[i], before_ns);
	}
}

void sampler_summary(struct sampler *s, struct run_summary *ret)
{
	*ret = (struct run_summary){0};
	for (size_t i = 0; i < s->len; i++) {
		if (s->v[i].probe->summary)
			s->v[i].probe->summary(s->v[i].probe, ret);
		mark_slowed(&s->v[i], ret);
	}
}
