/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects the probes once an interval and turns what they have into items of a record. Knows no
 * run, no spool and no loop: session.c drives it. Loop thread only. */
#pragma once

#include "agent/probe.h"

struct sampler;
struct sampler *sampler_new(void) MUSTCHECK;
void sampler_free(struct sampler *s); /* frees the probes */
/* Takes ownership. Order of adding is the order of series numbers. */
void sampler_add(struct sampler *s, struct probe *p);
/* Another budget for a probe, part of one CPU; no probe of that name: nothing. */
void sampler_budget(struct sampler *s, const char *probe, double part);

/* Begins a run: asks every probe for its series, writes the SERIES items, restarts the probes.
 * Returns the highest series number. */
uint64_t sampler_begin(struct sampler *s, struct record_writer *w);
/* The run's workload has been forked and waits before its exec(). */
void sampler_workload(struct sampler *s, int pid);
/* One interval from the last collection until now into `w`; `measured` says which side of the
 * window's edges it lies on, `edge` that it ends there. */
void sampler_collect(struct sampler *s, bool measured, bool edge, struct record_writer *w);
/* Throws away what has accumulated since the last collection (after a pause). */
void sampler_discard(struct sampler *s);
/* The window has ended: the probes add what they know only now. */
void sampler_finish(struct sampler *s, struct record_writer *w, uint64_t *last_series);
/* What the probes say about the run; free with run_summary_done(). */
void sampler_summary(struct sampler *s, struct run_summary *ret);
/* What each probe has cost since sampler_begin(): the members of a JSON array. */
void sampler_put_costs(struct sampler *s, struct strbuf *out);
