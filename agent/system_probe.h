/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system probe: what the kernel counts about itself, from /proc.
 *
 * Pressure (PSI) as counters of each interval. Of the measured window, as values a second:
 * interrupts and softirqs by name and by CPU, disks, run queues (schedstat) and locks (lock_stat),
 * each the largest ones, the rest and all. What this kernel does not have is an absent series with
 * the reason; a counter that went back has no number. Names: docs/PROTOCOL.md. */
#pragma once

#include "agent/probe.h"

/* `root` is a prefix of /proc and /sys for tests, "" in real life; borrowed until free. */
struct probe *system_probe(const char *root);
