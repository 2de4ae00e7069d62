/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event names against made-up sysfs and tracefs trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/pmu.h"
#include "agent/pmu_event.h"
#include "tests/unit/agent/fake_root.h"

struct fixture {
	char root[64];
	struct pmu_event e;
	struct err err;
};

static void put(struct fixture *f, const char *path, const char *text)
{
	fake_root_put(f->root, path, text);
}

static void put_pmu(struct fixture *f, const char *pmu, const char *file, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), PMU_DEVICES "/%s/%s", pmu, file);
	put(f, path, text);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	strcpy(f->root, "/tmp/rigstat-pmu-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void put_intel(struct fixture *f)
{
	put_pmu(f, "cpu", "type", "4\n");
	put_pmu(f, "cpu", "format/event", "config:0-7\n");
	put_pmu(f, "cpu", "format/umask", "config:8-15\n");
	put_pmu(f, "cpu", "format/cmask", "config:24-31\n");
	put_pmu(f, "cpu", "format/inv", "config:23\n");
	put_pmu(f, "cpu", "format/offcore_rsp", "config1:0-63\n");
	put_pmu(f, "cpu", "events/cpu-cycles", "event=0x3c\n");
	put_pmu(f, "cpu", "events/slots", "event=0x00,umask=0x4\n");
	put_pmu(f, "msr", "type", "10\n");
	put_pmu(f, "msr", "format/event", "config:0-63\n");
	put_pmu(f, "msr", "events/smi", "event=0x04\n");
	put_pmu(f, "power", "type", "11\n");
	put_pmu(f, "power", "cpumask", "0,8\n");
	put_pmu(f, "power", "format/event", "config:0-7\n");
	put_pmu(f, "power", "events/energy-pkg", "event=0x02\n");
	put_pmu(f, "power", "events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
	put_pmu(f, "power", "events/energy-pkg.unit", "Joules\n");
}

static void parse(struct fixture *f, const char *name)
{
	int r = pmu_event_parse(name, f->root, &f->e, &f->err);

	if (r)
		fail_msg("%s: %s", name, f->err.text);
}

static void expect(struct fixture *f, const char *name, uint32_t type, uint64_t config)
{
	parse(f, name);
	assert_int_equal(f->e.openings, 1);
	assert_int_equal(f->e.opening[0].type, type);
	assert_int_equal(f->e.opening[0].config, config);
}

static void refuse(struct fixture *f, const char *name, const char *says)
{
	f->err.text[0] = '\0';
	assert_true(pmu_event_parse(name, f->root, &f->e, &f->err) < 0);
	if (!strstr(f->err.text, says))
		fail_msg("%s: \"%s\" does not say \"%s\"", name, f->err.text, says);
}

static void generic_names(void **state)
{
	struct fixture *f = *state;

	put_intel(f);
	expect(f, "cycles", PERF_TYPE_HARDWARE, 0);
	assert_false(f->e.software);
	assert_string_equal(f->e.opening[0].pmu, "cpu");
	expect(f, "cpu-cycles", PERF_TYPE_HARDWARE, 0);
	expect(f, "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	expect(f, "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_true(f->e.software);
	expect(f, "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	expect(f, "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	assert_string_equal(f->e.unit, "ns");
	expect(f, "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	expect(f, "dTLB-stores", PERF_TYPE_HW_CACHE, 0x103);
	expect(f, "r01c2", PERF_TYPE_RAW, 0x1c2);
}

static void generic_without_a_pmu(void **state)
{
	struct fixture *f = *state;

	/* A virtual machine: parsing works, opening will say that there is none. */
	expect(f, "cycles", PERF_TYPE_HARDWARE, 0);
	assert_false(f->e.opening[0].only_cpus);
}

static void modifiers(void **state)
{
	struct fixture *f = *state;
	struct perf_event_attr attr;

	put_intel(f);
	parse(f, "instructions:u");
	pmu_event_attr(&f->e, &f->e.opening[0], &attr);
	assert_true(attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user);
	parse(f, "cpu/event=0x3c/k");
	assert_true(f->e.exclude_user && !f->e.exclude_kernel);
	parse(f, "cycles:uk");
	assert_true(!f->e.exclude_user && !f->e.exclude_kernel && f->e.exclude_hv);
	refuse(f, "cpu/event=0x3c/ppp", "modifiers");
}

static void terms(void **state)
{
	struct fixture *f = *state;

	put_intel(f);
	expect(f, "cpu/event=0xa3,umask=0x4,cmask=4/", 4, 0x40004a3);
	expect(f, "cpu/event=0xc2,umask=1,cmask=1,inv/", 4, 0x18001c2);
	expect(f, "cpu/cpu-cycles/", 4, 0x3c);
	expect(f, "cpu/slots/", 4, 0x400);
	expect(f, "cpu/config=0x1234,config1=0x5/", 4, 0x1234);
	assert_int_equal(f->e.opening[0].config1, 5);
	expect(f, "cpu/event=0xb7,umask=1,offcore_rsp=0x3f80400022/", 4, 0x1b7);
	assert_int_equal(f->e.opening[0].config1, 0x3f80400022);
	expect(f, "msr/smi/", 10, 4);
	assert_string_equal(f->e.unit, "1");
}

static void bad_terms(void **state)
{
	struct fixture *f = *state;

	put_intel(f);
	refuse(f, "cpu/event=0x1ff/", "does not fit");
	refuse(f, "cpu/event=x/", "a number is expected");
	refuse(f, "cpu/colour=1/", "no event or term \"colour\"");
	refuse(f, "cpu/nothing/", "no event or term \"nothing\"");
	refuse(f, "cpu/event=1,,umask=2/", "empty or bad term");
	refuse(f, "cpu//", "empty or bad term");
	refuse(f, "cpu/event=1", "no event of a PMU");
	refuse(f, "/event=1/", "no event of a PMU");
	refuse(f, "gpu/event=1/", "there is no PMU \"gpu\"");
	refuse(f, "../cpu/event=1/", "no event of a PMU");
	refuse(f, "", "1 to");
	refuse(f, "two words", "without blanks");
}

/* An event file that names another event must not send us round in circles. */
static void aliases_do_not_nest(void **state)
{
	struct fixture *f = *state;

	put_intel(f);
	put_pmu(f, "cpu", "events/loop", "loop\n");
	refuse(f, "cpu/loop/", "no event or term \"loop\"");
	put_pmu(f, "cpu", "events/wants", "event=0x1,umask=?\n");
	refuse(f, "cpu/wants/", "a number is expected");
}

static void scale_and_unit(void **state)
{
	struct fixture *f = *state;

	put_intel(f);
	expect(f, "power/energy-pkg/", 11, 2);
	assert_true(f->e.scale > 2.3283e-10 && f->e.scale < 2.3284e-10);
	assert_string_equal(f->e.unit, "Joules");
	/* One CPU of each package reads it. */
	assert_non_null(pmu_event_on_cpu(&f->e, 8));
	assert_null(pmu_event_on_cpu(&f->e, 1));
}

static void formats(void **state)
{
	struct pmu_opening o = {0};
	struct err err;

	(void)state;
	assert_int_equal(pmu_format_put("config:0-7,32-35", 0x1a0, &o, &err), 0);
	assert_int_equal(o.config, 0x1000000a0);
	assert_int_equal(pmu_format_put("config2:63", 1, &o, &err), 0);
	assert_int_equal(o.config2, 1ull << 63);
	assert_int_equal(pmu_format_put("config1:0-63", UINT64_MAX, &o, &err), 0);
	assert_true(o.config1 == UINT64_MAX);
	assert_int_equal(pmu_format_put("config:0-7,32-35", 0x1000, &o, &err), ERR_INVALID);
	assert_int_equal(pmu_format_put("config9:0-7", 1, &o, &err), ERR_UNSUPPORTED);
	assert_int_equal(pmu_format_put("config:", 1, &o, &err), ERR_UNSUPPORTED);
	assert_int_equal(pmu_format_put("config:7-0", 1, &o, &err), ERR_UNSUPPORTED);
	assert_int_equal(pmu_format_put("config:0-64", 1, &o, &err), ERR_UNSUPPORTED);
	assert_int_equal(pmu_format_put("config:a", 1, &o, &err), ERR_UNSUPPORTED);
	assert_int_equal(pmu_format_put("event", 1, &o, &err), ERR_UNSUPPORTED);
}

static void tracepoints(void **state)
{
	struct fixture *f = *state;

	put(f, "/sys/kernel/debug/tracing/events/sched/sched_switch/id", "314\n");
	expect(f, "sched:sched_switch", PERF_TYPE_TRACEPOINT, 314);
	assert_true(f->e.software);
	/* The usual place wins. */
	put(f, "/sys/kernel/tracing/events/sched/sched_switch/id", "315\n");
	expect(f, "sched:sched_switch", PERF_TYPE_TRACEPOINT, 315);
	refuse(f, "sched:no_such_event", "no_such_event");
	refuse(f, "no-such-event-anywhere", "libpfm4");
}

static void hybrid(void **state)
{
	struct fixture *f = *state;
	struct pmu_core cores[PMU_OPENINGS_MAX];

	put_pmu(f, "cpu_core", "type", "4\n");
	put_pmu(f, "cpu_core", "cpus", "0-7\n");
	put_pmu(f, "cpu_atom", "type", "12\n");
	put_pmu(f, "cpu_atom", "cpus", "8-15\n");
	put_pmu(f, "uncore_imc_0", "type", "20\n");
	put_pmu(f, "uncore_imc_0", "cpumask", "0\n");
	assert_int_equal(pmu_cores(f->root, cores), 2);
	parse(f, "cycles");
	assert_int_equal(f->e.openings, 2);
	assert_int_equal(pmu_event_on_cpu(&f->e, 3)->config, 4ull << 32);
	assert_int_equal(pmu_event_on_cpu(&f->e, 9)->config, 12ull << 32);
	assert_string_equal(pmu_event_on_cpu(&f->e, 9)->pmu, "cpu_atom");
	assert_null(pmu_event_on_cpu(&f->e, 16));
	parse(f, "r3c");
	assert_int_equal(pmu_event_on_cpu(&f->e, 9)->type, 12);
	assert_true(pmu_event_only(&f->e, "cpu_core"));
	assert_int_equal(f->e.openings, 1);
	assert_int_equal(f->e.opening[0].type, 4);
	assert_false(pmu_event_only(&f->e, "cpu_atom"));
}

/* big.LITTLE: the generic event binds by CPU, so its number stays as it is. */
static void arm_clusters(void **state)
{
	struct fixture *f = *state;

	put_pmu(f, "armv8_cortex_a53", "type", "8\n");
	put_pmu(f, "armv8_cortex_a53", "cpus", "0-3\n");
	put_pmu(f, "armv8_cortex_a72", "type", "9\n");
	put_pmu(f, "armv8_cortex_a72", "cpus", "4-5\n");
	put_pmu(f, "armv8_cortex_a72", "format/event", "config:0-15\n");
	put_pmu(f, "armv8_cortex_a72", "events/stall_backend", "event=0x0024\n");
	parse(f, "cycles");
	assert_int_equal(f->e.openings, 2);
	assert_int_equal(pmu_event_on_cpu(&f->e, 4)->config, 0);
	expect(f, "armv8_cortex_a72/stall_backend/", 9, 0x24);
	assert_null(pmu_event_on_cpu(&f->e, 0));
	assert_non_null(pmu_event_on_cpu(&f->e, 5));
}

static void metric_names(void **state)
{
	char buf[64];
	struct err err;

	(void)state;
	pmu_event_metric("msr/smi/", buf, sizeof(buf));
	assert_string_equal(buf, "event_msr_smi");
	pmu_event_metric("L1-dcache-load-misses", buf, sizeof(buf));
	assert_string_equal(buf, "event_l1_dcache_load_misses");
	pmu_event_metric("sched:sched_switch", buf, sizeof(buf));
	assert_string_equal(buf, "event_sched_sched_switch");
	pmu_event_metric("sched:sched_switch", buf, 10);
	assert_true(strlen(buf) < 10);
	assert_int_equal(pmu_event_check("cycles:u", &err), 0);
	assert_int_equal(pmu_event_check("", &err), ERR_INVALID);
	assert_int_equal(pmu_event_check("a b", &err), ERR_INVALID);
	assert_int_equal(pmu_event_check("a\"b", &err), ERR_INVALID);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(generic_names),  T(generic_without_a_pmu),
		T(modifiers),	   T(terms),
		T(bad_terms),	   T(aliases_do_not_nest),
		T(scale_and_unit), T(formats),
		T(tracepoints),	   T(hybrid),
		T(arm_clusters),   T(metric_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
