/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What disturbs a box from below the kernel, at both ends of the measured window: system management
 * interrupts, throttling by heat, time that the hypervisor gave to others, and the frequency at
 * which the CPUs really ran. One value each a run; a disturber that is not 0 is a mark of the run.
 * Nothing is excluded for it: that is a person's decision. */
#pragma once

#include "agent/probe.h"

/* `root` is a prefix of /proc, /sys and /dev for tests, "" in real life; borrowed until free. */
struct probe *hardware_probe(const char *root);
