/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What compact.c (when) and compact_job.c (how) share. */
#pragma once

#include "server/compact.h"
#include "server/compact_model.h"
#include "server/db.h"
#include "server/pending.h"

struct run_key {
	int64_t host_id;
	unsigned char stream[STREAM_ID_LEN];
	int64_t run_no;
};

struct job {
	struct job *next, **link;
	struct compact *c;
	struct run_key key;
	int64_t oldest_ns; /* receipt of the oldest staged row */
	int64_t started_ns;
	struct db_txn *txn;
	struct cmodel *m;
	bool exists; /* the run has a row */
	bool by_uid; /* that another stream began */
	int64_t run_id;
	unsigned int step;
	bool in_work, committing, dead;
};

#define CANDIDATES_MAX 64

struct compact {
	struct db *db;
	struct work_pool *work;
	struct retention keep;
	struct pending_list pending;
	struct job *jobs;
	struct run_key
		*later; /* ring of runs that could not be packed, with the time to try again */
	int64_t *later_ns;
	size_t later_at;
	struct run_key found[CANDIDATES_MAX]; /* to be packed, from next_found on */
	int64_t found_ns[CANDIDATES_MAX];
	size_t n_found, next_found;
	bool looking, retaining, stopping;
	unsigned int ticks;
	struct compact_stats stats;
};

#define LATER_MAX 256

/* Packs one run; ends by itself with compact_job_done. */
void job_start(struct compact *c, const struct run_key *key, int64_t oldest_ns);
/* The job is over. `again_ms`: do not try this run before; 0 = at once. Frees the job. */
void compact_job_done(struct job *j, unsigned int again_ms);
void job_free(struct job *j);

/* ---- compact_write.c: the statements of a pass, in order ---- */
enum write_step {
	WRITE_RUN,
	WRITE_ENVIRONMENTS,
	WRITE_SERIES,
	WRITE_HISTS,
	WRITE_CHUNKS,
	WRITE_MINUTES,
	WRITE_TOTALS,
	WRITE_RATES,
	WRITE_VALUES,
	WRITE_BREACHES,
	WRITE_UPDATE,
	WRITE_MISSED,
	WRITE_STATES,
	WRITE_GAPS,
	WRITE_NOTE_GAPS,
	WRITE_UNCLEAN,
	WRITE_DELETE,
	WRITE_STEPS
};

struct write {
	struct db_param params[16];
	size_t n;
	char *texts[2]; /* memory of JSON parameters */
	const char **list;
};
void write_done(struct write *w);
/* NULL: this step has nothing to write. */
const struct query *write_step(const struct job *j, enum write_step step, struct write *w);
