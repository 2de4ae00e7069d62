/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system probe: what it writes of a run, and what it says when it cannot. */
#include "tests/unit/agent/probe_run.h"

#include "agent/system_probe.h"
#include "common/clock.h"

static void take_away(struct fixture *f, const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", f->root, path);

	assert_int_equal(unlink(full), 0);
}

static int setup(void **state)
{
	struct fixture *f = fixture_new();

	put(f, "/proc/pressure/cpu", "some total=1000\nfull total=0\n");
	put(f, "/proc/interrupts",
	    "  CPU0 CPU1\n 24: 100 0 IO-APIC 1-edge  nvme0q1\n 25: 5 0 IO-APIC 2-edge  nvme0q1\n"
	    "LOC: 1000 1000   Local timer interrupts\nERR: 0\n");
	put(f, "/proc/softirqs", "  CPU0 CPU1\n NET_RX: 4294967290 0\n BLOCK: 0 0\n");
	put(f, "/proc/diskstats",
	    " 8 0 sda 10 0 80 5 0 0 0 0 0 5 5\n 8 1 sda1 10 0 80 5 0 0 0 0 0 5 5\n");
	put(f, "/sys/block/sda/size", "1\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	clock_test_shift(0, 0);
	fixture_free(*state);
	return 0;
}

/* The probe looks at the box when it is made. */
static void begin_run(struct fixture *f)
{
	if (!f->last) /* the first run */
		sampler_add(f->sampler, system_probe(f->root));
	begin(f);
}

static double seconds_of(const struct fixture *f)
{
	return 40 / value(f, "disk_reads", "{\"device\":\"sda\"}");
}

static void measured_window_only(void **state)
{
	struct fixture *f = *state;
	double s;

	begin_run(f);
	put(f, "/proc/diskstats",
	    " 8 0 sda 1000 0 80 5 0 0 0 0 0 5 5\n 8 1 sda1 10 0 80 5 0 0 0 0 0 5 5\n");
	put(f, "/proc/pressure/cpu", "some total=5000\nfull total=0\n");
	collect(f, false, true);
	put(f, "/proc/diskstats",
	    " 8 0 sda 1030 0 80 5 0 0 0 0 0 5 5\n 8 1 sda1 10 0 80 5 0 0 0 0 0 5 5\n");
	put(f, "/proc/interrupts",
	    "  CPU0 CPU1\n 24: 130 7 IO-APIC 1-edge  nvme0q1\n 25: 6 0 IO-APIC 2-edge  nvme0q1\n"
	    "LOC: 1010 1100   Local timer interrupts\nERR: 0\n");
	put(f, "/proc/softirqs", "  CPU0 CPU1\n NET_RX: 3 5\n BLOCK: 0 2\n");
	collect(f, true, false);
	put(f, "/proc/diskstats",
	    " 8 0 sda 1040 0 96 5 0 0 0 0 0 5 5\n 8 1 sda1 10 0 80 5 0 0 0 0 0 5 5\n");
	put(f, "/proc/pressure/cpu", "some total=5007\nfull total=0\n");
	collect(f, true, true);
	put(f, "/proc/diskstats", " 8 0 sda 9999 0 80 5 0 0 0 0 0 5 5\n");
	collect(f, false, false); /* behind the window */
	finish(f);

	s = seconds_of(f);
	assert_float_equal(value(f, "disk_read_bytes", "{\"device\":\"sda\"}") * s, 16 * 512, 1e-6);
	assert_null(find(f, "disk_reads", "{\"device\":\"sda1\"}"));
	/* two numbers of one handler are one entry */
	assert_float_equal(value(f, "interrupts", "{\"irq\":\"nvme0q1\"}") * s, 38, 1e-6);
	assert_float_equal(value(f, "interrupts", "{}") * s, 38 + 110, 1e-6);
	assert_float_equal(value(f, "interrupts_by_cpu", "{\"irq\":\"nvme0q1\",\"cpu\":\"0\"}") * s,
			   31, 1e-6);
	assert_float_equal(value(f, "interrupts_by_cpu", "{\"irq\":\"nvme0q1\",\"cpu\":\"1\"}") * s,
			   7, 1e-6);
	assert_null(find(f, "interrupts", "{\"irq\":\"ERR\"}"));
	/* NET_RX of CPU 0 wrapped: a gap, and so is every sum with it */
	assert_non_null(strstr(reason(f, "softirqs", "{\"softirq\":\"NET_RX\"}"), "went back"));
	assert_non_null(strstr(reason(f, "softirqs", "{}"), "went back"));
	assert_float_equal(value(f, "softirqs", "{\"softirq\":\"BLOCK\"}") * s, 2, 1e-6);
	assert_float_equal(
		value(f, "softirqs_by_cpu", "{\"softirq\":\"NET_RX\",\"cpu\":\"1\"}") * s, 5, 1e-6);
	/* all of it: warm-up, window, and nothing twice */
	assert_float_equal(
		json_number_value(json_object_get(find(f, "psi_cpu_some", "{}"), "total")),
		4007 * 1000, 1e-6);
}

static void what_is_not_there_says_why(void **state)
{
	struct fixture *f = *state;

	begin_run(f);
	assert_non_null(strstr(reason(f, "psi_io_some", "{}"), "CONFIG_PSI"));
	assert_non_null(strstr(reason(f, "psi_irq_full", "{}"), "CONFIG_IRQ_TIME"));
	assert_non_null(strstr(reason(f, "sched_run_delay", "{}"), "CONFIG_SCHEDSTATS"));
	assert_non_null(strstr(reason(f, "lockstat_wait", "{}"), "CONFIG_LOCK_STAT"));
	assert_null(find(f, "psi_cpu_full", "{}")); /* not defined for the whole system */
}

#define LOCK_STAT                                                                                  \
	"lock_stat version 0.4\n   class name  contentions  waittime-total  acquisitions\n"        \
	"   &rq->lock:  %s\n"

static void lock_stat(struct fixture *f, const char *numbers)
{
	CLEANUP(freep) char *text = xasprintf(LOCK_STAT, numbers);

	put(f, "/proc/lock_stat", text);
}

static void locks_and_run_queues(void **state)
{
	struct fixture *f = *state;
	double s;

	lock_stat(f, "10 5.00 100");
	put(f, "/proc/schedstat",
	    "version 17\ncpu0 0 0 0 0 0 0 1 100 10\ncpu1 0 0 0 0 0 0 1 7 1\n");
	begin_run(f);
	collect(f, false, true);
	lock_stat(f, "12 6.50 150");
	put(f, "/proc/schedstat",
	    "version 17\ncpu0 0 0 0 0 0 0 1 400 14\ncpu1 0 0 0 0 0 0 1 9 2\n");
	put(f, "/proc/diskstats", " 8 0 sda 50 0 80 5 0 0 0 0 0 5 5\n");
	collect(f, true, true);
	finish(f);
	s = seconds_of(f);
	assert_float_equal(value(f, "lockstat_wait", "{\"lock\":\"&rq->lock\"}") * s, 1500, 1e-6);
	assert_float_equal(value(f, "lockstat_wait", "{}") * s, 1500, 1e-6);
	assert_float_equal(value(f, "lockstat_acquisitions", "{}") * s, 50, 1e-6);
	assert_null(find(f, "lockstat_hold", "{}")); /* no such column in this kernel */
	assert_float_equal(value(f, "sched_run_delay", "{\"cpu\":\"0\"}") * s, 300, 1e-6);
	assert_float_equal(value(f, "sched_run_delay", "{}") * s, 302, 1e-6);
	assert_float_equal(value(f, "sched_timeslices", "{\"cpu\":\"1\"}") * s, 1, 1e-6);
}

static void locks_that_are_not_counted(void **state)
{
	struct fixture *f = *state;

	lock_stat(f, "10 5.00 100");
	put(f, "/proc/sys/kernel/lock_stat", "0\n");
	begin_run(f);
	assert_non_null(strstr(reason(f, "lockstat_wait", "{}"), "kernel.lock_stat=1"));
}

/* 40 handlers: 16 are named, the rest is one number, and together they are all. */
static void many_interrupts_are_bounded(void **state)
{
	struct fixture *f = *state;
	double s, named = 0;

	for (int t = 0; t < 2; t++) {
		CLEANUP(strbuf_done) struct strbuf text = {0};

		strbuf_puts(&text, "  CPU0\n");
		for (int i = 0; i < 40; i++)
			strbuf_printf(&text, " %d: %d x 1-edge  dev%d\n", i, t * (i + 1), i);
		put(f, "/proc/interrupts", text.data);
		if (t)
			put(f, "/proc/diskstats", " 8 0 sda 50 0 80 5 0 0 0 0 0 5 5\n");
		else
			begin_run(f);
		collect(f, t, true);
	}
	finish(f);
	s = seconds_of(f);
	for (int i = 24; i < 40; i++) {
		CLEANUP(freep) char *labels = xasprintf("{\"irq\":\"dev%d\"}", i);

		named += value(f, "interrupts", labels) * s;
	}
	assert_float_equal(named, 40 * 41 / 2 - 24 * 25 / 2, 1e-6);
	assert_float_equal(value(f, "interrupts", "{\"irq\":\"[rest]\"}") * s, 24 * 25 / 2, 1e-6);
	assert_float_equal(value(f, "interrupts", "{}") * s, 40 * 41 / 2, 1e-6);
	assert_null(find(f, "interrupts", "{\"irq\":\"dev23\"}"));
	assert_float_equal(
		value(f, "interrupts_by_cpu", "{\"irq\":\"[rest]\",\"cpu\":\"[rest]\"}") * s,
		16 * 17 / 2, 1e-6);
}

/* Names that a label must not carry as they are. */
static void strange_names(void **state)
{
	struct fixture *f = *state;

	put(f, "/proc/interrupts", "  CPU0\n 1: 0 x 1-edge  a\"b\\c\x01\xff\n");
	begin_run(f);
	collect(f, false, true);
	put(f, "/proc/interrupts", "  CPU0\n 1: 4 x 1-edge  a\"b\\c\x01\xff\n");
	collect(f, true, true);
	finish(f);
	assert_true(value(f, "interrupts", "{\"irq\":\"a\\\"b\\\\c??\"}") > 0);
}

static void a_file_that_vanishes_is_said(void **state)
{
	struct fixture *f = *state;

	begin_run(f);
	collect(f, false, true);
	take_away(f, "/proc/softirqs");
	take_away(f, "/proc/pressure/cpu");
	collect(f, true, true);
	finish(f);
	assert_null(find(f, "softirqs", "{}"));
	assert_non_null(
		strstr(json_string_value(json_object_get(f->notes, "system-file-unreadable")),
		       "/proc/softirqs"));
	assert_non_null(json_object_get(f->notes, "pressure-gap"));
}

/* A budget that nothing can keep: the rate falls, the run says so, and not a count is lost. */
static void over_budget_the_rate_falls(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_done) struct strbuf costs = {0};
	double s;

	begin_run(f);
	sampler_budget(f->sampler, "system", 1e-9);
	collect(f, false, true);
	for (int i = 1; i <= 40; i++) {
		CLEANUP(freep) char *text = xasprintf(" 8 0 sda %d 0 80 5 0 0 0 0 0 5 5\n", 10 + i);

		put(f, "/proc/diskstats", text);
		clock_test_shift(i * 3 * NS_PER_SEC, i * 3 * NS_PER_SEC);
		collect(f, true, i == 40);
	}
	finish(f);
	s = seconds_of(f);
	assert_in_range((int)s, 115, 125);
	assert_non_null(strstr(json_string_value(json_object_get(f->notes, "system-rate-halved")),
			       "cut to 1/"));
	sampler_put_costs(f->sampler, &costs);
	assert_non_null(strstr(costs.data, "\"probe\":\"system\""));
	assert_null(strstr(costs.data, "\"divisor\":1}"));
	/* the next run begins at the full rate */
	begin_run(f);
	strbuf_clear(&costs);
	sampler_put_costs(f->sampler, &costs);
	assert_non_null(strstr(costs.data, "\"divisor\":1}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(measured_window_only, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_there_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(locks_and_run_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(locks_that_are_not_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(many_interrupts_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(strange_names, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_vanishes_is_said, setup, teardown),
		cmocka_unit_test_setup_teardown(over_budget_the_rate_falls, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
