/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole counters probe on a machine with a PMU: what a run would say, as `key=value`. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

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
	for (size_t i = 0; i < ARRAY_LEN(d->label) && d->label[i][0]; i++)
		printf("probe.%s.%s=%s\n", d->metric, d->label[i][0], d->label[i][1]);
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

/* Work of a known length as a workload: held until its counters are open, then exec(). */
static void run_child(struct probe *p)
{
	int go[2];
	char byte;
	pid_t pid;

	if (pipe(go))
		printf("failed=pipe: %m\n");
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 0)
			execl("/proc/self/exe", "init", "spin", (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	p->workload(p, pid);
	close(go[1]);
	waitpid(pid, NULL, 0);
}

static void measure(enum pmu_mode mode)
{
	char *events[] = {"instructions:u", "context-switches", "armv8_pmuv3/cpu_cycles/",
			  "no-such-event"};
	const struct pmu_conf conf = {
		.events = events, .events_len = ARRAY_LEN(events), .scope = {mode, NULL, true}};
	struct interval in = {.t0_ns = clock_realtime_ns(), .measured = true};
	struct probe *p = pmu_probe(&conf);
	struct run_summary sum = {0};
	struct record_writer w = {0};
	struct series_list l = {0};
	int64_t begin;

	p->declare(p, &l);
	p->begin(p);
	begin = clock_boottime_ns();
	if (mode == PMU_TASK)
		run_child(p);
	else
		spin(KNOWN_LOOPS);
	in.dt_ns = clock_boottime_ns() - begin;
	record_begin(&w);
	p->collect(p, &in, &w);
	p->finish(p, &w, &l.last);
	put_items(&w);
	p->summary(p, &sum);
	for (size_t i = 0; i < sum.marks.len; i++)
		printf("probe.mark.%zu=%s: %s\n", i, sum.marks.v[i].code, sum.marks.v[i].text);
	printf("probe.marks=%zu\n", sum.marks.len);
	for (size_t i = 0; i < sum.states_len; i++)
		printf("probe.%s.end=%s %s\n", metrics[sum.states[i].series % SERIES_MAX],
		       sum.states[i].state ? sum.states[i].state : "-", sum.states[i].reason);
	run_summary_done(&sum);
	record_writer_done(&w);
	p->free(p);
}

void scenario_probe(void)
{
	measure(PMU_BOX);
}

void scenario_probe_workload(void)
{
	measure(PMU_TASK);
}
