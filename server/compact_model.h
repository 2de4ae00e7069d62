/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the compactor knows of one run while it packs: the state before (from the database), the
 * staged records, and the rows to write. compact_decode.c reads records into it, compact_pack.c
 * makes rows of it; both are pure and run in the thread pool. */
#pragma once

#include <jansson.h>

#include "common/hist.h"
#include "common/record.h"

#define BREACHES_MAX 10000 /* rows kept of a run; all are counted */
#define NOTES_MAX    100   /* of one pass */

/* First byte of rigstat.chunk.v: what is left out because it is the same for all samples. */
enum {
	CHUNK_EVEN = 1,	   /* the intervals follow one another and are equally long */
	CHUNK_ENABLED = 2, /* enabled all the time: enabled_ns is the interval */
	CHUNK_RUNNING = 4  /* running whenever enabled */
};

enum cphase { PHASE_NONE, PHASE_WARMUP, PHASE_MEASURED, PHASE_AFTER };
enum ckind { CKIND_HIST, CKIND_VALUE, CKIND_COUNTER, CKIND_ABSENT };

/* One interval of a histogram series; the bytes are borrowed from a staged record or an old row. */
struct cinterval {
	int64_t t0_ns, dt_ns;
	unsigned int phase;
	bool old; /* from a row that is written again: already in minute and total */
	const unsigned char *data;
	size_t len;
};

struct csample {
	int64_t t0_ns, dt_ns;
	unsigned int phase;
	bool old;
	struct counter_sample v;
};

/* Sum over the measured phase of a counter. */
struct crate {
	uint64_t count, lost; /* intervals with a value; intervals that never ran */
	double delta, seconds, min, max, mean, m2;
	int64_t enabled_ns, running_ns;
};

struct cminute {
	int64_t minute_ns;
	unsigned int phase;
	const unsigned char *data;
	size_t len;
};

struct cseries {
	uint64_t no;
	enum ckind kind;
	char *metric;
	json_t *decl; /* the checked item of a new series, else NULL */
	struct cinterval *intervals;
	size_t n_intervals, cap_intervals;
	struct csample *samples;
	size_t n_samples, cap_samples;
	struct cminute *minutes; /* rows that exist */
	size_t n_minutes, cap_minutes;
	double value;
	bool has_value;
	const unsigned char *total; /* histogram so far, NULL none */
	size_t total_len;
	const unsigned char *whole; /* of a tool's own layout, for the whole run; NULL none */
	size_t whole_len;
	struct crate rate;
	bool touched;	    /* its total changes in this pass */
	struct hist merged; /* the total after this pass */
};

struct crecord {
	uint64_t first_seq, last_seq;
	const unsigned char *data;
	size_t len;
};

/* Rows, column by column as unnest() wants them. */
struct crows {
	int64_t *a[7];
	double *f[3];
	struct strbuf *blobs;
	size_t n, cap;
};

struct cmodel {
	/* in */
	bool watch;
	bool final; /* the run has ended, or this is its end */
	unsigned int phase;
	uint64_t breaches_before;
	struct crecord *records;
	size_t n_records, cap_records;
	struct strbuf *keep; /* memory that everything points into */
	size_t n_keep, cap_keep;
	/* the run as decoded */
	json_t *start, *end;  /* checked items or NULL */
	json_t *environments; /* array of {sha256, facts} */
	json_t *notes;	      /* array of {code, text} */
	json_t *breaches;     /* array of rows */
	json_t *gaps;	      /* array of checked items */
	json_t *unclean;      /* array of streams that ended without a last word */
	uint64_t samples, n_breaches, undeclared;
	int64_t last_ns, measured_from_ns, measured_to_ns;
	uint64_t first_seq, last_seq;
	struct cseries **series; /* by number, sparse */
	size_t cap_series;
	/* out */
	struct crows chunks, hists, minutes, totals;
	json_t *new_series, *rates, *values;
};

struct cmodel *cmodel_new(void) MUSTCHECK;
void cmodel_free(struct cmodel *m);
/* A copy that lives as long as the model. */
const unsigned char *cmodel_keep(struct cmodel *m, const void *data, size_t len);
/* NULL when there is none of this number. */
struct cseries *cmodel_series(struct cmodel *m, uint64_t no);
struct cseries *cmodel_add_series(struct cmodel *m, uint64_t no, const char *metric,
				  enum ckind kind);
bool ckind_of(const char *name, enum ckind *ret);

/* compact_decode.c: reads the staged records in order. What cannot be read becomes a note: it was
 * checked at ingest, so that is a damaged row or a bug. */
void compact_decode(struct cmodel *m);
/* The uid that the records name (RUN_START or RUN_END), false when none does. */
bool compact_find_uid(const struct cmodel *m, unsigned char ret[16]);
bool compact_has_start(const struct cmodel *m);
/* Old rows back into intervals and samples. */
int compact_unpack_hists(struct cmodel *m, uint64_t no, int64_t t0_ns, int64_t dt_ns,
			 unsigned int phase, uint64_t n, const void *d, size_t len,
			 struct err *reterr) MUSTCHECK;
int compact_unpack_samples(struct cmodel *m, uint64_t no, int64_t t0_ns, int64_t dt_ns,
			   unsigned int phase, uint64_t n, const void *d, size_t len,
			   struct err *reterr) MUSTCHECK;

/* compact_pack.c: fills the rows. */
void compact_pack(struct cmodel *m);
/* compact_values.c: per-run scalars of everything that was touched. */
void compact_values(struct cmodel *m);
