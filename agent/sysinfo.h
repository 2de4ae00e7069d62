/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Environment facts of this box: kernel, CPU, firmware, power, interrupts, mitigations. Read from
 * /proc and /sys once per run, before its warm-up; takes a few ms. Absent facts stay absent. */
#pragma once

#include "agent/facts.h"

/* `root` is a prefix for tests ("" in real life). */
void sysinfo_collect(struct facts *f, const char *root);
/* Tunables under test, as "tunable.<name>" = level. */
void sysinfo_tunable(struct facts *f, const char *name, const char *value);

/* "" when it cannot be read; 36 characters otherwise. */
void sysinfo_boot_id(char boot_id[37]);
void sysinfo_host_name(char *buf, size_t cap);
/* Sets cpus[i] for every online CPU; returns how many. */
size_t sysinfo_online_cpus(bool *cpus, size_t cap);
