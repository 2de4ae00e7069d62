/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups on this very box with software events, which every kernel counts. Hardware: tests/qemu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/pmu_group.h"

#define ROUNDS 5000

static struct pmu_group *open_one(const char *name, const struct pmu_target *target)
{
	struct pmu_event e;
	const struct pmu_event *events[] = {&e};
	struct pmu_group *g;
	int error;

	assert_int_equal(pmu_event_parse(name, "", &e, NULL), 0);
	g = pmu_group_open(events, 1, target);
	error = pmu_group_error(g, 0);
	if (error == EACCES || error == EPERM || error == ENOSYS) {
		pmu_group_close(g);
		skip();
	}
	assert_int_equal(error, 0);
	return g;
}

/* 64 pages touched for the first time: deltas, not totals. */
static void page_faults(void **state)
{
	struct pmu_group *g = open_one("minor-faults:u", &(struct pmu_target){.mode = PMU_TASK});
	struct pmu_sum sum[PMU_GROUP_MAX];

	(void)state;
	pmu_group_read(g, sum);
	for (size_t i = 0; i < 64; i++) {
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		assert_ptr_not_equal(page, MAP_FAILED);
		*(volatile char *)page = 1;
		assert_int_equal(munmap(page, 4096), 0);
	}
	pmu_group_read(g, sum);
	assert_int_equal(sum[0].state, PMU_EXACT);
	assert_true(sum[0].value >= 64 && sum[0].value < 600);
	pmu_group_read(g, sum);
	assert_true(sum[0].value < 64);
	pmu_group_close(g);
}

/* The caller on one CPU with its child: each byte handed over is one switch. */
static void ping_pong(void)
{
	int there[2], back[2];
	cpu_set_t all, one;
	char c = 'x';
	pid_t pid;

	assert_int_equal(pipe(there) + pipe(back), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < ROUNDS; i++)
			if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++)
		assert_true(write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* A task with the child that it makes later: 2 switches a round, and few by others. */
static void context_switches(void **state)
{
	struct pmu_group *g = open_one("context-switches", &(struct pmu_target){.mode = PMU_TASK});
	struct pmu_sum sum[PMU_GROUP_MAX];

	(void)state;
	pmu_group_read(g, sum);
	ping_pong();
	pmu_group_read(g, sum);
	pmu_group_close(g);
	assert_int_equal(sum[0].state, PMU_EXACT);
	assert_in_range(sum[0].value, 2 * ROUNDS * 95 / 100, 2 * ROUNDS * 105 / 100);
}

/* The whole box: at least what this test did, on every CPU, with the time counted. */
static void box(void **state)
{
	static bool cpus[PMU_CPUS_MAX];
	struct pmu_target target = {.mode = PMU_BOX, .cpus = cpus, .cpus_len = PMU_CPUS_MAX};
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_group *g;

	(void)state;
	cpus[0] = true;
	g = open_one("context-switches", &target);
	pmu_group_read(g, sum);
	ping_pong();
	pmu_group_read(g, sum);
	assert_int_equal(sum[0].places, 1);
	assert_int_equal(sum[0].state, PMU_EXACT);
	assert_true(sum[0].value > 2 * ROUNDS * 95 / 100);
	assert_true(sum[0].enabled_ns == sum[0].running_ns && sum[0].running_ns > 0);
	assert_int_equal(pmu_group_epochs(g), 0);
	pmu_group_close(g);
}

/* A task that does not run: a true 0. A task that is gone: a reason. */
static void idle_and_gone(void **state)
{
	struct pmu_target target = {.mode = PMU_TASK};
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct pmu_event e;
	const struct pmu_event *events[] = {&e};
	struct pmu_group *g;
	int hold[2];
	char c;

	(void)state;
	assert_int_equal(pipe(hold), 0);
	target.pid = fork();
	if (target.pid == 0) {
		close(hold[1]);
		_exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
	}
	nanosleep(&(struct timespec){0, 100 * NS_PER_MS}, NULL);
	g = open_one("task-clock", &target);
	pmu_group_read(g, sum);
	pmu_group_read(g, sum);
	assert_int_equal(sum[0].state, PMU_IDLE);
	assert_int_equal(sum[0].value, 0);
	assert_true(pmu_state_has_value(sum[0].state));
	pmu_group_close(g);
	close(hold[1]);
	assert_int_equal(waitpid(target.pid, NULL, 0), target.pid);
	assert_int_equal(pmu_event_parse("task-clock", "", &e, NULL), 0);
	g = pmu_group_open(events, 1, &target);
	assert_int_equal(pmu_group_error(g, 0), ESRCH);
	pmu_group_read(g, sum);
	assert_int_equal(sum[0].state, PMU_ABSENT);
	pmu_group_close(g);
	close(hold[0]);
}

static void self_test(void **state)
{
	struct pmu_selftest t;
	struct pmu_core cores[PMU_OPENINGS_MAX];

	(void)state;
	pmu_selftest("", &t);
	assert_true(*t.text);
	if (pmu_cores("", cores) == 0)
		assert_int_equal(t.trust, PMU_NO_PMU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_faults), cmocka_unit_test(context_switches),
		cmocka_unit_test(box),	       cmocka_unit_test(idle_and_gone),
		cmocka_unit_test(self_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
