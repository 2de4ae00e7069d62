/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What takes CPU time away from below the kernel: readings of /proc, /sys and the msr device below
 * a root ("" in real life, a directory in tests). */
#pragma once

#include "common/base.h"

/* All CPUs together, in ticks since boot. */
struct hw_ticks {
	uint64_t steal, all;
};
bool hw_read_ticks(const char *root, struct hw_ticks *ret);

/* Is this a virtual machine (the CPU's own flag)? */
bool hw_is_virtual(const char *root);
/* "AuthenticAMD" and 23 (Zen); "" and 0 when the box does not say (it is no x86). */
void hw_cpu_family(const char *root, char vendor[32], unsigned int *ret_family);

/* System management interrupts since reset: MSR_SMI_COUNT of CPU 0, Intel only, through the msr
 * module and with the right to. */
bool hw_read_smi_msr(const char *root, uint64_t *ret);

/* Times that cores or packages were slowed because of their heat, since boot. */
enum hw_part { HW_CORE, HW_PACKAGE, HW_PARTS };
struct hw_throttle {
	bool *first[HW_PARTS]; /* one CPU of each core and of each package */
	size_t cpus;
};
/* False when this box does not count (x86 with thermal interrupts only). */
bool hw_throttle_init(struct hw_throttle *t, const char *root);
void hw_throttle_done(struct hw_throttle *t);
bool hw_throttle_read(const struct hw_throttle *t, const char *root, enum hw_part part,
		      uint64_t *ret);

/* Mean frequency of CPUs while they were not idle, from what they counted in `ns` of CPU time:
 * APERF counts at the real frequency, MPERF at that of the TSC, both only while not idle (Intel
 * SDM 15.2, AMD APM 17.3). Negative: not known. */
double hw_effective_ghz(uint64_t aperf, uint64_t mperf, uint64_t tsc, uint64_t ns);
