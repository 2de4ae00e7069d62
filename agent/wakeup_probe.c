/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wake-up threads as a probe: one histogram series per CPU. */
#include <stdio.h>

#include "agent/wakeup.h"
#include "common/check.h"

struct cpu_total {
	uint64_t series, missed;
};

struct wakeup_probe {
	struct probe p;
	struct wakeup *w;
	struct cpu_total *cpu;
	uint64_t lost;
	int64_t cpu_ns_begin;
	struct hist_rec total, warmup;
};

static void on_declare(struct probe *p, struct series_list *l)
{
	struct wakeup_probe *wp = CONTAINER_OF(p, struct wakeup_probe, p);

	for (size_t i = 0; i < wakeup_threads(wp->w); i++) {
		char cpu[16];
		const struct wakeup_thread_info *info = wakeup_info(wp->w, i);
		const char *absent = info->running ? NULL : "no measuring thread on this CPU";
		const struct series_decl d = {
			.metric = "wakeup_latency",
			.kind = absent ? "absent" : "hist",
			.reason = absent,
			.unit = "ns",
			.label = {{"cpu", cpu}},
			.method = "rigstat-wakeup/1",
			.omission = "keeps_deadlines",
			.state = absent ? NULL : "exact",
			.interval_ns = wakeup_period_ns(wp->w),
			.resolution_ns = 1,
		};

		snprintf(cpu, sizeof(cpu), "%d", info->cpu);
		wp->cpu[i] = (struct cpu_total){.series = series_declare(l, &d)};
	}
}

static void on_begin(struct probe *p)
{
	struct wakeup_probe *wp = CONTAINER_OF(p, struct wakeup_probe, p);
	uint64_t missed;

	for (size_t i = 0; i < wakeup_threads(wp->w); i++) {
		(void)wakeup_take(wp->w, i, &missed);
		wp->cpu[i].missed = 0;
	}
	wp->lost = 0;
	wp->cpu_ns_begin = wakeup_cpu_ns(wp->w);
	hist_rec_reset(&wp->total);
	hist_rec_reset(&wp->warmup);
}

/* hist_rec_merge() takes the encoded or bucket form; two recorders of one layout add slot by
 * slot, between the slots of the extremes. */
static void add_total(struct hist_rec *to, const struct hist_rec *from)
{
	uint32_t lo = from->min > 0 ? hist_slot(from->min) : 0;

	if (!from->count)
		return;
	if (from->max >= 0)
		for (uint32_t s = lo; s <= hist_slot(from->max); s++)
			to->n[s] += from->n[s];
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (!to->count || from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->negative += from->negative;
	to->sum_lost |= from->sum_lost | __builtin_add_overflow(to->sum, from->sum, &to->sum);
}

static void on_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct wakeup_probe *wp = CONTAINER_OF(p, struct wakeup_probe, p);

	for (size_t i = 0; i < wakeup_threads(wp->w); i++) {
		uint64_t missed;
		const struct hist_rec *h = wakeup_take(wp->w, i, &missed);

		if (!wakeup_info(wp->w, i)->running)
			continue;
		wakeup_check(wp->w, i);
		record_item_hist(w, wp->cpu[i].series, in->t0_ns, in->dt_ns, h);
		if (!in->measured) {
			if (!wp->total.count)
				add_total(&wp->warmup, h);
			continue;
		}
		wp->cpu[i].missed += missed;
		wp->lost += h->lost;
		wp->total.lost += h->lost;
		add_total(&wp->total, h);
	}
}

static void on_summary(struct probe *p, struct run_summary *s)
{
	struct wakeup_probe *wp = CONTAINER_OF(p, struct wakeup_probe, p);
	const struct marks *m = wakeup_marks(wp->w);

	for (size_t i = 0; i < wakeup_threads(wp->w); i++)
		run_summary_missed(s, wp->cpu[i].series, wp->cpu[i].missed);
	for (size_t i = 0; i < m->len; i++)
		marks_add(&s->marks, m->v[i].code, "%s", m->v[i].text);
	s->lost += wp->lost;
	s->measure_cpu_ns += wakeup_cpu_ns(wp->w) - wp->cpu_ns_begin;
}

static void on_cost(struct probe *p, struct probe_cost *ret)
{
	ret->threads_ns = wakeup_cpu_ns(CONTAINER_OF(p, struct wakeup_probe, p)->w);
}

static void on_free(struct probe *p)
{
	struct wakeup_probe *wp = CONTAINER_OF(p, struct wakeup_probe, p);

	free(wp->cpu);
	free(wp);
}

struct probe *wakeup_probe(struct wakeup *w)
{
	struct wakeup_probe *wp = xcalloc(1, sizeof(*wp));

	wp->w = w;
	wp->cpu = xcalloc(wakeup_threads(w), sizeof(*wp->cpu));
	wp->p = (struct probe){
		.name = "wakeup",
		.declare = on_declare,
		.begin = on_begin,
		.collect = on_collect,
		.summary = on_summary,
		.cost = on_cost,
		.free = on_free,
	};
	return &wp->p;
}

const struct hist_rec *wakeup_probe_total(const struct probe *p)
{
	return &CONTAINER_OF(p, struct wakeup_probe, p)->total;
}

const struct hist_rec *wakeup_probe_warmup(const struct probe *p)
{
	return &CONTAINER_OF(p, struct wakeup_probe, p)->warmup;
}
