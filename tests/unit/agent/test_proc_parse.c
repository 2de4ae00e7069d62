/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of /proc as several kernels and machines write them, read twice: what was counted between
 * the two readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "agent/proc_parse.h"
#include "common/strbuf.h"

typedef int (*parser)(const char *text, struct grid *g, struct err *reterr);

static void take(parser parse, struct grid *g, const char *text)
{
	struct err err = {0};

	grid_begin(g);
	if (parse(text, g, &err))
		fail_msg("%s", err.text);
}

static void refuse(parser parse, const char *text, int code, const char *says)
{
	struct grid g CLEANUP(grid_done) = {0};
	struct err err = {0};

	grid_begin(&g);
	assert_int_equal(parse(text, &g, &err), code);
	if (!strstr(err.text, says))
		fail_msg("'%s' does not say '%s'", err.text, says);
}

static const struct grid_row *row(const struct grid *g, const char *label)
{
	for (size_t i = 0; i < g->len; i++)
		if (!strcmp(g->row[i].label, label))
			return &g->row[i];
	fail_msg("there is no row '%s'", label);
	return NULL;
}

static uint64_t counted(const struct grid *g, const char *label, uint32_t column)
{
	struct grid_sum s = grid_cell_sum(row(g, label), column);

	assert_false(s.gap);
	return s.sum;
}

static char *read_data(const char *name)
{
	CLEANUP(freep) char *path = xasprintf(TEST_DATA "/proc/%s", name);
	struct strbuf b = {0};
	char buf[4096];
	size_t n;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&b, buf, n);
	fclose(f);
	return strbuf_take(&b);
}

/* ---- interrupts ---- */

static void names_of_a_virtual_machine(void **state)
{
	static const char *const names[] = {"ACPI:Ged",
					    "ttyS0",
					    "virtio0-config",
					    "virtio0-reporting_vq",
					    "virtio1-req.0",
					    "virtio2-output.0",
					    "virtio3-tx",
					    "Local timer interrupts",
					    "ERR",
					    "Posted-interrupt wakeup event"};
	CLEANUP(freep) char *text = read_data("interrupts-vm-6.18.txt");
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_interrupts_parse, &g, text);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)row(&g, names[i]);
	assert_int_equal(g.len, 35);
	for (size_t i = 0; i < g.len; i++) /* the first reading is where counting begins */
		assert_int_equal(grid_row_sum(&g.row[i]).sum, 0);
}

/* Formats of x86 before 4.2 and after, of Arm; handlers with blanks, several of them, none. */
static void names_of_other_machines(void **state)
{
	static const char text[] =
		"           CPU0       CPU1       \n"
		"  0:        496          0   IO-APIC-edge      timer\n"
		"  3:          2          0    XT-PIC-XT      \n"
		" 16:    2576519          0   IO-APIC-fasteoi   uhci_hcd:usb4, HDA Intel, ivtv0\n"
		" 21:    2912767          7   IO-APIC  21-fasteoi   i801_smbus, processor_thermal\n"
		" 24:          0          9  DMAR-MSI   0-edge      dmar0\n"
		" 26:          5          9  IR-PCI-MSI 458752-edge      PCIe PME, aerdrv\n"
		"120:          1          2  IR-PCI-MSIX-0000:00:1f.2    0-edge      "
		"ahci[0000:00:17.0]\n"
		" 25:         11         12  ARMCTRL-level  17 Edge      VCHIQ doorbell\n"
		" 27:        100        200     GICv3  27 Level     arch_timer\n"
		" 43:          4          0     GICv3  43 Level   \n"
		"IPI0:        10         20       Rescheduling interrupts\n"
		"NMI:        3          4   Non-maskable interrupts\n"
		"XYZ:        3          4\n"
		"Err:          6\n";
	static const char *const names[] = {"timer",
					    "irq 3",
					    "uhci_hcd:usb4, HDA Intel, ivtv0",
					    "i801_smbus, processor_thermal",
					    "dmar0",
					    "PCIe PME, aerdrv",
					    "ahci[0000:00:17.0]",
					    "VCHIQ doorbell",
					    "arch_timer",
					    "irq 43",
					    "Rescheduling interrupts",
					    "Non-maskable interrupts",
					    "XYZ",
					    "Err"};
	struct grid g CLEANUP(grid_done) = {0};

	(void)state;
	take(proc_interrupts_parse, &g, text);
	assert_int_equal(g.len, ARRAY_LEN(names));
	for (size_t i = 0; i < g.len; i++)
		assert_string_equal(g.row[i].label, names[i]);
	assert_int_equal(g.row[13].cell[0].column, GRID_NO_COLUMN);
}

static void differences(void **state)
{
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_interrupts_parse, &g,
	     "  CPU0 CPU1\n 1: 10 0 IO-APIC 1-edge  a\n 2: 5 5 IO-APIC 2-edge  b\nERR: 3\n");
	take(proc_interrupts_parse, &g,
	     "  CPU0 CPU1\n 1: 17 4 IO-APIC 1-edge  a\n 2: 5 6 IO-APIC 2-edge  b\n"
	     " 9: 3 1 IO-APIC 9-edge  new\nERR: 4\n");
	assert_int_equal(counted(&g, "a", 0), 7);
	assert_int_equal(counted(&g, "a", 1), 4); /* it had been 0 */
	assert_int_equal(counted(&g, "b", 1), 1);
	assert_int_equal(counted(&g, "new", 0), 3); /* a new handler begins with 0 */
	assert_int_equal(counted(&g, "ERR", GRID_NO_COLUMN), 1);
	grid_restart(&g);
	assert_int_equal(counted(&g, "a", 0), 0);
	take(proc_interrupts_parse, &g, "  CPU0 CPU1\n 1: 20 4 IO-APIC 1-edge  a\n");
	assert_int_equal(counted(&g, "a", 0), 3);
}

/* CPU 1 goes away and comes back: its counts go on. CPU 2 comes: what it counted before is not
 * ours. */
static void cpus_come_and_go(void **state)
{
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_interrupts_parse, &g,
	     "  CPU0 CPU1\n 1: 10 100 x 1-edge  a\n 2: 0 0 x 1-edge  b\n");
	take(proc_interrupts_parse, &g, "  CPU0\n 1: 11 x 1-edge  a\n 2: 0 x 1-edge  b\n");
	take(proc_interrupts_parse, &g,
	     "  CPU0 CPU1 CPU2\n 1: 12 105 7000 x 1-edge  a\n 2: 0 0 50 x 1-edge  b\n");
	take(proc_interrupts_parse, &g,
	     "  CPU0 CPU1 CPU2\n 1: 13 106 7001 x 1-edge  a\n 2: 0 9 50 x 1-edge  b\n");
	assert_int_equal(counted(&g, "a", 0), 3);
	assert_int_equal(counted(&g, "a", 1), 6);
	assert_int_equal(counted(&g, "a", 2), 1);
	assert_int_equal(counted(&g, "b", 1), 9);
	assert_int_equal(counted(&g, "b", 2), 0);
}

static void a_counter_that_goes_back_is_a_gap(void **state)
{
	struct grid g CLEANUP(grid_done) = {0};

	(void)state;
	take(proc_interrupts_parse, &g, "  CPU0 CPU1\n 1: 4294967290 5 x 1-edge  a\n");
	take(proc_interrupts_parse, &g, "  CPU0 CPU1\n 1: 3 9 x 1-edge  a\n");
	assert_true(grid_cell_sum(row(&g, "a"), 0).gap);
	assert_false(grid_cell_sum(row(&g, "a"), 1).gap);
	assert_true(grid_row_sum(row(&g, "a")).gap);
	grid_restart(&g);
	take(proc_interrupts_parse, &g, "  CPU0 CPU1\n 1: 8 9 x 1-edge  a\n");
	assert_int_equal(counted(&g, "a", 0), 5);
}

/* 384 CPUs of which the odd ones are offline. */
static void many_cpus(void **state)
{
	struct strbuf text[2] = {{0}, {0}};
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	for (int t = 0; t < 2; t++) {
		strbuf_puts(&text[t], "            ");
		for (int cpu = 0; cpu < 384; cpu += 2)
			strbuf_printf(&text[t], "CPU%-8d", cpu);
		strbuf_puts(&text[t], "\n 1000:");
		for (int cpu = 0; cpu < 384; cpu += 2)
			strbuf_printf(&text[t], " %10d", cpu * 10 + t * cpu);
		strbuf_puts(&text[t], "  IR-PCI-MSIX-0000:41:00.0    1-edge      nvme0q1\n");
		take(proc_interrupts_parse, &g, text[t].data);
		strbuf_done(&text[t]);
	}
	assert_int_equal(counted(&g, "nvme0q1", 382), 382);
	assert_int_equal(counted(&g, "nvme0q1", 128), 128);
	assert_false(grid_cell_sum(row(&g, "nvme0q1"), 129).any);
	assert_int_equal(grid_row_sum(row(&g, "nvme0q1")).sum, 2 * 191 * 192 / 2);
}

/* A CPU went away while the file was written. */
static void torn_and_foreign_files(void **state)
{
	(void)state;
	refuse(proc_interrupts_parse, "  CPU0 CPU1 CPU2\n 1: 5 6 x 1-edge  a\n", ERR_BUSY,
	       "2 counts for 3 CPUs");
	refuse(proc_interrupts_parse, "  CPU0 CPU1\n 1: 5 x 1-edge  a\n", ERR_BUSY, "1 counts");
	refuse(proc_interrupts_parse, "", ERR_INVALID, "empty");
	refuse(proc_interrupts_parse, "\n", ERR_INVALID, "no CPU");
	refuse(proc_interrupts_parse, "CPU0 CPUx\n", ERR_INVALID, "CPUx");
	refuse(proc_interrupts_parse, "hello\n", ERR_INVALID, "hello");
}

static void unknown_lines_are_left_out(void **state)
{
	struct grid g CLEANUP(grid_done) = {0};

	(void)state;
	take(proc_interrupts_parse, &g,
	     "  CPU0 CPU1\nno colon\n:\n: 1 2\nQQQ: 5 one number of what?\n"
	     " 1: 99999999999999999999 2 x\n 7: 1 2 x 1-edge  a");
	assert_int_equal(g.len, 1);
	assert_string_equal(g.row[0].label, "a");
}

static void softirqs(void **state)
{
	CLEANUP(freep) char *text = read_data("softirqs-vm-6.18.txt");
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_softirqs_parse, &g, text);
	assert_int_equal(g.len, 10);
	assert_string_equal(row(&g, "NET_RX")->key, "NET_RX");
	assert_string_equal(g.row[9].label, "RCU");
}

/* ---- disks ---- */

static void disks_of_three_ages(void **state)
{
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_diskstats_parse, &g,
	     "   8       0 sda 100 1 2000 30 40 5 600 70 2 80 90\n"
	     "   8       1 sda1 1 2 3 4\n" /* a partition of 2.6.24 */
	     " 259       0 nvme0n1 10 0 80 1 20 0 160 2 0 3 4 50 0 400 6\n"
	     " 253       0 dm-0 1 0 8 0 1 0 8 0 0 1 1 0 0 0 0 9 5\n"
	     " 104       0 cciss/c0d0 1 0 8 0 1 0 8 0 0 1 1\n");
	take(proc_diskstats_parse, &g,
	     "   8       0 sda 110 1 2100 33 44 5 700 75 9 89 99\n"
	     "   8       1 sda1 1 2 3 4\n"
	     " 259       0 nvme0n1 11 0 88 1 20 0 160 2 0 3 4 57 0 456 7\n"
	     " 253       0 dm-0 1 0 8 0 1 0 8 0 0 1 1 0 0 0 0 12 8\n"
	     " 104       0 cciss/c0d0 1 0 8 0 1 0 8 0 0 1 1\n"
	     "  65       0 sdq 3 0 24 1 0 0 0 0 0 1 1\n");
	assert_int_equal(counted(&g, "sda", DISK_READS), 10);
	assert_int_equal(counted(&g, "sda", DISK_READ_SECTORS), 100);
	assert_int_equal(counted(&g, "sda", DISK_READ_MS), 3);
	assert_int_equal(counted(&g, "sda", DISK_WRITES), 4);
	assert_int_equal(counted(&g, "sda", DISK_BUSY_MS), 9);
	assert_int_equal(counted(&g, "sda", DISK_QUEUE_MS), 9);
	assert_false(grid_cell_sum(row(&g, "sda"), DISK_IN_FLIGHT).any);
	assert_false(grid_cell_sum(row(&g, "sda"), DISK_DISCARDS).any);
	assert_int_equal(counted(&g, "nvme0n1", DISK_DISCARDS), 7);
	assert_int_equal(counted(&g, "nvme0n1", DISK_DISCARD_MS), 1);
	assert_false(grid_cell_sum(row(&g, "nvme0n1"), DISK_FLUSHES).any);
	assert_int_equal(counted(&g, "dm-0", DISK_FLUSHES), 3);
	assert_int_equal(counted(&g, "dm-0", DISK_FLUSH_MS), 3);
	assert_int_equal(counted(&g, "sdq", DISK_READS), 3); /* plugged in meanwhile */
	(void)row(&g, "cciss/c0d0");
	for (size_t i = 0; i < g.len; i++)
		assert_string_not_equal(g.row[i].label, "sda1");
}

static void disks_of_this_kernel(void **state)
{
	CLEANUP(freep) char *text = read_data("diskstats-6.18.txt");
	struct grid g CLEANUP(grid_done) = {0};

	(void)state;
	take(proc_diskstats_parse, &g, text);
	assert_int_equal(row(&g, "vda")->cell[0].last, 1599195);
	take(proc_diskstats_parse, &g, ""); /* no block device any more */
	refuse(proc_diskstats_parse, "nonsense\n", ERR_INVALID, "no device");
}

/* ---- run queues ---- */

static void run_queues(void **state)
{
	struct grid g CLEANUP(grid_done) = {0};

	(void)state;
	take(proc_schedstat_parse, &g,
	     "version 15\ntimestamp 4294937296\n"
	     "cpu0 7 0 91234 11 22 33 1000000000 2000000000 300\n"
	     "domain0 f 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	     "cpu1 0 0 0 0 0 0 4000000000 5000000000 600\n");
	take(proc_schedstat_parse, &g,
	     "version 17\ntimestamp 4294937396\n"
	     "cpu0 7 0 91234 11 22 33 1000000700 2000000080 309\n"
	     "domain0 MC 3 0 0\n"
	     "cpu1 0 0 0 0 0 0 4000000001 5000000002 603\n"
	     "cpu2 0 0 0 0 0 0 77 88 99\n");
	assert_int_equal(counted(&g, "0", SCHED_RUN_NS), 700);
	assert_int_equal(counted(&g, "0", SCHED_DELAY_NS), 80);
	assert_int_equal(counted(&g, "0", SCHED_TIMESLICES), 9);
	assert_int_equal(counted(&g, "1", SCHED_DELAY_NS), 2);
	assert_int_equal(counted(&g, "2", SCHED_DELAY_NS), 0); /* it came with what it had */
	refuse(proc_schedstat_parse, "version 18\ntimestamp 1\n", ERR_UNSUPPORTED, "version 18");
	refuse(proc_schedstat_parse, "version 15\ntimestamp 1\n", ERR_INVALID, "no CPU");
	refuse(proc_schedstat_parse, "cpu0 1 2 3\n", ERR_INVALID, "no version");
}

/* ---- locks ---- */

#define LOCK_LINE "-----------------------------------------------------------------------\n"
#define LOCK_04                                                                                    \
	"                              class name    con-bounces    contentions   waittime-min   " \
	"waittime-max waittime-total   waittime-avg    acq-bounces   acquisitions   holdtime-min " \
	"  "                                                                                       \
	"holdtime-max holdtime-total   holdtime-avg\n"

static void locks_with_averages(void **state)
{
	static const char *const text[] = {
		"lock_stat version 0.4\n" LOCK_LINE LOCK_04 LOCK_LINE "\n"
		"                         &mm->mmap_lock-W:            46             84           "
		"0.26         939.10       16371.53         194.90          47291        2922365   "
		"        0.16     2220301.69 17464026916.32        5975.99\n"
		"                         &mm->mmap_lock-R:            37            100           "
		"1.31      299502.61      325629.52        3256.30         212344       34316685   "
		"        0.10        7744.91    95016910.20           2.77\n"
		"                         ---------------\n"
		"                           &mm->mmap_lock              1          "
		"[<ffffffff811502a7>] khugepaged_scan_mm_slot+0x57/0x280\n"
		"                           &mm->mmap_lock             96          "
		"[<ffffffff815351c4>] __do_page_fault+0x1d4/0x510\n"
		"\n................................................................\n\n"
		"(wq_completion)\"events\" x:            1              2           "
		"0.00           0.00           1.05           0.52             10             20   "
		"        0.00           0.00           9.99           0.50\n",
		"lock_stat version 0.4\n" LOCK_LINE LOCK_04 LOCK_LINE "\n"
		"(wq_completion)\"events\" x:            1              5           "
		"0.00           0.00           2.07           0.41             10             30   "
		"        0.00           0.00          10.00           0.50\n"
		"                         &mm->mmap_lock-W:            48             90           "
		"0.26         939.10       16371.63         194.90          47292        2922375   "
		"        0.16     2220301.69 17464026917.32        5975.99\n"};
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_lockstat_parse, &g, text[0]);
	assert_int_equal(g.len, 3);
	take(proc_lockstat_parse, &g, text[1]);
	assert_int_equal(counted(&g, "&mm->mmap_lock-W", LOCKSTAT_CON_BOUNCES), 2);
	assert_int_equal(counted(&g, "&mm->mmap_lock-W", LOCKSTAT_CONTENTIONS), 6);
	assert_int_equal(counted(&g, "&mm->mmap_lock-W", LOCKSTAT_WAIT_NS), 100);
	assert_int_equal(counted(&g, "&mm->mmap_lock-W", LOCKSTAT_ACQ_BOUNCES), 1);
	assert_int_equal(counted(&g, "&mm->mmap_lock-W", LOCKSTAT_ACQUISITIONS), 10);
	assert_int_equal(counted(&g, "&mm->mmap_lock-W", LOCKSTAT_HOLD_NS), 1000);
	assert_int_equal(counted(&g, "(wq_completion)\"events\" x", LOCKSTAT_WAIT_NS), 1020);
	assert_int_equal(counted(&g, "(wq_completion)\"events\" x", LOCKSTAT_HOLD_NS), 10);
}

/* Version 0.3: no averages. A kernel without hold times: no such column, no such number. */
static void locks_of_other_versions(void **state)
{
	struct grid g CLEANUP(grid_done) = {.rows_from_zero = true};

	(void)state;
	take(proc_lockstat_parse, &g,
	     "lock_stat version 0.3\n" LOCK_LINE
	     "   class name    con-bounces    contentions   waittime-min   waittime-max "
	     "waittime-total    acq-bounces   acquisitions   holdtime-min   holdtime-max "
	     "holdtime-total\n" LOCK_LINE "\n"
	     "   &counter->lock:       3074759        3086077           0.94       14372.27     "
	     "1978508.38       68039606       80763359           0.45       34243.51    "
	     "37892635.86\n");
	assert_int_equal(g.row[0].len, 6);
	assert_int_equal(g.row[0].cell[2].last, 1978508380);
	take(proc_lockstat_parse, &g,
	     "lock_stat version 0.9\n   class name    contentions   waittime-total\n"
	     "   other:       5        1.25\n");
	assert_int_equal(counted(&g, "other", LOCKSTAT_WAIT_NS), 1250);
	assert_false(grid_cell_sum(row(&g, "other"), LOCKSTAT_HOLD_NS).any);
	refuse(proc_lockstat_parse, "lock_stat version 0.4\n*WARNING* lock debugging disabled!!\n",
	       ERR_UNSUPPORTED, "switched");
	refuse(proc_lockstat_parse, "lock_stat version 0.4\n", ERR_INVALID, "column names");
	refuse(proc_lockstat_parse, "", ERR_INVALID, "version");
}

/* ---- pressure ---- */

static void pressure(void **state)
{
	struct psi p;
	struct err err;

	(void)state;
	assert_int_equal(
		proc_psi_parse("some avg10=54.52 avg60=21.75 avg300=7.76 total=7515864965\n"
			       "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
			       &p, &err),
		0);
	assert_int_equal(p.some_ns, 7515864965000);
	assert_int_equal(p.full_ns, 12000);
	/* irq has no "some", cpu had no "full" before 5.13 */
	assert_int_equal(proc_psi_parse("full avg10=0.00 total=7\n", &p, &err), 0);
	assert_int_equal(p.some_ns, -1);
	assert_int_equal(p.full_ns, 7000);
	assert_int_equal(proc_psi_parse("some avg10=0.00 total=7\n", &p, &err), 0);
	assert_int_equal(p.full_ns, -1);
	assert_int_equal(proc_psi_parse("", &p, &err), ERR_INVALID);
	assert_int_equal(proc_psi_parse("some total=x\n", &p, &err), ERR_INVALID);
	assert_int_equal(proc_psi_parse("some total=99999999999999999999\n", &p, &err),
			 ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_virtual_machine),
		cmocka_unit_test(names_of_other_machines),
		cmocka_unit_test(differences),
		cmocka_unit_test(cpus_come_and_go),
		cmocka_unit_test(a_counter_that_goes_back_is_a_gap),
		cmocka_unit_test(many_cpus),
		cmocka_unit_test(torn_and_foreign_files),
		cmocka_unit_test(unknown_lines_are_left_out),
		cmocka_unit_test(softirqs),
		cmocka_unit_test(disks_of_three_ages),
		cmocka_unit_test(disks_of_this_kernel),
		cmocka_unit_test(run_queues),
		cmocka_unit_test(locks_with_averages),
		cmocka_unit_test(locks_of_other_versions),
		cmocka_unit_test(pressure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
