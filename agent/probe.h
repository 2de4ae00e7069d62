/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe: something that measures and has series. The sampler owns probes, calls them on the
 * loop thread only, gives them series numbers and writes what they collect into records.
 *
 * Life of a run:  declare -> begin (warm-up) -> collect* -> collect (edge) -> collect* ->
 * collect (edge) -> finish -> summary. `collect` must empty what it took, so that an item lies
 * wholly inside or outside the measured window. */
#pragma once

#include "agent/rights.h"
#include "common/record.h"

struct series_decl {
	const char *metric, *kind, *unit; /* kind: "hist", "counter", "value", "absent" */
	const char *label[4][2];	  /* pairs, ended by a NULL key */
	const char *method;   /* "rigstat-wakeup/1"; the number changes with the values */
	const char *omission; /* "keeps_deadlines" or NULL */
	const char *state;    /* "exact" or NULL */
	const char *reason;   /* for "absent": why; else NULL */
	int64_t interval_ns, resolution_ns; /* 0: does not apply */
};

struct series_list; /* the declarations of one run */
/* Returns the number of the new series in this run. Copies everything. */
uint64_t series_declare(struct series_list *l, const struct series_decl *d);
/* Outside of probe->declare: writes the SERIES item with number ++*last. */
uint64_t series_declare_more(struct record_writer *w, uint64_t *last, const struct series_decl *d);

struct interval {
	int64_t t0_ns; /* realtime at the begin */
	int64_t dt_ns; /* boot time between the two collections */
	bool measured; /* inside the measured window */
	bool edge;     /* the last one of its phase: everything must be taken now */
};

/* Which intervals a probe takes that reads every n-th only; an interval that it takes then covers
 * those before it. */
struct pace {
	unsigned int divisor; /* 1: all */
	unsigned int skipped;
	int64_t t0_ns, dt_ns; /* of those */
};
void pace_begin(struct pace *p, unsigned int divisor);
/* True: take now, *ret is the interval since the last time. */
bool pace_due(struct pace *p, const struct interval *in, struct interval *ret);

/* What a probe says about a run when it ends; measured window only. */
struct run_summary {
	struct marks marks;
	struct {
		uint64_t series, missed;
	} * missed;
	size_t missed_len, missed_cap;
	/* Of counters, whose state only the end knows: see run_summary_state(). */
	struct {
		uint64_t series;
		const char *state;
		char reason[300];
	} * states;
	size_t states_len, states_cap;
	uint64_t lost;
	int64_t measure_cpu_ns; /* CPU time of measuring threads */
};
void run_summary_missed(struct run_summary *s, uint64_t series, uint64_t missed);
/* The series' state over the run ("estimated", "doubtful"; NULL: as declared), and why: what a
 * reader of its number, or of none, must know. */
void run_summary_state(struct run_summary *s, uint64_t series, const char *state, const char *fmt,
		       ...) PRINTF(4, 5);
void run_summary_done(struct run_summary *s);

/* What a probe costs beside the loop thread's time in its callbacks. Totals that only grow. */
struct probe_cost {
	int64_t threads_ns; /* CPU time of threads of its own */
	int64_t kernel_ns;  /* estimated time in the kernel on the probe's behalf; -1: not known */
};

/* Budgets, part of one CPU. */
#define PROBE_COUNTING_BUDGET 0.001

struct probe {
	const char *name;
	double budget;	     /* CPU that the agent may spend on it, part of one CPU; 0: no limit */
	const char *expense; /* what that is, for people: "sampling" */
	void (*declare)(struct probe *p, struct series_list *l);
	/* Forget what has accumulated: the run begins now. May be NULL. */
	void (*begin)(struct probe *p);
	/* The run's workload is this process, which has not reached its exec() yet. May be NULL. */
	void (*workload)(struct probe *p, int pid);
	void (*collect)(struct probe *p, const struct interval *i, struct record_writer *w);
	/* The window has ended: declares and writes what is known only now (totals of the run),
	 * before RUN_END. May be NULL. */
	void (*finish)(struct probe *p, struct record_writer *w, uint64_t *last_series);
	void (*summary)(struct probe *p, struct run_summary *s); /* may be NULL */
	/* Measure at 1/divisor of the full rate from now on: 1 before `begin`, doubled each time
	 * that the budget is exceeded. NULL: no rate to lower. */
	void (*slow)(struct probe *p, unsigned int divisor);
	void (*cost)(struct probe *p, struct probe_cost *ret); /* may be NULL: nothing */
	void (*free)(struct probe *p);
};
