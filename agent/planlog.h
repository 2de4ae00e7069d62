/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has been done of an experiment's plan, kept on disk: `rigstat-agent run --plan-file` writes
 * it and goes on after it, the daemon reads it to say how far the experiment is.
 *
 * A text file, a line an event, each written at once, so that a killed process leaves whole lines:
 *   plan UID TOTAL SEED
 *   begin ORDER ATTEMPT REALTIME_NS RUN_UID CELL
 *   end ORDER ATTEMPT REALTIME_NS STATE P50_NS P99_NS MAX_NS      (-1: not measured; the state
 *                       is ok, failed, aborted, or again: it failed and is tried once more)
 *   known RANGES                                   runs that the server has, such as 1-7,9
 * A run that began and has no end was cut off: it is done again as the next attempt. A last line
 * without its newline is ignored. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

struct planlog;
/* Opens or makes it. ERR_CONFLICT: it belongs to another plan. */
struct planlog_plan {
	char uid[33]; /* of the experiment */
	uint32_t total;
	uint64_t seed;
};
int planlog_open(const char *path, const struct planlog_plan *plan, struct planlog **ret,
		 struct err *reterr) MUSTCHECK;
/* Whose it is; false when there is no such file yet, or it is none. */
bool planlog_peek(const char *path, struct planlog_plan *ret);
void planlog_close(struct planlog *p); /* NULL is fine */
void planlog_closep(struct planlog **p);

/* Ended well, or failed for good: not to be run again. NULL: never. */
bool planlog_is_done(const struct planlog *p, uint32_t order);
/* How often it was begun before. */
uint32_t planlog_attempts(const struct planlog *p, uint32_t order);
/* Runs of earlier processes by how they ended last. */
void planlog_count(const struct planlog *p, uint32_t *ret_ok, uint32_t *ret_failed);

struct planlog_outcome {
	const char *state;		/* "ok", "failed", "aborted", "again" */
	int64_t p50_ns, p99_ns, max_ns; /* -1: not measured */
};
/* Failures to write are remembered and told by planlog_problem(): the experiment goes on. */
void planlog_begin(struct planlog *p, uint32_t order, uint32_t attempt, const char *run_uid,
		   const char *cell);
/* Also brings the file to the disk. */
void planlog_end(struct planlog *p, uint32_t order, uint32_t attempt,
		 const struct planlog_outcome *o);
const char *planlog_problem(const struct planlog *p); /* NULL: none */

/* ---- the daemon's side ---- */

/* Notes runs that the server has; makes the file when it is new. */
int planlog_note_known(const char *path, const struct planlog_plan *plan, const char *ranges,
		       struct err *reterr) MUSTCHECK;
/* How far it is, as a flat JSON object; false when there is no such file or nothing in it. */
bool planlog_put_progress(const char *path, int64_t now_ns, struct strbuf *out);
/* Is a run being measured just now (the last line is a begin)? */
bool planlog_in_run(const char *path);
