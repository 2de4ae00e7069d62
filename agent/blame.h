/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blame probe: for late wake-ups, who held the CPU.
 *
 * The measuring threads push (due, late) of samples above the threshold into their rings and wake
 * a reader thread by an eventfd; the reader (ordinary policy, off the measured CPUs) copies the
 * recorder's events of that window while they are there and splits the lateness. Reading is
 * rationed: per CPU 10 a second, burst 20, the worst of each 100 ms; late samples of one stall are
 * one read. The rest is counted, and "n of m read" always goes with the causes.
 *
 * Per run: BREACH items; values breaches, breaches_read, breaches_per_hour, and per cause
 * blame_share{cause} (of the lateness that was read) and blame_breaches{cause} (an hour, by the
 * largest holder). The 20 worst carry their raw events. */
#pragma once

#include "agent/blame_recorder.h"
#include "agent/probe.h"
#include "agent/wakeup.h"

struct blame_conf {
	const bool *cpus; /* measured CPUs; borrowed for the call */
	size_t cpus_len;
	int64_t threshold_ns; /* 0: the p99.9 of the run's own warm-up */
};

/* Takes breaches of `w` from now on; the probe of `w` gives the warm-up. Borrows both. Never fails:
 * without the recorder breaches are still counted and listed, and their cause is "not available"
 * with the reason. */
struct probe *blame_probe(const struct blame_conf *conf, struct wakeup *w,
			  const struct probe *wakeup_p);
