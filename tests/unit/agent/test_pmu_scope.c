/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters count: the configured word, the cgroup's place, label and method of the series. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/pmu_scope.h"

static void words(void **state)
{
	enum pmu_mode mode;
	char *cgroup;

	(void)state;
	assert_int_equal(pmu_scope_parse("box", &mode, &cgroup, NULL), 0);
	assert_int_equal(mode, PMU_BOX);
	assert_null(cgroup);
	assert_int_equal(pmu_scope_parse("workload", &mode, &cgroup, NULL), 0);
	assert_int_equal(mode, PMU_TASK);
	assert_int_equal(pmu_scope_parse("cgroup:/a/b.service", &mode, &cgroup, NULL), 0);
	assert_int_equal(mode, PMU_CGROUP);
	assert_string_equal(cgroup, "/a/b.service");
	free(cgroup);
}

static void bad_words(void **state)
{
	static const char *const bad[] = {"",
					  "boxes",
					  "cgroup",
					  "cgroup:",
					  "cgroup:a",
					  "cgroup:/a/../../etc",
					  "cgroup:/a\nb",
					  "cgroup:/\x01"};
	enum pmu_mode mode;
	char *cgroup;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(pmu_scope_parse(bad[i], &mode, &cgroup, &err), ERR_INVALID);
		assert_null(cgroup);
	}
}

static void methods(void **state)
{
	static const struct {
		enum pmu_mode mode;
		const char *method, *want;
	} cases[] = {
		{PMU_BOX, "perf-sw-cpuwide/1", "perf-sw-cpuwide/1"},
		{PMU_TASK, "perf-sw-cpuwide/1", "perf-sw-workload/1"},
		{PMU_CGROUP, "perf-hw-cpuwide/2", "perf-hw-cgroup/2"},
		{PMU_TASK, "instructions-per-cycle/1", "instructions-per-cycle-workload/1"},
		{PMU_CGROUP, "amd-no-retire/1", "amd-no-retire-cgroup/1"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pmu_scope s;

		pmu_scope_init(&s, &(struct pmu_scope_conf){cases[i].mode, "/x", true});
		assert_string_equal(pmu_scope_method(&s, cases[i].method, buf, sizeof(buf)),
				    cases[i].want);
		assert_null(pmu_scope_method(&s, NULL, buf, sizeof(buf)));
	}
}

static void labels(void **state)
{
	struct series_decl d = {.label = {{"pmu", "cpu_atom"}}};
	struct pmu_scope s;

	(void)state;
	pmu_scope_init(&s, &(struct pmu_scope_conf){PMU_CGROUP, "/x", true});
	pmu_scope_label(&s, &d);
	assert_string_equal(d.label[0][0], "pmu");
	assert_string_equal(d.label[1][0], "scope");
	assert_string_equal(d.label[1][1], "cgroup:/x");
	pmu_scope_init(&s, &(struct pmu_scope_conf){PMU_TASK, NULL, true});
	assert_string_equal(s.label, "workload");
	pmu_scope_init(&s, &(struct pmu_scope_conf){PMU_BOX, NULL, false});
	assert_string_equal(s.label, "box");
}

static void without_a_workload(void **state)
{
	const struct pmu_scope_conf conf = {PMU_TASK, NULL, false};
	struct pmu_scope s;
	struct err err;

	(void)state;
	assert_int_equal(pmu_scope_check(&conf, &err), ERR_INVALID);
	assert_non_null(strstr(err.text, "there is none"));
	pmu_scope_init(&s, &conf);
	pmu_scope_begin(&s);
	assert_non_null(strstr(s.why, "not available"));
	pmu_scope_done(&s);
	assert_int_equal(pmu_scope_check(&(struct pmu_scope_conf){PMU_TASK, NULL, true}, &err), 0);
	assert_int_equal(pmu_scope_check(&(struct pmu_scope_conf){PMU_BOX, NULL, false}, &err), 0);
}

/* Targets of a workload are this thread until the workload is known. */
static void targets(void **state)
{
	struct pmu_scope s;
	struct pmu_target t;

	(void)state;
	pmu_scope_init(&s, &(struct pmu_scope_conf){PMU_TASK, NULL, true});
	pmu_scope_begin(&s);
	assert_true(pmu_scope_waits(&s) && pmu_scope_of_run(&s));
	assert_int_equal(pmu_scope_target(&s, NULL, 0).pid, 0);
	s.pid = 77;
	assert_false(pmu_scope_waits(&s));
	t = pmu_scope_target(&s, NULL, 0);
	assert_true(t.mode == PMU_TASK && t.pid == 77 && t.on_exec);
	pmu_scope_begin(&s); /* the next run's is another one */
	assert_true(pmu_scope_waits(&s));
}

static void mounts_file(char path[32], const char *text)
{
	int fd;

	snprintf(path, 32, "/tmp/rigstat-mounts-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* perf_event's own hierarchy of version 1 goes before version 2. */
static void finding_cgroups(void **state)
{
	static const struct {
		const char *mounts, *path, *words;
	} cases[] = {
		{"proc /proc proc rw 0 0\n", "/x", "no cgroup file system"},
		{"c /v2 cgroup2 rw 0 0\n", "/rigstat-none", "/v2/rigstat-none: No such file"},
		{"c /v2 cgroup2 rw 0 0\nc /cpu cgroup rw,cpu 0 0\nc /pe cgroup rw,perf_event 0 0\n",
		 "/rigstat-none", "/pe/rigstat-none: No such file"},
		{"c /cpu cgroup rw,cpu 0 0\n", "/x", "no cgroup file system"},
		{"c / cgroup2 rw 0 0\n", "/tmp", "not a cgroup"},
	};
	char path[32];
	struct err err;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		mounts_file(path, cases[i].mounts);
		assert_int_equal(pmu_cgroup_open(path, cases[i].path, &fd, &err), ERR_NOT_FOUND);
		if (!strstr(err.text, cases[i].words))
			fail_msg("%s", err.text);
		unlink(path);
	}
}

/* A task that did not run has 0 events in the whole interval: never "did not count". */
static void samples(void **state)
{
	const struct pmu_sum idle = {.state = PMU_IDLE}, half = {.value = 7,
								 .enabled_ns = 100,
								 .running_ns = 50,
								 .state = PMU_DOUBTFUL};
	struct counter_sample s = pmu_scope_sample(&idle, 1000);

	(void)state;
	assert_true(s.delta == 0 && s.enabled_ns == 1000 && s.running_ns == 1000);
	s = pmu_scope_sample(&half, 1000);
	assert_true(s.delta == 7 && s.enabled_ns == 100 && s.running_ns == 50);
}

/* What RUN_END says of a counter: nothing of an exact one, the part of the time of a scaled one,
 * and why a number or some intervals are missing. */
static void end_states(void **state)
{
	static const struct {
		enum pmu_state run, worst;
		uint64_t missing;
		const char *state, *words; /* words NULL: nothing is said */
	} cases[] = {
		{PMU_EXACT, PMU_EXACT, 0, NULL, NULL},
		{PMU_IDLE, PMU_IDLE, 0, NULL, NULL},
		{PMU_ESTIMATED, PMU_ESTIMATED, 0, "estimated", "95 % of the time"},
		{PMU_DOUBTFUL, PMU_DOUBTFUL, 0, "doubtful", "95 % of the time"},
		{PMU_EXACT, PMU_GAP, 2, NULL, "2 of 10 intervals have no number (gap: not enabled"},
		{PMU_DOUBTFUL, PMU_REFUSED, 3, "doubtful", "(refused-low-residency: "},
		{PMU_IDLE, PMU_NOT_COUNTED, 10, NULL, "not-counted: never on a counter"},
		{PMU_IDLE, PMU_PINNED_LOST, 10, NULL, "pinned-lost: "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct pmu_sum run = {
			.state = cases[i].run, .enabled_ns = 1000, .running_ns = 950};
		struct run_summary s = {0};

		pmu_scope_state(&s, 5, &run, cases[i].worst, cases[i].missing, 10);
		assert_int_equal(s.states_len, cases[i].words ? 1 : 0);
		if (s.states_len) {
			assert_int_equal(s.states[0].series, 5);
			if (!strstr(s.states[0].reason, cases[i].words))
				fail_msg("%zu: %s", i, s.states[0].reason);
			if (cases[i].state)
				assert_string_equal(s.states[0].state, cases[i].state);
			else
				assert_null(s.states[0].state);
		}
		run_summary_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(methods),
		cmocka_unit_test(labels),
		cmocka_unit_test(without_a_workload),
		cmocka_unit_test(targets),
		cmocka_unit_test(finding_cgroups),
		cmocka_unit_test(samples),
		cmocka_unit_test(end_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
