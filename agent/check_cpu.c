/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs: frequency, turbo, SMT, idle states, isolation, interrupts, steal and SMIs. */
#include "agent/check.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "agent/hw_read.h"
#include "agent/sysread.h"
#include "common/parse.h"

#define CPU_DIR	       "/sys/devices/system/cpu"
#define SAMPLE_NS      (500 * NS_PER_MS)
#define IDLE_US_NOTICE 20

/* "0-1,4" of the CPUs for which the predicate holds. */
static void put_cpus(const bool *cpus, struct strbuf *out)
{
	for (size_t i = 0; i < AGENT_CPUS_MAX; i++) {
		size_t end = i;

		if (!cpus[i])
			continue;
		while (end + 1 < AGENT_CPUS_MAX && cpus[end + 1])
			end++;
		strbuf_printf(out, end > i ? "%s%zu-%zu" : "%s%zu", out->len ? "," : "", i, end);
		i = end;
	}
}

static void read_cpu_list(const struct checks *c, const char *path, bool *ret)
{
	char line[SYSREAD_MAX];

	memset(ret, 0, AGENT_CPUS_MAX * sizeof(*ret));
	if (sysread_line(line, sizeof(line), c->root, "%s", path) && *line &&
	    parse_cpu_list(line, ret, AGENT_CPUS_MAX, NULL))
		memset(ret, 0, AGENT_CPUS_MAX * sizeof(*ret));
}

/* ---- frequency ---- */

static void check_governor(struct checks *c)
{
	char line[SYSREAD_MAX], other[64] = "";
	bool any = false;

	for (size_t i = 0; i < AGENT_CPUS_MAX; i++) {
		if (!c->conf->cpus[i] ||
		    !sysread_line(line, sizeof(line), c->root,
				  CPU_DIR "/cpu%zu/cpufreq/scaling_governor", i))
			continue;
		any = true;
		if (strcmp(line, "performance") != 0)
			snprintf(other, sizeof(other), "%.63s", line);
	}
	if (!any)
		check_add(c, CHECK_OK, "governor", NULL,
			  "the kernel does not scale the frequency here (a virtual machine, or the "
			  "firmware does)");
	else if (!*other)
		check_add(c, CHECK_OK, "governor", NULL, "performance on every measured CPU");
	else
		check_add(c, CHECK_WARN, "governor", "cpupower frequency-set -g performance",
			  "is %s: the frequency follows the load, and so does latency", other);
}

static void check_turbo(struct checks *c)
{
	char boost[SYSREAD_MAX], no_turbo[SYSREAD_MAX];
	bool has_boost = sysread_line(boost, sizeof(boost), c->root, CPU_DIR "/cpufreq/boost");
	bool has_intel =
		sysread_line(no_turbo, sizeof(no_turbo), c->root, CPU_DIR "/intel_pstate/no_turbo");

	if (has_intel && !strcmp(no_turbo, "0"))
		check_add(c, CHECK_WARN, "turbo", "echo 1 > " CPU_DIR "/intel_pstate/no_turbo",
			  "is on: the frequency depends on temperature and neighbours");
	else if (!has_intel && has_boost && !strcmp(boost, "1"))
		check_add(c, CHECK_WARN, "turbo", "echo 0 > " CPU_DIR "/cpufreq/boost",
			  "boost is on: the frequency depends on temperature and neighbours");
	else
		check_add(c, CHECK_OK, "turbo", NULL,
			  has_intel || has_boost ? "is off" : "cannot be set here");
}

static void check_smt(struct checks *c)
{
	char line[SYSREAD_MAX];

	if (sysread_line(line, sizeof(line), c->root, CPU_DIR "/smt/active") && !strcmp(line, "1"))
		check_add(c, CHECK_WARN, "smt",
			  "echo off > " CPU_DIR "/smt/control, or measure one thread of each core",
			  "is on: the sibling of a measured CPU shares its core");
	else
		check_add(c, CHECK_OK, "smt", NULL, "no CPU shares its core");
}

/* ---- idle states ---- */

struct deepest {
	const struct checks *c;
	size_t cpu;
	int64_t latency_us;
	char name[64];
};

static void look_at_state(void *user, const char *name)
{
	struct deepest *d = user;
	char line[SYSREAD_MAX];
	int64_t us;

	if (sysread_line(line, sizeof(line), d->c->root, CPU_DIR "/cpu%zu/cpuidle/%s/disable",
			 d->cpu, name) &&
	    strcmp(line, "0") != 0)
		return;
	if (!sysread_line(line, sizeof(line), d->c->root, CPU_DIR "/cpu%zu/cpuidle/%s/latency",
			  d->cpu, name) ||
	    parse_i64(line, &us, NULL) || us <= d->latency_us)
		return;
	d->latency_us = us;
	if (sysread_line(line, sizeof(line), d->c->root, CPU_DIR "/cpu%zu/cpuidle/%s/name", d->cpu,
			 name))
		snprintf(d->name, sizeof(d->name), "%.63s", line);
}

static void check_idle(struct checks *c)
{
	CLEANUP(freep) char *held = xasprintf("%s/dev/cpu_dma_latency", c->root);
	struct deepest d = {.c = c};

	for (d.cpu = 0; d.cpu < AGENT_CPUS_MAX; d.cpu++) {
		CLEANUP(freep) char *dir = xasprintf(CPU_DIR "/cpu%zu/cpuidle", d.cpu);

		if (c->conf->cpus[d.cpu])
			sysread_dir(c->root, dir, look_at_state, &d);
	}
	if (d.latency_us <= IDLE_US_NOTICE)
		check_add(c, CHECK_OK, "idle", NULL, "no idle state takes more than %d us to leave",
			  IDLE_US_NOTICE);
	else if (c->conf->use_dma_latency && access(held, W_OK) == 0)
		check_add(c, CHECK_OK, "idle", NULL,
			  "%s takes %lld us to leave; the agent holds deep states off while it "
			  "measures",
			  d.name, (long long)d.latency_us);
	else
		check_add(c, CHECK_WARN, "idle",
			  "let the agent write /dev/cpu_dma_latency (do not use --no-dma-latency), "
			  "or cpupower idle-set -D 2",
			  "%s takes %lld us to leave, which shows in every wake-up", d.name,
			  (long long)d.latency_us);
}

/* ---- which CPUs ---- */

static void check_isolation(struct checks *c)
{
	CLEANUP(strbuf_done) struct strbuf open_cpus = {0};
	bool online[AGENT_CPUS_MAX], isolated[AGENT_CPUS_MAX], open[AGENT_CPUS_MAX];
	size_t left = 0;

	read_cpu_list(c, CPU_DIR "/online", online);
	read_cpu_list(c, CPU_DIR "/isolated", isolated);
	for (size_t i = 0; i < AGENT_CPUS_MAX; i++) {
		left += online[i] && !c->conf->cpus[i];
		open[i] = online[i] && c->conf->cpus[i] && !isolated[i];
	}
	put_cpus(open, &open_cpus);
	if (!left)
		check_add(c, CHECK_WARN, "housekeeping",
			  "leave one CPU out, e.g. --cpus 1-3 of four",
			  "every CPU is measured, so the agent's own work runs on one of them");
	else
		check_add(c, CHECK_OK, "housekeeping", NULL,
			  "%zu CPUs are not measured and carry the agent's own work", left);
	if (open_cpus.len)
		check_add(c, CHECK_OK, "isolcpus", NULL,
			  "CPU %s is measured as part of the whole system; for the floor of the "
			  "hardware boot with isolcpus= and nohz_full=",
			  open_cpus.data);
	else
		check_add(c, CHECK_OK, "isolcpus", NULL, "every measured CPU is isolated");
}

struct irq_walk {
	struct checks *c;
	size_t irqs;
};

static void look_at_irq(void *user, const char *name)
{
	struct irq_walk *w = user;
	bool cpus[AGENT_CPUS_MAX];
	CLEANUP(freep) char *path = xasprintf("/proc/irq/%s/smp_affinity_list", name);

	read_cpu_list(w->c, path, cpus);
	for (size_t i = 0; i < AGENT_CPUS_MAX; i++)
		if (cpus[i] && w->c->conf->cpus[i]) {
			w->irqs++;
			return;
		}
}

/* Interrupts on measured CPUs matter to those who chose these CPUs. */
static void check_irqs(struct checks *c)
{
	struct irq_walk w = {.c = c};

	sysread_dir(c->root, "/proc/irq", look_at_irq, &w);
	if (!w.irqs)
		check_add(c, CHECK_OK, "irq-affinity", NULL, "no interrupt goes to a measured CPU");
	else if (!c->conf->cpus_given)
		check_add(c, CHECK_OK, "irq-affinity", NULL,
			  "%zu interrupts may go to measured CPUs: part of what is measured",
			  w.irqs);
	else
		check_add(c, CHECK_WARN, "irq-affinity",
			  "write the other CPUs to /proc/irq/*/smp_affinity_list and stop "
			  "irqbalance, or boot with irqaffinity=",
			  "%zu interrupts may go to the chosen CPUs", w.irqs);
}

/* ---- what others take ---- */

struct taken {
	struct hw_ticks ticks;
	uint64_t smi;
	bool has_smi;
};

static struct taken read_taken(const struct checks *c)
{
	struct taken t = {0};

	(void)hw_read_ticks(c->root, &t.ticks);
	t.has_smi = hw_read_smi_msr(c->root, &t.smi);
	return t;
}

static void check_steal(struct checks *c, const struct taken *a, const struct taken *b)
{
	uint64_t all = b->ticks.all - a->ticks.all;
	double share = all ? 100.0 * (double)(b->ticks.steal - a->ticks.steal) / (double)all : 0;

	if (!hw_is_virtual(c->root) && share == 0)
		check_add(c, CHECK_OK, "steal", NULL, "no hypervisor takes CPU time away");
	else
		check_add(
			c, CHECK_WARN, "steal",
			"measure on bare metal for absolute latencies; compare ratios here",
			"a virtual machine: its host took %.1f %% of the CPU time in the last half "
			"second, and can do so at any moment",
			share);
}

static void check_smi(struct checks *c, const struct taken *a, const struct taken *b)
{
	if (!a->has_smi || !b->has_smi)
		check_add(c, CHECK_OK, "smi", NULL,
			  "system management interrupts cannot be counted here (needs an Intel CPU "
			  "and the msr module)");
	else if (b->smi > a->smi)
		check_add(c, CHECK_WARN, "smi",
			  "look for USB legacy support, ECC scrubbing and power capping in the "
			  "firmware's setup",
			  "%llu system management interrupts in half a second stop every CPU",
			  (unsigned long long)(b->smi - a->smi));
	else
		check_add(c, CHECK_OK, "smi", NULL,
			  "no system management interrupt in half a second (%llu since boot)",
			  (unsigned long long)b->smi);
}

static void check_taken(struct checks *c)
{
	static const struct timespec pause = {.tv_nsec = SAMPLE_NS};
	struct taken before = read_taken(c), after;

	nanosleep(&pause, NULL);
	after = read_taken(c);
	check_steal(c, &before, &after);
	check_smi(c, &before, &after);
}

void check_cpu(struct checks *c)
{
	check_governor(c);
	check_turbo(c);
	check_smt(c);
	check_idle(c);
	check_isolation(c);
	check_irqs(c);
	check_taken(c);
}
