/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings on a made-up box: /proc and /sys below a private directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/check.h"
#include "tests/unit/agent/fake_root.h"

struct fixture {
	char root[64];
	struct agent_conf conf;
	struct checks c;
};

static void put(struct fixture *f, const char *path, const char *text)
{
	fake_root_put(f->root, path, text);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	strcpy(f->root, "/tmp/rigstat-check-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	agent_conf_init(&f->conf);
	memset(f->conf.cpus, 0, sizeof(f->conf.cpus));
	f->conf.cpus[1] = true;
	f->c = (struct checks){.conf = &f->conf, .root = f->root};
	put(f, "/sys/devices/system/cpu/online", "0-1\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	checks_done(&f->c);
	agent_conf_done(&f->conf);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void expect(struct fixture *f, const char *name, enum check_level level, const char *says)
{
	for (size_t i = 0; i < f->c.found.len; i++) {
		const struct finding *v = &f->c.found.v[i];

		if (strcmp(v->name, name) != 0)
			continue;
		if (v->level != level || !strstr(v->text, says))
			fail_msg("%s is %d: %s", name, v->level, v->text);
		assert_true(level == CHECK_OK || v->fix);
		return;
	}
	fail_msg("there is no finding '%s'", name);
}

static void test_a_bad_box(void **state)
{
	struct fixture *f = *state;

	put(f, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	put(f, "/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	put(f, "/proc/sys/kernel/sched_rt_period_us", "1000000\n");
	put(f, "/proc/sys/kernel/nmi_watchdog", "1\n");
	put(f, "/proc/sys/kernel/numa_balancing", "1\n");
	put(f, "/sys/devices/system/node/node0/x", "");
	put(f, "/sys/devices/system/node/node1/x", "");
	put(f, "/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
	put(f, "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
	put(f, "/sys/devices/system/cpu/smt/active", "1\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpuidle/state3/latency", "133\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpuidle/state3/name", "C6\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "0\n");
	put(f, "/proc/irq/9/smp_affinity_list", "0-1\n");
	put(f, "/proc/irq/10/smp_affinity_list", "0\n");
	put(f, "/proc/cpuinfo", "flags : fpu hypervisor\n");
	f->conf.cpus_given = true;
	check_kernel(&f->c);
	check_cpu(&f->c);
	expect(f, "clocksource", CHECK_WARN, "hpet");
	expect(f, "rt-throttling", CHECK_WARN, "95 %");
	expect(f, "nmi-watchdog", CHECK_WARN, "on");
	expect(f, "numa-balancing", CHECK_WARN, "on");
	expect(f, "huge-pages", CHECK_WARN, "every process");
	expect(f, "tracefs", CHECK_WARN, "cannot be read");
	expect(f, "governor", CHECK_WARN, "powersave");
	expect(f, "turbo", CHECK_WARN, "on");
	expect(f, "smt", CHECK_WARN, "on");
	expect(f, "idle", CHECK_WARN, "C6 takes 133 us");
	expect(f, "irq-affinity", CHECK_WARN, "1 interrupts");
	expect(f, "steal", CHECK_WARN, "virtual machine");
	expect(f, "isolcpus", CHECK_OK, "CPU 1 is measured");
	assert_int_equal(check_count(&f->c, CHECK_FAIL), 0);
}

static void test_a_good_box(void **state)
{
	struct fixture *f = *state;

	put(f, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	put(f, "/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	put(f, "/proc/sys/kernel/nmi_watchdog", "0\n");
	put(f, "/sys/devices/system/node/node0/x", "");
	put(f, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	put(f, "/sys/kernel/tracing/events/sched/x", "");
	put(f, "/sys/devices/system/cpu/isolated", "1\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
	put(f, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
	put(f, "/sys/devices/system/cpu/cpufreq/boost", "0\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpuidle/state3/latency", "133\n");
	put(f, "/sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "1\n");
	put(f, "/proc/irq/10/smp_affinity_list", "0\n");
	put(f, "/proc/cpuinfo", "flags : fpu\n");
	f->conf.cpus_given = true;
	check_kernel(&f->c);
	check_cpu(&f->c);
	for (size_t i = 0; i < f->c.found.len; i++)
		if (f->c.found.v[i].level != CHECK_OK &&
		    strcmp(f->c.found.v[i].name, "time-sync") != 0)
			fail_msg("%s: %s", f->c.found.v[i].name, f->c.found.v[i].text);
	expect(f, "turbo", CHECK_OK, "off");
	expect(f, "isolcpus", CHECK_OK, "every measured CPU is isolated");
	expect(f, "housekeeping", CHECK_OK, "1 CPUs");
}

static void test_failures(void **state)
{
	struct fixture *f = *state;
	CLEANUP(freep) char *blocked = xasprintf("%s/file/spool", f->root);

	put(f, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "jiffies\n");
	put(f, "/proc/sys/kernel/sched_rt_runtime_us", "0\n");
	put(f, "/file", "");
	check_kernel(&f->c);
	expect(f, "clocksource", CHECK_FAIL, "jiffies");
	expect(f, "rt-throttling", CHECK_FAIL, "may run at all");
	assert_int_equal(agent_conf_set(&f->conf, "spool", blocked, NULL), 0);
	check_storage(&f->c);
	expect(f, "spool", CHECK_FAIL, blocked);
	/* nobody listens on the discard port of this machine */
	assert_int_equal(agent_conf_set(&f->conf, "server", "http://127.0.0.1:9", NULL), 0);
	check_server(&f->c);
	expect(f, "server", CHECK_FAIL, "cannot be reached");
}

static void test_disk_floor(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(agent_conf_set(&f->conf, "spool", f->root, NULL), 0);
	f->conf.spool_free_min = UINT64_MAX / 2;
	check_storage(&f->c);
	expect(f, "spool", CHECK_OK, "can be written");
	expect(f, "disk", CHECK_FAIL, "MiB left, less than");
}

static void test_renderings(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = {0}, json = {0};
	struct fixture *f = *state;
	json_t *j, *list;

	assert_int_equal(agent_conf_set(&f->conf, "host", "box9", NULL), 0);
	check_add(&f->c, CHECK_OK, "a", NULL, "fine \"so\"");
	check_add(&f->c, CHECK_WARN, "b", "turn it", "odd");
	check_put_text(&f->c, &text);
	assert_non_null(strstr(text.data, "box9 can be measured: none of 2 checks failed, 1 may "));
	assert_non_null(strstr(text.data, "WARN  b                 odd\n"));
	assert_non_null(strstr(text.data, "to do: turn it\n"));
	check_add(&f->c, CHECK_FAIL, "c", "mend it", "broken");
	strbuf_clear(&text);
	check_put_text(&f->c, &text);
	assert_non_null(strstr(text.data, "box9 is not fit to be measured: 1 of 3 checks failed"));
	check_put_json(&f->c, &json);
	j = json_loads(json.data, 0, NULL);
	assert_non_null(j);
	list = json_object_get(j, "checks");
	assert_int_equal(json_integer_value(json_object_get(j, "fail")), 1);
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "text")),
			    "fine \"so\"");
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 2), "level")),
			    "fail");
	json_decref(j);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_bad_box),  TEST(test_a_good_box), TEST(test_failures),
		TEST(test_disk_floor), TEST(test_renderings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
