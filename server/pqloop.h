/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One asynchronous PostgreSQL connection on a libuv loop: connects, reconnects with backoff, runs
 * one job at a time. The only file that knows both libraries. It knows no SQL but the session's
 * set-up script and `rollback`.
 *
 * PQconnectStart resolves names blockingly: give `hostaddr` where that matters. */
#pragma once

#include "common/err.h"

struct uv_loop_s;
struct pg_result; /* libpq's PGresult */
struct pqloop;

/* Everything is borrowed until on_result returns. */
struct pqloop_job {
	const char *name; /* prepared under this name on first use; NULL: see `script` */
	const char *text;
	bool script; /* several statements, no parameters; else one unnamed statement */
	int n_params;
	const unsigned int *types;
	const char *const *values;
	const int *lengths, *formats;
	bool in_transaction; /* a failure leaves the transaction to the caller */
	unsigned int deadline_ms;
	/* Once. `err` is NULL on success; sqlstate is NULL when the connection broke. The
	 * connection is idle again unless it broke: the callback may run the next job. */
	void (*on_result)(struct pqloop_job *job, const struct pg_result *res, const char *sqlstate,
			  const struct err *err);
};

struct pqloop_events {
	/* The connection can take a job. */
	void (*on_idle)(void *ctx, struct pqloop *pq);
	/* It broke or could not be made; it retries by itself. The job in flight, if any, has
	 * been told. */
	void (*on_down)(void *ctx, struct pqloop *pq, const struct err *err);
	void (*on_notify)(void *ctx, const char *channel, const char *payload);
};

struct pqloop *pqloop_new(struct uv_loop_s *loop, const char *conninfo, const char *setup_script,
			  const struct pqloop_events *events, void *ctx);
void pqloop_start(struct pqloop *pq);
bool pqloop_is_idle(const struct pqloop *pq);
bool pqloop_is_up(const struct pqloop *pq);
/* The connection must be idle. */
void pqloop_run(struct pqloop *pq, struct pqloop_job *job);
/* Drops the connection and makes a new one; a job in flight fails. */
void pqloop_drop(struct pqloop *pq, const char *why);
/* Ends it; a job in flight fails. on_closed is called when the memory is gone. */
void pqloop_close(struct pqloop *pq, void (*on_closed)(void *ctx), void *ctx);
