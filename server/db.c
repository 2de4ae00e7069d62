/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pools, bounded queues, deadlines. An operation is queued, given to a connection by dispatch()
 * (from the loop, never from inside a caller's function) and delivered once. */
#include "server/db.h"

#include <uv.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/db_params.h"
#include "server/pqloop.h"
#include "server/sqlstate.h"

#define TICK_MS		100
#define RETRIES_MAX	3
#define CONNECTIONS_MAX 8

/* The session of a connection: nothing depends on the role's or the database's settings. */
#define SESSION                                                                                    \
	"set search_path = rigstat, pg_catalog; set timezone = 'UTC'; set jit = off;"              \
	"set synchronous_commit = on; set default_transaction_isolation = 'read committed';"       \
	"set idle_in_transaction_session_timeout = '60s';"
#define SESSION_QUERY  SESSION "set statement_timeout = '15s'; set lock_timeout = '5s'"
#define SESSION_INGEST SESSION "set statement_timeout = '30s'; set lock_timeout = '2s'"
#define SESSION_LISTEN SESSION "listen rigstat"

enum op_kind { OP_QUERY, OP_BEGIN, OP_COMMIT, OP_ROLLBACK };

struct op {
	struct pending pending;
	struct op *next;
	enum op_kind kind;
	bool cancelled;
	unsigned int tries;
	const char *name, *text; /* of a query; the text of a script */
	char *own_text;		 /* of a query without a name */
	struct db_encoded params;
	int64_t deadline_ns, started_ns; /* monotonic */
	struct db_txn *txn;		 /* the transaction that it is a step of */
	struct err err;			 /* of an operation that fails without being run */
	db_on_result on_result;
	db_on_begin on_begin;
	db_on_done on_done;
	void *ctx;
};

struct queue {
	struct op *head, **tail;
	size_t len;
};

struct conn {
	struct pqloop_job job; /* first: the callback casts back */
	struct db *db;
	struct pool *pool;
	struct pqloop *pq;
	struct op *op;	    /* in flight */
	struct db_txn *txn; /* holds the connection */
};

struct pool {
	struct conn conns[CONNECTIONS_MAX];
	unsigned int n;
	struct queue queue;
	struct db_stats stats;
};

struct db_txn {
	struct pending pending;
	struct conn *conn; /* NULL once the connection is lost */
	struct db *db;
	int64_t deadline_ns;
	bool cancelled, failed, busy;
};

struct db {
	uv_loop_t *loop;
	uv_timer_t tick;
	uv_idle_t kick;
	struct db_options options;
	struct pool pools[DB_POOLS];
	struct pqloop *listener;
	struct queue dead; /* to be told that they failed */
	bool drop_all, closing, said_down;
	unsigned int open_handles;
	void (*on_closed)(void *ctx);
	void *closed_ctx;
};

static void dispatch(struct db *db);

/* ---- queues ---- */

static void queue_put(struct queue *q, struct op *op)
{
	op->next = NULL;
	*q->tail = op;
	q->tail = &op->next;
	q->len++;
}

static struct op *queue_take(struct queue *q)
{
	struct op *op = q->head;

	if (!op)
		return NULL;
	q->head = op->next;
	if (!q->head)
		q->tail = &q->head;
	q->len--;
	return op;
}

static void on_kick(uv_idle_t *kick)
{
	struct db *db = kick->data;

	(void)uv_idle_stop(kick);
	dispatch(db);
}

static void kick(struct db *db)
{
	if (!db->closing)
		(void)uv_idle_start(&db->kick, on_kick);
}

/* ---- delivering ---- */

static void op_free(struct op *op)
{
	pending_remove(&op->pending);
	db_encoded_done(&op->params);
	free(op->own_text);
	free(op);
}

static void txn_free(struct db_txn *txn)
{
	pending_remove(&txn->pending);
	if (txn->conn)
		txn->conn->txn = NULL;
	kick(txn->db);
	free(txn);
}

static void txn_send(struct db_txn *txn, enum op_kind kind, const char *script, db_on_done on_done,
		     void *ctx);

/* A step of a transaction is over: keeps its state, tells its waiter. */
static void deliver_step(struct op *op, const struct db_result *res, const struct err *err)
{
	struct db_txn *txn = op->txn;

	txn->busy = false;
	if (err)
		txn->failed = true;
	if (op->kind == OP_COMMIT || op->kind == OP_ROLLBACK) {
		db_on_done on_done = txn->cancelled ? NULL : op->on_done;

		txn_free(txn);
		if (on_done)
			on_done(op->ctx, err);
	} else if (txn->cancelled) {
		txn_send(txn, OP_ROLLBACK, "rollback", NULL, NULL);
	} else if (op->kind == OP_BEGIN && err) {
		txn_free(txn);
		op->on_begin(op->ctx, NULL, err);
	} else if (op->kind == OP_BEGIN) {
		op->on_begin(op->ctx, txn, NULL);
	} else {
		op->on_result(op->ctx, res, err);
	}
}

/* Ends the operation. */
static void deliver(struct op *op, const struct db_result *res, const struct err *err)
{
	pending_remove(&op->pending);
	if (op->txn)
		deliver_step(op, res, err);
	else if (!op->cancelled)
		op->on_result(op->ctx, res, err);
	op_free(op);
}

static void fail_later(struct db *db, struct op *op)
{
	queue_put(&db->dead, op);
	kick(db);
}

static void on_job_result(struct pqloop_job *job, const struct pg_result *res, const char *sqlstate,
			  const struct err *err)
{
	struct conn *c = CONTAINER_OF(job, struct conn, job);
	struct op *op = TAKE(c->op);
	enum sqlstate_act act = err ? sqlstate_act(sqlstate) : SQLSTATE_DATA;
	struct db *db = c->db;

	c->pool->stats.busy_ns += (uint64_t)(clock_monotonic_ns() - op->started_ns);
	c->pool->stats.done += !err;
	c->pool->stats.failed += err != NULL;
	if (err && act == SQLSTATE_BUG)
		log_error("db: %s", err->text);
	if (err && act == SQLSTATE_READ_ONLY)
		db->drop_all = true;
	if (err && act == SQLSTATE_RETRY && !op->txn && op->tries++ < RETRIES_MAX && !db->closing) {
		queue_put(&c->pool->queue, op);
		kick(db);
		return;
	}
	deliver(op, (const struct db_result *)(const void *)res, err);
	kick(db);
}

/* ---- running ---- */

static void run(struct conn *c, struct op *op)
{
	int64_t left_ms = (op->deadline_ns - clock_monotonic_ns()) / NS_PER_MS;

	op->started_ns = clock_monotonic_ns();
	c->op = op;
	c->job = (struct pqloop_job){
		.name = op->name,
		.text = op->text,
		.script = op->kind != OP_QUERY,
		.n_params = op->params.n,
		.types = op->params.types,
		.values = op->params.values,
		.lengths = op->params.lengths,
		.formats = op->params.formats,
		.in_transaction = op->txn != NULL,
		.deadline_ms = left_ms < 1 ? 1 : (unsigned int)left_ms,
		.on_result = on_job_result,
	};
	pqloop_run(c->pq, &c->job);
}

static struct conn *idle_conn(struct pool *pool)
{
	for (unsigned int i = 0; i < pool->n; i++) {
		struct conn *c = &pool->conns[i];

		if (!c->txn && !c->op && pqloop_is_idle(c->pq))
			return c;
	}
	return NULL;
}

static void drop_all(struct db *db)
{
	db->drop_all = false;
	log_warn("db: PostgreSQL is read-only (a standby?): all connections are made anew");
	for (unsigned int p = 0; p < DB_POOLS; p++)
		for (unsigned int i = 0; i < db->pools[p].n; i++)
			pqloop_drop(db->pools[p].conns[i].pq, "the node is read-only");
}

static void dispatch(struct db *db)
{
	struct op *op;
	struct conn *c;

	if (db->drop_all)
		drop_all(db);
	while ((op = queue_take(&db->dead)))
		deliver(op, NULL, &op->err);
	for (unsigned int p = 0; p < DB_POOLS; p++) {
		struct pool *pool = &db->pools[p];

		while (pool->queue.head && (c = idle_conn(pool))) {
			op = queue_take(&pool->queue);
			if (op->kind == OP_BEGIN) {
				c->txn = op->txn;
				op->txn->conn = c;
			}
			run(c, op);
		}
	}
}

/* Operations that waited too long in a queue. */
static void expire(struct db *db, struct pool *pool)
{
	int64_t now = clock_monotonic_ns();
	struct queue keep = {.tail = &keep.head};
	struct op *op;

	while ((op = queue_take(&pool->queue))) {
		if (op->deadline_ns > now && !op->cancelled) {
			queue_put(&keep, op);
			continue;
		}
		(void)err_set(&op->err, ERR_BUSY, "the database is too busy: try again later");
		pool->stats.refused++;
		fail_later(db, op);
	}
	while ((op = queue_take(&keep)))
		queue_put(&pool->queue, op);
}

static void on_tick(uv_timer_t *tick)
{
	struct db *db = tick->data;

	for (unsigned int p = 0; p < DB_POOLS; p++)
		if (db->pools[p].queue.head)
			expire(db, &db->pools[p]);
}

/* ---- submitting ---- */

static void on_op_cancel(struct pending *p)
{
	CONTAINER_OF(p, struct op, pending)->cancelled = true;
}

static struct op *op_new(enum op_kind kind, int64_t deadline_ns, struct pending_list *owner)
{
	struct op *op = xcalloc(1, sizeof(*op));

	op->kind = kind;
	op->deadline_ns = deadline_ns;
	pending_add(owner, &op->pending, on_op_cancel);
	return op;
}

static void set_query(struct op *op, const struct query *q, const struct db_param *params,
		      size_t n_params)
{
	op->name = q->name;
	if (!q->name)
		op->own_text = xstrdup(q->text);
	op->text = q->name ? q->text : op->own_text;
	db_encode(&op->params, params, n_params);
}

static int64_t deadline_in(unsigned int ms)
{
	return clock_monotonic_ns() + ms * NS_PER_MS;
}

static void submit(struct db *db, enum db_pool p, struct op *op)
{
	struct pool *pool = &db->pools[p];

	if (db->closing || pool->queue.len >= db->options.queue_max) {
		(void)err_set(&op->err, ERR_BUSY, "%s",
			      db->closing ? "the server is stopping"
					  : "too many requests wait for the database: try again "
					    "later");
		pool->stats.refused++;
		fail_later(db, op);
		return;
	}
	queue_put(&pool->queue, op);
	kick(db);
}

void db_query(struct db *db, enum db_pool pool, const struct query *q,
	      const struct db_param *params, size_t n_params, unsigned int deadline_ms,
	      struct pending_list *owner, db_on_result on_result, void *ctx)
{
	struct op *op = op_new(OP_QUERY, deadline_in(deadline_ms), owner);

	set_query(op, q, params, n_params);
	op->on_result = on_result;
	op->ctx = ctx;
	submit(db, pool, op);
}

/* ---- transactions ---- */

static void on_txn_cancel(struct pending *p)
{
	struct db_txn *txn = CONTAINER_OF(p, struct db_txn, pending);

	txn->cancelled = true;
	if (!txn->busy)
		txn_send(txn, OP_ROLLBACK, "rollback", NULL, NULL);
}

void db_begin(struct db *db, enum db_pool pool, unsigned int deadline_ms,
	      struct pending_list *owner, db_on_begin on_begin, void *ctx)
{
	struct db_txn *txn = xcalloc(1, sizeof(*txn));
	struct op *op = op_new(OP_BEGIN, deadline_in(deadline_ms), NULL);

	txn->db = db;
	txn->deadline_ns = op->deadline_ns;
	txn->busy = true;
	pending_add(owner, &txn->pending, on_txn_cancel);
	op->text = "begin";
	op->txn = txn;
	op->on_begin = on_begin;
	op->ctx = ctx;
	submit(db, pool, op);
}

/* Runs a step on the transaction's connection, or fails it from the loop. */
static void txn_run(struct db_txn *txn, struct op *op)
{
	CHECK(!txn->busy);
	txn->busy = true;
	op->txn = txn;
	if (txn->conn && pqloop_is_idle(txn->conn->pq)) {
		run(txn->conn, op);
		return;
	}
	(void)err_set(&op->err, ERR_BUSY, "the connection to PostgreSQL was lost");
	fail_later(txn->db, op);
}

static void txn_send(struct db_txn *txn, enum op_kind kind, const char *script, db_on_done on_done,
		     void *ctx)
{
	/* The end has time of its own: a commit that is cut off is an unknown one. */
	struct op *op = op_new(kind, deadline_in(DB_DEADLINE_MS), NULL);

	op->text = script;
	op->on_done = on_done;
	op->ctx = ctx;
	txn_run(txn, op);
}

void db_txn_query(struct db_txn *txn, const struct query *q, const struct db_param *params,
		  size_t n_params, db_on_result on_result, void *ctx)
{
	struct op *op = op_new(OP_QUERY, txn->deadline_ns, NULL);

	CHECK(!txn->failed);
	set_query(op, q, params, n_params);
	op->on_result = on_result;
	op->ctx = ctx;
	txn_run(txn, op);
}

void db_txn_commit(struct db_txn *txn, db_on_done on_done, void *ctx)
{
	CHECK(!txn->failed);
	pending_remove(&txn->pending);
	txn_send(txn, OP_COMMIT, "commit", on_done, ctx);
}

void db_txn_rollback(struct db_txn *txn)
{
	pending_remove(&txn->pending);
	txn_send(txn, OP_ROLLBACK, "rollback", NULL, NULL);
}

/* ---- connections ---- */

static void on_conn_idle(void *ctx, struct pqloop *pq)
{
	struct db *db = ((struct conn *)ctx)->db;

	(void)pq;
	if (db->said_down && db_is_up(db)) {
		db->said_down = false;
		log_info("db: connected to PostgreSQL again");
	}
	kick(db);
}

static void on_conn_down(void *ctx, struct pqloop *pq, const struct err *err)
{
	struct conn *c = ctx;

	(void)pq;
	if (c->txn) {
		c->txn->conn = NULL;
		c->txn = NULL;
	}
	c->pool->stats.reconnects++;
	if (!c->db->closing && !c->db->said_down) {
		c->db->said_down = true; /* once, not for every connection and try */
		log_warn("db: %s", err->text);
	}
}

/* It listens (again): something may have been missed. */
static void on_listener_idle(void *ctx, struct pqloop *pq)
{
	struct db *db = ctx;

	(void)pq;
	if (!db->closing)
		db->options.on_listen(db->options.ctx, true);
}

static void on_listener_down(void *ctx, struct pqloop *pq, const struct err *err)
{
	struct db *db = ctx;

	(void)pq;
	(void)err; /* the pools log the same */
	if (!db->closing)
		db->options.on_listen(db->options.ctx, false);
}

static void on_notify(void *ctx, const char *channel, const char *payload)
{
	struct db *db = ctx;

	if (strcmp(channel, "rigstat") == 0)
		db->options.on_notify(db->options.ctx, payload);
}

static const struct pqloop_events conn_events = {on_conn_idle, on_conn_down, NULL};
static const struct pqloop_events listener_events = {on_listener_idle, on_listener_down, on_notify};

static void pool_init(struct db *db, struct pool *pool, unsigned int n, const char *session)
{
	CHECK(n >= 1 && n <= CONNECTIONS_MAX);
	pool->n = n;
	pool->queue.tail = &pool->queue.head;
	for (unsigned int i = 0; i < n; i++) {
		struct conn *c = &pool->conns[i];

		c->db = db;
		c->pool = pool;
		c->pq = pqloop_new(db->loop, db->options.conninfo, session, &conn_events, c);
	}
}

struct db *db_new(uv_loop_t *loop, const struct db_options *options)
{
	struct db *db = xcalloc(1, sizeof(*db));

	db->loop = loop;
	db->options = *options;
	db->dead.tail = &db->dead.head;
	CHECK(uv_timer_init(loop, &db->tick) == 0 && uv_idle_init(loop, &db->kick) == 0);
	db->tick.data = db->kick.data = db;
	pool_init(db, &db->pools[DB_QUERY], options->query_connections, SESSION_QUERY);
	pool_init(db, &db->pools[DB_INGEST], options->ingest_connections, SESSION_INGEST);
	if (options->on_notify)
		db->listener =
			pqloop_new(loop, options->conninfo, SESSION_LISTEN, &listener_events, db);
	return db;
}

void db_start(struct db *db)
{
	for (unsigned int p = 0; p < DB_POOLS; p++)
		for (unsigned int i = 0; i < db->pools[p].n; i++)
			pqloop_start(db->pools[p].conns[i].pq);
	if (db->listener)
		pqloop_start(db->listener);
	CHECK(uv_timer_start(&db->tick, on_tick, TICK_MS, TICK_MS) == 0);
}

static void on_handle_gone(void *ctx)
{
	struct db *db = ctx;

	if (--db->open_handles)
		return;
	db->on_closed(db->closed_ctx);
	free(db);
}

static void on_uv_closed(uv_handle_t *handle)
{
	on_handle_gone(handle->data);
}

void db_close(struct db *db, void (*on_closed)(void *ctx), void *ctx)
{
	struct op *op;

	db->closing = true;
	db->on_closed = on_closed;
	db->closed_ctx = ctx;
	db->open_handles = 2 + (db->listener != NULL);
	for (unsigned int p = 0; p < DB_POOLS; p++) {
		db->open_handles += db->pools[p].n;
		while ((op = queue_take(&db->pools[p].queue))) {
			(void)err_set(&op->err, ERR_BUSY, "the server is stopping");
			queue_put(&db->dead, op);
		}
		for (unsigned int i = 0; i < db->pools[p].n; i++) {
			if (db->pools[p].conns[i].txn)
				db->pools[p].conns[i].txn->conn = NULL;
			pqloop_close(db->pools[p].conns[i].pq, on_handle_gone, db);
		}
	}
	if (db->listener)
		pqloop_close(db->listener, on_handle_gone, db);
	while ((op = queue_take(&db->dead)))
		deliver(op, NULL, &op->err);
	uv_close((uv_handle_t *)&db->tick, on_uv_closed);
	uv_close((uv_handle_t *)&db->kick, on_uv_closed);
}

bool db_is_up(const struct db *db)
{
	for (unsigned int p = 0; p < DB_POOLS; p++) {
		bool up = false;

		for (unsigned int i = 0; i < db->pools[p].n; i++)
			up |= pqloop_is_up(db->pools[p].conns[i].pq);
		if (!up)
			return false;
	}
	return true;
}

struct db_stats db_stats(const struct db *db, enum db_pool p)
{
	const struct pool *pool = &db->pools[p];
	struct db_stats s = pool->stats;

	s.queued = pool->queue.len;
	for (unsigned int i = 0; i < pool->n; i++) {
		s.connections += pqloop_is_up(pool->conns[i].pq);
		s.busy += pool->conns[i].op != NULL || pool->conns[i].txn != NULL;
	}
	return s;
}
