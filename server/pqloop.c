/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/pqloop.h"

#include <libpq-fe.h>
#include <uv.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/sqlstate.h"

#define CONNECT_MS_MAX	 10000
#define SETUP_MS_MAX	 10000
#define ROLLBACK_MS_MAX	 5000
#define BACKOFF_MS_FIRST 100
#define BACKOFF_MS_MAX	 5000
#define STATEMENTS_MAX	 256

enum state {
	PQ_DOWN,       /* no connection; the backoff timer wakes us */
	PQ_CONNECTING, /* PQconnectPoll wants the socket; its readiness wakes us */
	PQ_SETUP,      /* the set-up script runs; its results wake us */
	PQ_IDLE,       /* pqloop_run wakes us, or the socket: a notification or the end */
	PQ_PREPARING,  /* the job's statement is being prepared; the result wakes us */
	PQ_RUNNING,    /* the job runs; its results wake us */
	PQ_ROLLBACK,   /* a failed script's transaction is rolled back; the result wakes us */
	PQ_CLOSING,    /* the timer handle's close callback frees us */
};

struct pqloop {
	uv_loop_t *loop;
	uv_timer_t timer;
	uv_poll_t *poll; /* own allocation: freed in its close callback */
	PGconn *conn;
	enum state state;
	char *conninfo, *setup;
	const struct pqloop_events *events;
	void *ctx;
	unsigned int backoff_ms, seed;
	struct pqloop_job *job;
	PGresult *last, *failed;
	const char *statements[STATEMENTS_MAX]; /* prepared on this connection */
	size_t n_statements;
	void (*on_closed)(void *ctx);
	void *closed_ctx;
};

static const char *const state_names[] = {
	"down", "connecting", "setup", "idle", "preparing", "running", "rollback", "closing",
};

static void set_state(struct pqloop *pq, enum state to)
{
	static const unsigned int legal[] = {
		[PQ_DOWN] = 1u << PQ_CONNECTING | 1u << PQ_CLOSING,
		[PQ_CONNECTING] = 1u << PQ_SETUP | 1u << PQ_DOWN | 1u << PQ_CLOSING,
		[PQ_SETUP] = 1u << PQ_IDLE | 1u << PQ_DOWN | 1u << PQ_CLOSING,
		[PQ_IDLE] = 1u << PQ_PREPARING | 1u << PQ_RUNNING | 1u << PQ_ROLLBACK |
			    1u << PQ_DOWN | 1u << PQ_CLOSING,
		[PQ_PREPARING] =
			1u << PQ_RUNNING | 1u << PQ_IDLE | 1u << PQ_DOWN | 1u << PQ_CLOSING,
		[PQ_RUNNING] = 1u << PQ_IDLE | 1u << PQ_DOWN | 1u << PQ_CLOSING,
		[PQ_ROLLBACK] = 1u << PQ_IDLE | 1u << PQ_DOWN | 1u << PQ_CLOSING,
	};

	CHECK(legal[pq->state] & 1u << to);
	log_debug("pqloop: %s -> %s", state_names[pq->state], state_names[to]);
	pq->state = to;
}

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);
static void go_down(struct pqloop *pq, int code, const char *why);

static void on_poll_closed(uv_handle_t *handle)
{
	free(handle);
}

static void poll_close(struct pqloop *pq)
{
	if (!pq->poll)
		return;
	(void)uv_poll_stop(pq->poll);
	uv_close((uv_handle_t *)pq->poll, on_poll_closed);
	pq->poll = NULL;
}

/* PQconnectPoll may have changed the socket, so the handle is made anew on each of its steps. */
static int poll_open(struct pqloop *pq, int events)
{
	int rc;

	poll_close(pq);
	pq->poll = xcalloc(1, sizeof(*pq->poll));
	rc = uv_poll_init(pq->loop, pq->poll, PQsocket(pq->conn));
	if (rc < 0) {
		free(TAKE(pq->poll));
		return rc;
	}
	pq->poll->data = pq;
	return uv_poll_start(pq->poll, events, on_poll);
}

static void flush(struct pqloop *pq)
{
	int left = PQflush(pq->conn);

	if (left < 0) {
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
		return;
	}
	(void)uv_poll_start(pq->poll, left ? UV_READABLE | UV_WRITABLE : UV_READABLE, on_poll);
}

static void arm(struct pqloop *pq, unsigned int ms)
{
	uv_update_time(pq->loop);
	CHECK(uv_timer_start(&pq->timer, on_timer, ms, 0) == 0);
}

static void clear_results(struct pqloop *pq)
{
	PQclear(TAKE(pq->last));
	PQclear(TAKE(pq->failed));
}

/* One line: libpq's messages end with a newline and may have several. */
static void one_line(char *text)
{
	size_t n = strlen(text);

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	for (char *p = text; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
}

/* The connection is gone. Tells the job, then the owner, and retries later. */
static void go_down(struct pqloop *pq, int code, const char *why)
{
	struct pqloop_job *job = TAKE(pq->job);
	struct err err;

	(void)err_set(&err, code, "no connection to PostgreSQL: %s", why);
	one_line(err.text);
	set_state(pq, PQ_DOWN);
	(void)uv_timer_stop(&pq->timer);
	poll_close(pq);
	clear_results(pq);
	PQfinish(TAKE(pq->conn));
	pq->n_statements = 0;
	arm(pq, pq->backoff_ms / 2 + (unsigned int)rand_r(&pq->seed) % pq->backoff_ms);
	pq->backoff_ms = pq->backoff_ms * 2 > BACKOFF_MS_MAX ? BACKOFF_MS_MAX : pq->backoff_ms * 2;
	if (job)
		job->on_result(job, NULL, NULL, &err);
	pq->events->on_down(pq->ctx, pq, &err);
}

static void on_notice(void *arg, const char *message)
{
	(void)arg;
	log_debug("postgres: %s", message);
}

static void start_setup(struct pqloop *pq)
{
	set_state(pq, PQ_SETUP);
	(void)PQsetnonblocking(pq->conn, 1);
	if (poll_open(pq, UV_READABLE) < 0 || !PQsendQuery(pq->conn, pq->setup)) {
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
		return;
	}
	arm(pq, SETUP_MS_MAX);
	flush(pq);
}

static void step_connect(struct pqloop *pq)
{
	int rc;

	switch (PQconnectPoll(pq->conn)) {
	case PGRES_POLLING_OK:
		start_setup(pq);
		return;
	case PGRES_POLLING_READING:
		rc = poll_open(pq, UV_READABLE);
		break;
	case PGRES_POLLING_WRITING:
		rc = poll_open(pq, UV_WRITABLE);
		break;
	default:
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
		return;
	}
	if (rc < 0)
		go_down(pq, ERR_BUSY, uv_strerror(rc));
}

static void start_connect(struct pqloop *pq)
{
	const char *const keys[] = {"dbname", "fallback_application_name", "client_encoding", NULL};
	const char *const values[] = {pq->conninfo, "rigstat-server", "UTF8", NULL};

	set_state(pq, PQ_CONNECTING);
	pq->conn = PQconnectStartParams(keys, values, 1);
	if (!pq->conn || PQstatus(pq->conn) == CONNECTION_BAD) {
		go_down(pq, ERR_BUSY, pq->conn ? PQerrorMessage(pq->conn) : "out of memory");
		return;
	}
	(void)PQsetNoticeProcessor(pq->conn, on_notice, pq);
	arm(pq, CONNECT_MS_MAX);
	if (poll_open(pq, UV_WRITABLE) < 0)
		go_down(pq, ERR_BUSY, "the socket cannot be polled");
}

static void become_idle(struct pqloop *pq)
{
	(void)uv_timer_stop(&pq->timer);
	set_state(pq, PQ_IDLE);
}

static void start_rollback(struct pqloop *pq)
{
	set_state(pq, PQ_ROLLBACK);
	if (!PQsendQuery(pq->conn, "rollback")) {
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
		return;
	}
	arm(pq, ROLLBACK_MS_MAX);
	flush(pq);
}

static void job_err(const PGresult *failed, const struct pqloop_job *job, const char *state,
		    struct err *reterr)
{
	const char *text = PQresultErrorField(failed, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(failed, PG_DIAG_MESSAGE_DETAIL);

	(void)err_set(reterr, sqlstate_err_code(state), "%s: %s%s%s (SQLSTATE %s)",
		      job->name	    ? job->name
		      : job->script ? "script"
				    : "statement",
		      text ? text : "failed", detail ? ": " : "", detail ? detail : "",
		      state ? state : "none");
	one_line(reterr->text);
}

/* All results of the job are in. */
static void finish_job(struct pqloop *pq)
{
	struct pqloop_job *job = TAKE(pq->job);
	PGresult *last = TAKE(pq->last), *failed = TAKE(pq->failed);
	char state[6] = "";
	struct err err;

	become_idle(pq);
	pq->backoff_ms = BACKOFF_MS_FIRST;
	if (failed) {
		const char *s = PQresultErrorField(failed, PG_DIAG_SQLSTATE);

		/* A check violation without a constraint: no partition for the row. That is our
		 * omission, not wrong data. */
		if (s && strcmp(s, "23514") == 0 &&
		    !PQresultErrorField(failed, PG_DIAG_CONSTRAINT_NAME))
			s = SQLSTATE_NO_PARTITION;
		(void)snprintf(state, sizeof(state), "%s", s ? s : "XX000");
		job_err(failed, job, state, &err);
	}
	if (failed && !job->in_transaction && PQtransactionStatus(pq->conn) != PQTRANS_IDLE)
		start_rollback(pq);
	job->on_result(job, failed ? NULL : last, failed ? state : NULL, failed ? &err : NULL);
	PQclear(last);
	PQclear(failed);
	if (pq->state == PQ_IDLE)
		pq->events->on_idle(pq->ctx, pq);
}

static void send_prepared(struct pqloop *pq)
{
	const struct pqloop_job *job = pq->job;

	if (!PQsendQueryPrepared(pq->conn, job->name, job->n_params, job->values, job->lengths,
				 job->formats, 1)) {
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
		return;
	}
	flush(pq);
}

/* The end of one statement's results (PQgetResult gave NULL). */
static void on_results_end(struct pqloop *pq)
{
	switch (pq->state) {
	case PQ_SETUP:
		if (pq->failed) {
			go_down(pq, ERR_DB, PQresultErrorMessage(pq->failed));
			return;
		}
		clear_results(pq);
		become_idle(pq);
		pq->events->on_idle(pq->ctx, pq);
		return;
	case PQ_ROLLBACK:
		clear_results(pq);
		become_idle(pq);
		pq->events->on_idle(pq->ctx, pq);
		return;
	case PQ_PREPARING:
		if (pq->failed) {
			finish_job(pq);
			return;
		}
		clear_results(pq);
		CHECK(pq->n_statements < STATEMENTS_MAX);
		pq->statements[pq->n_statements++] = pq->job->name;
		set_state(pq, PQ_RUNNING);
		send_prepared(pq);
		return;
	case PQ_RUNNING:
		finish_job(pq);
		return;
	default:
		CHECK(!"results in a state that waits for none");
	}
}

static void take_result(struct pqloop *pq, PGresult *res)
{
	switch (PQresultStatus(res)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_EMPTY_QUERY:
		PQclear(pq->last);
		pq->last = res;
		return;
	default:
		if (pq->failed)
			PQclear(res); /* the first error is the cause */
		else
			pq->failed = res;
	}
}

static void drain(struct pqloop *pq)
{
	PGnotify *n;

	if (!PQconsumeInput(pq->conn)) {
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
		return;
	}
	while ((n = PQnotifies(pq->conn))) {
		if (pq->events->on_notify)
			pq->events->on_notify(pq->ctx, n->relname, n->extra);
		PQfreemem(n);
	}
	/* A callback may close or drop the connection: look again each time round. */
	while (pq->conn && pq->state != PQ_IDLE && !PQisBusy(pq->conn)) {
		PGresult *res = PQgetResult(pq->conn);

		if (res)
			take_result(pq, res);
		else
			on_results_end(pq);
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct pqloop *pq = poll->data;

	if (status < 0) {
		go_down(pq, ERR_BUSY, uv_strerror(status));
		return;
	}
	if (pq->state == PQ_CONNECTING) {
		step_connect(pq);
		return;
	}
	if (events & UV_WRITABLE) {
		flush(pq);
		if (pq->poll != poll)
			return;
	}
	drain(pq);
}

static void on_timer(uv_timer_t *timer)
{
	struct pqloop *pq = timer->data;

	switch (pq->state) {
	case PQ_DOWN:
		start_connect(pq);
		return;
	case PQ_CONNECTING:
	case PQ_SETUP:
		go_down(pq, ERR_BUSY, "timeout while connecting");
		return;
	case PQ_PREPARING:
	case PQ_RUNNING:
	case PQ_ROLLBACK:
		go_down(pq, ERR_TIMEOUT, "the statement took longer than its deadline");
		return;
	case PQ_IDLE:
	case PQ_CLOSING:
		CHECK(!"a timer in a state that has none");
	}
}

struct pqloop *pqloop_new(uv_loop_t *loop, const char *conninfo, const char *setup_script,
			  const struct pqloop_events *events, void *ctx)
{
	struct pqloop *pq = xcalloc(1, sizeof(*pq));

	pq->loop = loop;
	pq->conninfo = xstrdup(conninfo);
	pq->setup = xstrdup(setup_script);
	pq->events = events;
	pq->ctx = ctx;
	pq->backoff_ms = BACKOFF_MS_FIRST;
	pq->seed = (unsigned int)clock_monotonic_ns() ^ (unsigned int)(uintptr_t)pq;
	CHECK(uv_timer_init(loop, &pq->timer) == 0);
	pq->timer.data = pq;
	return pq;
}

void pqloop_start(struct pqloop *pq)
{
	CHECK(pq->state == PQ_DOWN);
	arm(pq, 0);
}

bool pqloop_is_idle(const struct pqloop *pq)
{
	return pq->state == PQ_IDLE;
}

bool pqloop_is_up(const struct pqloop *pq)
{
	return pq->state >= PQ_IDLE && pq->state != PQ_CLOSING;
}

static bool is_prepared(const struct pqloop *pq, const char *name)
{
	for (size_t i = 0; i < pq->n_statements; i++)
		if (strcmp(pq->statements[i], name) == 0)
			return true;
	return false;
}

void pqloop_run(struct pqloop *pq, struct pqloop_job *job)
{
	int sent;

	CHECK(pq->state == PQ_IDLE && !pq->job);
	pq->job = job;
	arm(pq, job->deadline_ms);
	if (job->script) {
		set_state(pq, PQ_RUNNING);
		sent = PQsendQuery(pq->conn, job->text);
	} else if (!job->name) {
		set_state(pq, PQ_RUNNING);
		sent = PQsendQueryParams(pq->conn, job->text, job->n_params, job->types,
					 job->values, job->lengths, job->formats, 1);
	} else if (is_prepared(pq, job->name)) {
		set_state(pq, PQ_RUNNING);
		send_prepared(pq);
		return;
	} else {
		set_state(pq, PQ_PREPARING);
		sent = PQsendPrepare(pq->conn, job->name, job->text, job->n_params, job->types);
	}
	if (!sent)
		go_down(pq, ERR_BUSY, PQerrorMessage(pq->conn));
	else
		flush(pq);
}

void pqloop_drop(struct pqloop *pq, const char *why)
{
	if (pq->conn)
		go_down(pq, ERR_BUSY, why);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct pqloop *pq = handle->data;
	void (*on_closed)(void *ctx) = pq->on_closed;
	void *ctx = pq->closed_ctx;

	free(pq->conninfo);
	free(pq->setup);
	free(pq);
	on_closed(ctx);
}

void pqloop_close(struct pqloop *pq, void (*on_closed)(void *ctx), void *ctx)
{
	struct pqloop_job *job = TAKE(pq->job);
	struct err err;

	set_state(pq, PQ_CLOSING);
	pq->on_closed = on_closed;
	pq->closed_ctx = ctx;
	poll_close(pq);
	clear_results(pq);
	PQfinish(TAKE(pq->conn));
	if (job) {
		(void)err_set(&err, ERR_BUSY, "the server is stopping");
		job->on_result(job, NULL, NULL, &err);
	}
	uv_close((uv_handle_t *)&pq->timer, on_timer_closed);
}
