/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A measuring session: runs, one after the other, from the probes into the spool. `rigstat-agent
 * run` and the daemon drive it; it knows no loop, so the driver calls session_tick() each
 * interval. Loop thread only.
 *
 *   session_open          probes start (threads on the given CPUs)
 *     session_begin       ENVIRONMENT, RUN_START, SERIES, PHASE 1: warm-up begins
 *     session_tick ...    one record an interval
 *     session_measure     edge: the last warm-up item, then PHASE 2
 *     session_tick ...
 *     session_measured    edge: the last measured item, then PHASE 3
 *     session_end         RUN_END with state, cost, missed, lost and marks
 *   session_close */
#pragma once

#include "agent/cost.h"
#include "agent/facts.h"
#include "agent/sampler.h"
#include "agent/spool.h"
#include "agent/wakeup.h"

struct session_conf {
	struct spool *spool;	       /* borrowed */
	const struct agent_conf *conf; /* borrowed: cpus, policy, period, probes, host */
	bool workload;		       /* the runs have one: session_workload() */
};

struct session;
int session_open(const struct session_conf *conf, struct session **ret,
		 struct err *reterr) MUSTCHECK;
void session_close(struct session *s); /* an open run is ended as aborted; NULL is fine */
void session_closep(struct session **s);

/* Further probes, before the first run. Takes ownership. */
void session_add_probe(struct session *s, struct probe *p);
struct wakeup *session_wakeup(struct session *s);
const struct marks *session_marks(const struct session *s); /* missing rights, for people */

struct run_start {
	const char *run_uid;	/* 32 hex digits, run_mint_uid() */
	const char *kind;	/* "measured", "watch" */
	const char *json_extra; /* further members, without braces: "\"order\":3,..."; NULL: none.
				 * Names: the RUN_START table of docs/PROTOCOL.md */
	struct facts *tunables; /* merged into the environment; NULL: none */
};
void session_begin(struct session *s, const struct run_start *r);
/* The run's workload: forked, and held before its exec() until this returns. */
void session_workload(struct session *s, int pid);
/* Once an interval; collects and appends one record. */
void session_tick(struct session *s);
void session_measure(struct session *s);
void session_measured(struct session *s);
/* A BREACH, GAP or LOG item of the present run, from elsewhere, in a record of its own. */
void session_item(struct session *s, enum item_type type, const char *json, size_t len);
/* One number of the run (workload result); `d->kind` is "value". Declares and writes it. */
void session_value(struct session *s, const struct series_decl *d, double value);

/* A histogram of the whole run, by a tool; `d->kind` is "hist". One that does not fit into a record
 * is refused. */
int session_hist(struct session *s, const struct series_decl *d, const struct hist *h,
		 struct err *reterr) MUSTCHECK;

struct run_end {
	const char *state;	   /* "ok", "failed", "aborted" */
	const char *reason;	   /* NULL: none */
	const char *window_end;	   /* "workload", "duration", "stopped" */
	const char *workload_json; /* an object, NULL: null */
};
/* Ends the run; calls session_measured() first when the window is open. */
void session_end(struct session *s, const struct run_end *e);
/* A mark of the present run, beside those of the probes. */
void session_mark(struct session *s, const char *code, const char *fmt, ...) PRINTF(3, 4);

/* Stops the measuring threads between runs and starts them again (measure.lock). */
void session_pause(struct session *s);
int session_resume(struct session *s, struct err *reterr) MUSTCHECK;
bool session_running(const struct session *s); /* a run is open */
/* The last record's quantiles are for people: copies the merged histogram of the measured window
 * of the present or last run over all CPUs. */
void session_histogram(const struct session *s, struct hist *ret);
