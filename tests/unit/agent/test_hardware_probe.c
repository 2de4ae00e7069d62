/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disturbers from below the kernel: what was counted in the measured window, and the marks. */
#include "tests/unit/agent/probe_run.h"

#include "agent/hardware_probe.h"
#include "agent/hw_read.h"

#define CPUINFO                                                                                    \
	"vendor_id	: GenuineIntel\ncpu family	: 6\nflags		: fpu msr tsc\n"
#define CPUINFO_VM                                                                                 \
	"vendor_id	: AuthenticAMD\ncpu family	: 25\nflags		: fpu "                                 \
	"hypervisor\n"

/* MSR 0x34 of CPU 0, in a file in place of the device. */
static void put_smi(struct fixture *f, uint64_t n)
{
	char path[300];
	FILE *file;

	put(f, "/dev/cpu/0/msr", "");
	snprintf(path, sizeof(path), "%s/dev/cpu/0/msr", f->root);
	file = fopen(path, "w");
	assert_non_null(file);
	fseek(file, 0x34, SEEK_SET);
	assert_int_equal(fwrite(&n, sizeof(n), 1, file), 1);
	fclose(file);
}

/* Two packages of two cores with two threads each: the threads of a core tell the same count. */
static void put_throttles(struct fixture *f, const int core[4], const int package[2])
{
	for (int cpu = 0; cpu < 8; cpu++) {
		char path[200], text[64];
		int c = cpu / 2, p = cpu / 4;

#define FILE_OF(name, ...)                                                                         \
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/" name, cpu);                  \
	snprintf(text, sizeof(text), __VA_ARGS__);                                                 \
	put(f, path, text)
		FILE_OF("thermal_throttle/core_throttle_count", "%d\n", core[c]);
		FILE_OF("thermal_throttle/package_throttle_count", "%d\n", package[p]);
		FILE_OF("topology/core_cpus_list", "%d-%d\n", c * 2, c * 2 + 1);
		FILE_OF("topology/package_cpus_list", "%d-%d\n", p * 4, p * 4 + 3);
	}
}

static int setup(void **state)
{
	struct fixture *f = fixture_new();

	put(f, "/proc/cpuinfo", CPUINFO);
	put(f, "/proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture_free(*state);
	return 0;
}

static void begin_run(struct fixture *f)
{
	sampler_add(f->sampler, hardware_probe(f->root));
	begin(f);
}

static const char *note(const struct fixture *f, const char *code)
{
	return json_string_value(json_object_get(f->notes, code));
}

static void counted_in_the_window(void **state)
{
	struct fixture *f = *state;

	put_smi(f, 1000);
	put_throttles(f, (int[]){1, 2, 3, 4}, (int[]){10, 20});
	begin_run(f);
	put_smi(f, 1007);
	collect(f, false, false);
	collect(f, false, true); /* the window opens here */
	put_smi(f, 1010);
	put_throttles(f, (int[]){1, 2, 5, 5}, (int[]){10, 21});
	put(f, "/proc/stat", "cpu  200 0 0 1790 0 0 0 10 0 0\n");
	collect(f, true, false);
	collect(f, true, true);
	put_smi(f, 2000);
	collect(f, false, false);
	finish(f);
	assert_float_equal(value(f, "smi_count", "{}"), 3, 1e-9);
	assert_float_equal(value(f, "core_throttles", "{}"), 3, 1e-9);
	assert_float_equal(value(f, "package_throttles", "{}"), 1, 1e-9);
	assert_float_equal(value(f, "steal_share", "{}"), 1.0, 1e-9); /* 10 of 1000 ticks */
	assert_non_null(strstr(note(f, "smi"), "3 system management interrupts"));
	assert_non_null(strstr(note(f, "throttled"), "cores were slowed 3 times and packages 1"));
	assert_non_null(strstr(note(f, "steal"), "1 % of the CPU time"));
}

static void nothing_happened(void **state)
{
	struct fixture *f = *state;

	put_smi(f, 5);
	put_throttles(f, (int[]){0, 0, 0, 0}, (int[]){0, 0});
	begin_run(f);
	collect(f, false, true);
	put(f, "/proc/stat", "cpu  200 0 0 1790 0 0 0 0 0 0\n");
	collect(f, true, true);
	finish(f);
	assert_float_equal(value(f, "smi_count", "{}"), 0, 1e-9);
	assert_float_equal(value(f, "core_throttles", "{}"), 0, 1e-9);
	assert_float_equal(value(f, "steal_share", "{}"), 0, 1e-9);
	assert_int_equal(json_object_size(f->notes), 0);
}

static void what_cannot_be_read_says_why(void **state)
{
	struct fixture *f = *state;

	put(f, "/proc/cpuinfo", CPUINFO_VM);
	begin_run(f);
	assert_non_null(strstr(reason(f, "smi_count", "{}"), "in this virtual machine"));
	assert_non_null(strstr(reason(f, "core_throttles", "{}"), "thermal_throttle"));
	assert_non_null(strstr(reason(f, "package_throttles", "{}"), "thermal_throttle"));
	assert_non_null(strstr(reason(f, "steal_share", "{}"), "does not tell"));
	assert_non_null(strstr(reason(f, "effective_ghz", "{}"), "msr"));
	collect(f, false, true);
	collect(f, true, true);
	finish(f);
	assert_int_equal(json_object_size(f->notes), 0);
	assert_null(json_object_get(find(f, "steal_share", "{}"), "value"));
}

/* A CPU went offline, or the machine slept: a number would be wrong. */
static void counters_that_go_back_have_no_number(void **state)
{
	struct fixture *f = *state;

	put_smi(f, 1000);
	put_throttles(f, (int[]){1, 2, 3, 4}, (int[]){10, 20});
	begin_run(f);
	collect(f, false, true);
	put_smi(f, 3);
	put_throttles(f, (int[]){1, 2, 3, 3}, (int[]){10, 20});
	collect(f, true, true); /* /proc/stat stands still as well */
	finish(f);
	assert_non_null(strstr(reason(f, "smi_count", "{}"), "went back"));
	assert_non_null(strstr(reason(f, "core_throttles", "{}"), "went back"));
	assert_float_equal(value(f, "package_throttles", "{}"), 0, 1e-9);
	assert_non_null(strstr(reason(f, "steal_share", "{}"), "went back"));
	assert_int_equal(json_object_size(f->notes), 0);
}

/* Aborted in its warm-up: there is no window. */
static void without_a_window_no_values(void **state)
{
	struct fixture *f = *state;

	put_smi(f, 1);
	begin_run(f);
	put_smi(f, 9);
	collect(f, false, false);
	finish(f);
	assert_null(find(f, "smi_count", "{}"));
	assert_int_equal(json_object_size(f->notes), 0);
}

static void readers(void **state)
{
	struct fixture *f = *state;
	struct hw_throttle t;
	struct hw_ticks ticks;
	unsigned int family;
	char vendor[32];
	uint64_t n;

	hw_cpu_family(f->root, vendor, &family);
	assert_string_equal(vendor, "GenuineIntel");
	assert_int_equal(family, 6);
	assert_false(hw_is_virtual(f->root));
	put(f, "/proc/cpuinfo", "processor : 0\nBogoMIPS : 50.00\n"); /* Arm */
	hw_cpu_family(f->root, vendor, &family);
	assert_string_equal(vendor, "");
	assert_int_equal(family, 0);
	put(f, "/proc/stat", "cpu  1 2 3 4\n");
	assert_false(hw_read_ticks(f->root, &ticks));
	assert_false(hw_read_smi_msr(f->root, &n));
	assert_false(hw_throttle_init(&t, f->root));
	hw_throttle_done(&t);
	put_throttles(f, (int[]){1, 2, 3, 4}, (int[]){10, 20});
	assert_true(hw_throttle_init(&t, f->root));
	assert_true(hw_throttle_read(&t, f->root, HW_CORE, &n));
	assert_int_equal(n, 10);
	assert_true(hw_throttle_read(&t, f->root, HW_PACKAGE, &n));
	assert_int_equal(n, 30);
	hw_throttle_done(&t);
}

/* Two CPUs of 2.5 GHz, busy a tenth of 10 s, at 3.5 GHz by turbo. */
static void frequency(void **state)
{
	(void)state;
	assert_float_equal(hw_effective_ghz(2 * 3500000000ull, 2 * 2500000000ull,
					    2 * 25000000000ull, 2 * 10 * NS_PER_SEC),
			   3.5, 1e-9);
	assert_true(hw_effective_ghz(1, 0, 1, 1) < 0);
	assert_true(hw_effective_ghz(1, 1, 1, 0) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counted_in_the_window, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_happened, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_read_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(counters_that_go_back_have_no_number, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_a_window_no_values, setup, teardown),
		cmocka_unit_test(frequency),
		cmocka_unit_test_setup_teardown(readers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
