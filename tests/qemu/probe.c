/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole counters probe on a machine with a PMU: what a run would say, as `key=value`. */
#include <stdio.h>

#include "agent/pmu.h"
#include "agent/sysinfo.h"
#include "agent/sysread.h"
#include "common/clock.h"
#include "common/parse.h"
#include "tests/qemu/init.h"

#define SERIES_MAX 32

struct series_list {
	uint64_t last;
};

static char metrics[SERIES_MAX][64]; /* by series number */

static void put_series(uint64_t number, const struct series_decl *d)
{
	if (number >= SERIES_MAX)
		return;
	snprintf(metrics[number], sizeof(metrics[0]), "%s", d->metric);
	printf("probe.%s.kind=%s\n", d->metric, d->kind);
	if (d->state)
		printf("probe.%s.state=%s\n", d->metric, d->state);
	if (d->method)
		printf("probe.%s.method=%s\n", d->metric, d->method);
	if (d->reason)
		printf("probe.%s.reason=%s\n", d->metric, d->reason);
}

/* ---- in place of the sampler and of sysinfo ---- */

uint64_t series_declare(struct series_list *l, const struct series_decl *d)
{
	put_series(++l->last, d);
	return l->last;
}

uint64_t series_declare_more(struct record_writer *w, uint64_t *last, const struct series_decl *d)
{
	(void)w;
	put_series(++*last, d);
	return *last;
}

size_t sysinfo_online_cpus(bool *cpus, size_t cap)
{
	char line[SYSREAD_MAX];
	size_t n = 0;

	if (!sysread_line(line, sizeof(line), "", "/sys/devices/system/cpu/online") ||
	    parse_cpu_list(line, cpus, cap, NULL))
		return 0;
	for (size_t i = 0; i < cap; i++)
		n += cpus[i];
	return n;
}

/* ---- one run ---- */

static void put_items(struct record_writer *w)
{
	struct record_header h;
	struct record_item it;
	struct reader r;

	record_finish(w, 1, 1, 0, 0);
	if (record_check(w->buf.data, w->buf.len, &h, NULL)) {
		printf("failed=record\n");
		return;
	}
	r = record_payload(w->buf.data, &h);
	while (record_next_item(&r, &it, NULL) == 1) {
		struct counter_sample s;
		struct item_counter c;
		uint64_t number;
		double value;

		if (it.type == ITEM_VALUE && !item_value_read(&it, &number, &value, NULL))
			printf("probe.%s.value=%.6f\n", metrics[number % SERIES_MAX], value);
		if (it.type == ITEM_COUNTER && item_counter_read(&it, &c, NULL) >= 0 &&
		    item_counter_next(&c, &s, NULL) >= 0)
			printf("probe.%s.delta=%lld\nprobe.%s.residency=%.4f\n",
			       metrics[c.series % SERIES_MAX], (long long)s.delta,
			       metrics[c.series % SERIES_MAX],
			       (double)s.running_ns / (double)s.enabled_ns);
	}
}

void scenario_probe(void)
{
	char *events[] = {"instructions:u", "context-switches", "armv8_pmuv3/cpu_cycles/",
			  "no-such-event"};
	const struct pmu_conf conf = {.events = events, .events_len = ARRAY_LEN(events)};
	struct interval in = {.t0_ns = clock_realtime_ns(), .measured = true};
	struct probe *p = pmu_probe(&conf);
	struct run_summary sum = {0};
	struct record_writer w = {0};
	struct series_list l = {0};
	int64_t begin;

	p->declare(p, &l);
	p->begin(p);
	begin = clock_boottime_ns();
	spin(400000000);
	in.dt_ns = clock_boottime_ns() - begin;
	record_begin(&w);
	p->collect(p, &in, &w);
	p->finish(p, &w, &l.last);
	put_items(&w);
	p->summary(p, &sum);
	for (size_t i = 0; i < sum.marks.len; i++)
		printf("probe.mark.%zu=%s: %s\n", i, sum.marks.v[i].code, sum.marks.v[i].text);
	printf("probe.marks=%zu\n", sum.marks.len);
	marks_done(&sum.marks);
	record_writer_done(&w);
	p->free(p);
}
