/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /init of a small virtual machine: the agent's own counting code against loops of known length.
 *
 * Arguments are the scenarios to run. Prints `key=value` lines for test_qemu.py, ends with
 * `end=ok` and switches the machine off. Every loop is bounded. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/perf_sampler.h"
#include "agent/pmu_derived.h"
#include "agent/pmu_group.h"
#include "tests/qemu/init.h"

#define GROUPS 12

/* No libpfm4 in this image. */
int pmu_pfm_parse(const char *name, struct pmu_event *ret, struct err *reterr)
{
	(void)ret;
	return err_set(reterr, ERR_NOT_FOUND, "no event \"%s\"", name);
}

void spin(uint64_t loops)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(loops) : : "cc");
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("failed=%s: %m\n", path);
	if (fd >= 0)
		close(fd);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static bool event(const char *name, struct pmu_event *ret)
{
	struct err err;

	if (!pmu_event_parse(name, "", ret, &err))
		return true;
	printf("failed=%s: %s\n", name, err.text);
	return false;
}

static const bool first_cpu[PMU_CPUS_MAX] = {true};
static const bool two_cpus[PMU_CPUS_MAX] = {true, true};

static void put_sum(const char *key, const struct pmu_sum *s)
{
	printf("%s.state=%s\n%s.value=%.0f\n%s.share=%.4f\n%s.places=%u\n", key,
	       pmu_state_name(s->state), key, s->scaled, key,
	       s->enabled_ns ? (double)s->running_ns / (double)s->enabled_ns : -1.0, key,
	       s->places);
}

/* ---- scenarios ---- */

static void self_test(void)
{
	static const char *const words[] = {"trusted", "untrusted", "no-pmu", "not-tested"};
	struct pmu_core cores[PMU_OPENINGS_MAX];
	struct pmu_selftest t;

	printf("cores=%zu\n", pmu_cores("", cores));
	pmu_selftest("", &t);
	printf("selftest=%s\nselftest.text=%s\n", words[t.trust], t.text);
}

/* A task's cycles and instructions of 2 x 5,000,000 instructions. */
static void known_loop(void)
{
	const struct pmu_target self = {.mode = PMU_TASK};
	struct pmu_event e[2];
	const struct pmu_event *list[] = {&e[0], &e[1]};
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_group *g;
	char why[300];

	if (!event("cycles:u", &e[0]) || !event("instructions:u", &e[1]))
		return;
	g = pmu_group_open(list, 2, &self);
	for (size_t i = 0; i < 2; i++)
		if (pmu_group_error(g, i))
			printf("loop.%s.error=%s\n", i ? "instructions" : "cycles",
			       pmu_error_text(pmu_group_error(g, i), PMU_TASK, why, sizeof(why)));
	pmu_group_read(g, sum);
	spin(5000000);
	pmu_group_read(g, sum);
	put_sum("loop.cycles", &sum[0]);
	put_sum("loop.instructions", &sum[1]);
	pmu_group_close(g);
}

/* Twelve groups on six counters: the kernel rotates them, the loop is steady. */
static void multiplexed(void)
{
	const struct pmu_target box = {.mode = PMU_BOX, .cpus = first_cpu, .cpus_len = 1};
	struct pmu_group *g[GROUPS];
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_event e;
	const struct pmu_event *list[] = {&e};

	if (!event("instructions:u", &e))
		return;
	for (size_t i = 0; i < GROUPS; i++)
		g[i] = pmu_group_open(list, 1, &box);
	for (size_t i = 0; i < GROUPS; i++)
		pmu_group_read(g[i], sum);
	spin(400000000);
	for (size_t i = 0; i < GROUPS; i++) {
		char key[16];

		pmu_group_read(g[i], sum);
		snprintf(key, sizeof(key), "mux.%zu", i);
		put_sum(key, &sum[0]);
		pmu_group_close(g[i]);
	}
}

/* Seven pinned events on six counters: the loss is seen, not papered over. */
static void pinned(void)
{
	const struct pmu_target box = {
		.mode = PMU_BOX, .cpus = first_cpu, .cpus_len = 1, .pinned = true};
	struct pmu_group *g[7];
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_event e;
	const struct pmu_event *list[] = {&e};
	unsigned int lost = 0, exact = 0;

	if (!event("instructions:u", &e))
		return;
	for (size_t i = 0; i < ARRAY_LEN(g); i++)
		g[i] = pmu_group_open(list, 1, &box);
	spin(5000000);
	for (size_t i = 0; i < ARRAY_LEN(g); i++) {
		pmu_group_read(g[i], sum);
		lost += sum[0].state == PMU_PINNED_LOST;
		exact += sum[0].state == PMU_EXACT;
	}
	for (size_t i = 0; i < ARRAY_LEN(g); i++)
		pmu_group_close(g[i]);
	printf("pinned.lost=%u\npinned.exact=%u\n", lost, exact);
}

static void hotplug(void)
{
	const struct pmu_target box = {.mode = PMU_BOX, .cpus = two_cpus, .cpus_len = 2};
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_event e;
	const struct pmu_event *list[] = {&e};
	struct pmu_group *g;

	if (!event("cycles", &e))
		return;
	g = pmu_group_open(list, 1, &box);
	sleep_ms(50);
	pmu_group_read(g, sum);
	put_sum("hotplug.before", &sum[0]);
	put_file("/sys/devices/system/cpu/cpu1/online", "0");
	sleep_ms(50);
	pmu_group_read(g, sum);
	put_sum("hotplug.leaves", &sum[0]);
	sleep_ms(50);
	pmu_group_read(g, sum);
	put_sum("hotplug.away", &sum[0]);
	printf("hotplug.away.epochs=%u\n", pmu_group_epochs(g));
	put_file("/sys/devices/system/cpu/cpu1/online", "1");
	sleep_ms(50);
	pmu_group_read(g, sum);
	put_sum("hotplug.returns", &sum[0]);
	sleep_ms(50);
	pmu_group_read(g, sum);
	put_sum("hotplug.after", &sum[0]);
	printf("hotplug.after.epochs=%u\n", pmu_group_epochs(g));
	pmu_group_close(g);
}

/* The percentage that this core's events would give. */
static void unstalled(void)
{
	const struct pmu_target box = {.mode = PMU_BOX, .cpus = first_cpu, .cpus_len = 1};
	struct pmu_core cores[PMU_OPENINGS_MAX];
	struct pmu_event e[PMU_PLAN_EVENTS + 1];
	const struct pmu_event *list[PMU_PLAN_EVENTS + 1] = {&e[0]};
	struct pmu_sum sum[PMU_GROUP_MAX];
	double v[PMU_PLAN_EVENTS] = {0}, value;
	struct pmu_group *g;
	struct pmu_plan plan;
	struct pmu_cpu cpu;
	size_t n = 1;

	if (!pmu_cores("", cores))
		return;
	pmu_cpu_read("", &cores[0], &cpu);
	printf("midr=%llx\nslots=%u\n", (unsigned long long)cpu.midr, cpu.slots);
	pmu_plan_retiring(&cpu, &plan);
	printf("retiring=%s\n", plan.reason ? plan.reason : plan.method);
	pmu_plan_unstalled(&cpu, &plan);
	printf("unstalled=%s\n", plan.reason ? plan.reason : plan.method);
	if (plan.reason || !event("cycles", &e[0]))
		return;
	for (; plan.event[n - 1]; n++) {
		char name[100];

		snprintf(name, sizeof(name), "%s/%s/", cpu.pmu, plan.event[n - 1]);
		list[n] = &e[n];
		if (!event(name, &e[n]))
			return;
	}
	g = pmu_group_open(list, n, &box);
	pmu_group_read(g, sum);
	spin(5000000);
	pmu_group_read(g, sum);
	for (size_t i = 1; i < n; i++) {
		v[i - 1] = sum[i].scaled;
		printf("unstalled.e%zu=%.0f\n", i - 1, v[i - 1]);
	}
	value = pmu_plan_value(&plan, sum[0].scaled, v);
	if (isnan(value))
		printf("unstalled.value=none\n");
	else
		printf("unstalled.value=%.3f\n", value);
	pmu_group_close(g);
}

static pid_t spinner(const char *procs)
{
	pid_t pid = fork();

	if (pid == 0) {
		put_file(procs, "0");
		spin(200000000);
		_exit(0);
	}
	return pid;
}

/* A busy cgroup has all user cycles of the box, an idle one has a true 0. */
static void cgroups(void)
{
	struct pmu_target t = {.mode = PMU_BOX, .cpus = two_cpus, .cpus_len = 2};
	struct pmu_sum box[PMU_GROUP_MAX], a[PMU_GROUP_MAX], b[PMU_GROUP_MAX];
	struct pmu_group *g[3];
	struct pmu_event e;
	const struct pmu_event *list[] = {&e};
	char why[300];
	pid_t pid;

	mkdir("/cg", 0755);
	if (mount("cgroup", "/cg", "cgroup2", 0, NULL) || !event("cycles:u", &e)) {
		printf("failed=cgroup2: %m\n");
		return;
	}
	mkdir("/cg/a", 0755);
	mkdir("/cg/b", 0755);
	t.mode = PMU_CGROUP;
	t.cgroup_fd = open("/cg/a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g[1] = pmu_group_open(list, 1, &t);
	if (pmu_group_error(g[1], 0))
		printf("cgroup.early=%s\n",
		       pmu_error_text(pmu_group_error(g[1], 0), PMU_CGROUP, why, sizeof(why)));
	pmu_group_close(g[1]);
	put_file("/cg/cgroup.subtree_control", "+pids");
	g[1] = pmu_group_open(list, 1, &t);
	t.cgroup_fd = open("/cg/b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g[2] = pmu_group_open(list, 1, &t);
	t.mode = PMU_BOX;
	g[0] = pmu_group_open(list, 1, &t);
	pmu_group_read(g[0], box);
	pmu_group_read(g[1], a);
	pmu_group_read(g[2], b);
	/* Its whole life: reads that interrupt a busy vCPU are far apart under -icount. */
	pid = spinner("/cg/a/cgroup.procs");
	waitpid(pid, NULL, 0);
	pmu_group_read(g[0], box);
	pmu_group_read(g[1], a);
	pmu_group_read(g[2], b);
	put_sum("cgroup.box", &box[0]);
	put_sum("cgroup.a", &a[0]);
	put_sum("cgroup.b", &b[0]);
	for (size_t i = 0; i < ARRAY_LEN(g); i++)
		pmu_group_close(g[i]);
}

/* A workload from its exec() on, with the child that it makes. */
static void workload(void)
{
	struct pmu_target t = {.mode = PMU_TASK, .on_exec = true};
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_event e;
	const struct pmu_event *list[] = {&e};
	struct pmu_group *g;
	int go[2];
	char c;

	if (!event("instructions:u", &e) || pipe(go))
		return;
	t.pid = fork();
	if (t.pid == 0) {
		if (read(go[0], &c, 1) == 1) {
			spin(3000000); /* before exec: does not count */
			execl("/proc/self/exe", "init", "child", (char *)NULL);
		}
		_exit(1);
	}
	g = pmu_group_open(list, 1, &t);
	if (write(go[1], "x", 1) != 1)
		printf("failed=pipe: %m\n");
	waitpid(t.pid, NULL, 0);
	pmu_group_read(g, sum);
	put_sum("workload", &sum[0]);
	pmu_group_close(g);
}

static int child(void)
{
	pid_t pid = fork();

	spin(5000000);
	if (pid)
		waitpid(pid, NULL, 0);
	return 0;
}

/* Seven programmable events in one group do not fit: one must be refused with its reason. */
static void too_big(void)
{
	const struct pmu_target box = {.mode = PMU_BOX, .cpus = first_cpu, .cpus_len = 1};
	struct pmu_group *g[2];
	struct pmu_event e;
	const struct pmu_event *list[] = {&e, &e, &e, &e, &e, &e};
	char why[300];

	if (!event("instructions:u", &e))
		return;
	g[0] = pmu_group_open(list, 6, &box);
	printf("group6.error=%d\n", pmu_group_error(g[0], 5));
	pmu_group_close(g[0]);
	if (!event("r7fff", &e))
		return;
	g[1] = pmu_group_open(list, 1, &box);
	printf("unknown.error=%s\n",
	       pmu_group_error(g[1], 0)
		       ? pmu_error_text(pmu_group_error(g[1], 0), PMU_BOX, why, sizeof(why))
		       : "none");
	pmu_group_close(g[1]);
}

struct sampled {
	uint64_t n, periods;
};

static void on_sample(void *ctx, const struct perf_sample *x)
{
	struct sampled *s = ctx;

	s->n++;
	s->periods += x->period;
}

/* The agent's sampler beside a counter of the same cycles of this one CPU; `period` 0: 99 Hz. */
static void sample(const char *key, uint64_t period)
{
	static const struct perf_sampler_ops ops = {.sample = on_sample};
	const struct pmu_target box = {.mode = PMU_BOX, .cpus = first_cpu, .cpus_len = 1};
	struct sampled seen = {0, 0};
	struct perf_sampler_counts counts;
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct perf_sampler *s;
	struct pmu_event e;
	const struct pmu_event *list[] = {&e};
	struct pmu_group *g;
	struct err err;
	int r;

	if (!event("cycles", &e))
		return;
	r = period ? perf_sampler_open_every(period, &s, &err) : perf_sampler_open(99, &s, &err);
	if (r) {
		printf("failed=sampler: %s\n", err.text);
		return;
	}
	g = pmu_group_open(list, 1, &box);
	pmu_group_read(g, sum);
	if (perf_sampler_start(s, &err))
		printf("failed=start: %s\n", err.text);
	for (int i = 0; i < 10; i++) {
		spin(20000000);
		perf_sampler_drain(s, &ops, &seen);
	}
	pmu_group_read(g, sum);
	/* Without a sample of its own the drain leaves what is younger than its begin. */
	perf_sampler_drain(s, &ops, &seen);
	counts = perf_sampler_take_counts(s);
	printf("%s.kind=%s\n%s.samples=%llu\n%s.periods=%llu\n%s.lost=%llu\n%s.throttled=%llu\n",
	       key, perf_sampler_kind(s) == SAMPLER_CYCLES ? "cycles" : "cpu-clock", key,
	       (unsigned long long)seen.n, key, (unsigned long long)seen.periods, key,
	       (unsigned long long)counts.lost, key, (unsigned long long)counts.throttled);
	put_sum(key, &sum[0]);
	pmu_group_close(g);
	perf_sampler_close(s);
}

static void samples(void)
{
	sample("every", 1000000);
	sample("rate", 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"self_test", self_test}, {"loop", known_loop},
	{"mux", multiplexed},	  {"pinned", pinned},
	{"hotplug", hotplug},	  {"unstalled", unstalled},
	{"cgroups", cgroups},	  {"workload", workload},
	{"too_big", too_big},	  {"probe", scenario_probe},
	{"samples", samples},	  {"probe_workload", scenario_probe_workload},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "child"))
		return child();
	if (argc == 2 && !strcmp(argv[1], "spin")) {
		spin(KNOWN_LOOPS);
		return 0;
	}
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
		printf("failed=mount: %m\n");
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < ARRAY_LEN(scenarios); k++)
			if (!strcmp(argv[i], scenarios[k].name))
				scenarios[k].run();
	printf("end=ok\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
