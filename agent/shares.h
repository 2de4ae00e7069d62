/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shares probe: who used the CPUs, by system-wide sampling weighted by period.
 *
 * Per run, measured window only, as values in percent:
 *   cycle_share{app}         share of non-idle cycles of a named application (hardware cycles)
 *   time_share{app}          the same of CPU time, where cycles are not counted: never one name
 *                            for two things
 *   *_share_of_all{app}      of everything that was sampled, idle included
 *   *_idle, *_unattributed, *_agent   idle, tasks whose name is not known, the agent itself
 *   *_command{comm}          the largest commands; *_symbol{symbol} kernel symbols,
 *                            *_object{object} user objects: the run's profile
 * More than 1 % of the samples lost, or of the CPUs' time not sampled because the kernel throttled
 * it: no share is published, the run is marked. */
#pragma once

#include "agent/perf_sampler.h"
#include "agent/probe.h"

enum share_key { SHARE_COMM, SHARE_LEADER, SHARE_EXE, SHARE_CGROUP };

struct share_app {
	char *name;
	enum share_key key;
	char *pattern; /* shell pattern (fnmatch) */
};

struct shares_conf {
	const struct share_app *apps; /* borrowed until free */
	size_t apps_len;
	unsigned int hz; /* 0: 199 */
};

/* "oracle=comm:oracle*"; keys comm (thread), leader (of the process), exe, cgroup. */
int share_app_parse(const char *text, struct share_app *ret, struct err *reterr) MUSTCHECK;
void share_app_done(struct share_app *a);

/* Why a window's samples cannot stand for it, NULL when they can. window_ns: all CPUs together.
 * Returns buf. */
const char *shares_refusal(const struct perf_sampler_counts *c, double window_ns, char *buf,
			   size_t cap);

/* Never fails: without rights the shares are absent series with the reason. */
struct probe *shares_probe(const struct shares_conf *conf);
