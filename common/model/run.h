/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run document: what importers make, what the server stores and gives back, and what the
 * comparison engine reads. Plain structs, owned by the `struct run`; all strings are malloc'd.
 * The JSON form (run_to_json / run_from_json) is the body of POST /api/v1/runs, one line of the
 * NDJSON export, and `rigstat show --json`; docs/PROTOCOL.md has its table. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "common/hist.h"

struct label {
	char *key, *value;
};

/* Sorted by key, unique. */
struct labels {
	struct label *v;
	size_t len, cap;
};
void labels_set(struct labels *l, const char *key, const char *value); /* NULL value removes */
const char *labels_get(const struct labels *l, const char *key);       /* NULL when absent */
bool labels_equal(const struct labels *a, const struct labels *b);
void labels_copy(struct labels *to, const struct labels *from);
void labels_done(struct labels *l);

enum series_kind {
	SERIES_HIST,	/* a distribution of one run */
	SERIES_VALUE,	/* one number of one run */
	SERIES_SUMMARY, /* n, min, avg, max, sdev over several runs whose values are not known */
	SERIES_ABSENT,	/* could not be measured: `reason` says why. Never a 0. */
};

/* How a source treats periods that it missed (coordinated omission). */
enum omission {
	OMISSION_UNKNOWN,
	OMISSION_KEEPS_DEADLINES,
	OMISSION_SKIPS_MISSED,
	OMISSION_INTENDED_TIME
};

struct summary {
	uint64_t n;		    /* runs */
	double min, avg, max, sdev; /* sample sdev (n-1) */
	bool has_min, has_avg, has_max, has_sdev;
};

/* State of a counter value (reference: perf.md 2.3). */
enum value_state { VALUE_EXACT, VALUE_ESTIMATED, VALUE_DOUBTFUL };

struct series {
	char *metric;	      /* "wakeup_latency" */
	struct labels labels; /* cpu=0, context=irq, device=loop0 ... */
	char *unit;   /* "ns", "%", "1", "bytes"; hist values are always ns when unit is ns */
	char *method; /* "rigstat-wakeup/1", "cyclictest" ...; NULL when unknown */
	enum series_kind kind;
	struct hist hist;
	double value;
	enum value_state state;
	struct summary summary;
	char *reason; /* for SERIES_ABSENT and doubtful values */
	enum omission omission;
	int64_t interval_ns;   /* period of the source, 0 unknown */
	int64_t resolution_ns; /* bucket width or clock step, 0 unknown */
	uint64_t missed;       /* periods that were missed and not measured */
};

/* Something that a reader of the run must know: what was inferred, contradictions that do not
 * forbid reading, gaps. `code` is stable ("inferred-unit", "claimed-count-differs"). */
struct note {
	char *code, *text;
};

enum run_kind { RUN_MEASURED, RUN_WATCH, RUN_IMPORTED };
enum run_state { RUN_RUNNING, RUN_OK, RUN_FAILED, RUN_ABORTED };

struct run {
	char uid[33]; /* 128-bit hex minted by the agent or importer; "" when none yet */
	enum run_kind kind;
	enum run_state state;
	char *host, *experiment, *source; /* source: file or tool; any may be NULL */
	struct labels factors;		  /* factor = level */
	struct labels tags;
	int64_t started_ns, ended_ns; /* realtime; 0 unknown */
	int64_t measured_ns;	      /* length of the measured window, 0 unknown */
	uint32_t order;		      /* position in the experiment's sequence, from 1; 0 unknown */
	uint32_t block;		      /* block of the design, from 1; 0 unknown */
	char *boot_id;		      /* NULL unknown */
	char *excluded;		      /* reason, NULL when it counts */
	struct series *series;
	size_t series_len, series_cap;
	struct note *notes;
	size_t notes_len, notes_cap;
	json_t *environment; /* object of facts (model/environment.h), NULL unknown */
	json_t *extra;	     /* object: tool's own fields kept for display, NULL none */
};

struct run *run_new(enum run_kind kind) MUSTCHECK;
void run_free(struct run *r);
void run_freep(struct run **r);
/* Appends a zeroed series; the pointer is valid until the next call. Takes copies of the names. */
struct series *run_add_series(struct run *r, const char *metric, enum series_kind kind,
			      const char *unit);
void run_note(struct run *r, const char *code, const char *fmt, ...) PRINTF(3, 4);
/* 32 hex digits from getrandom(). */
void run_mint_uid(char uid[33]);

struct runs {
	struct run **v;
	size_t len, cap;
};
void runs_add(struct runs *rs, struct run *r); /* takes ownership */
void runs_done(struct runs *rs);	       /* frees all runs */

json_t *run_to_json(const struct run *r) MUSTCHECK; /* new reference */
int run_from_json(const json_t *j, struct run **ret, struct err *reterr) MUSTCHECK;

const char *run_kind_name(enum run_kind k);
const char *run_state_name(enum run_state s);
const char *series_kind_name(enum series_kind k);
const char *omission_name(enum omission o);
