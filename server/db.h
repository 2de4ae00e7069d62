/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The database for feature modules: no libpq type is seen here. Loop thread only.
 *
 * Two small pools on one PostgreSQL: `query` for pages and the API (with a statement_timeout) and
 * `ingest`, which page queries can never occupy. Every queue is bounded: a full one answers
 * ERR_BUSY at once, which http.c turns into 503 + Retry-After. Every operation has a deadline of
 * its own. Statements are constants from sql/queries, prepared on first use on each connection;
 * results come in binary form. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "server/pending.h"

struct db;
struct db_result; /* valid until the callback returns */

/* One file of sql/queries. `queries.h` (made at build) declares Q_<FILE NAME> for each. A query
 * whose name is NULL is made at run time: not prepared, and its text is copied. */
struct query {
	const char *name, *text;
};

enum db_pool { DB_QUERY, DB_INGEST, DB_POOLS };

/* ---- parameters: borrowed until db_query returns ---- */
enum db_type {
	DB_I64,
	DB_F64,
	DB_BOOL,
	DB_TEXT,
	DB_BYTES,
	DB_JSON,
	DB_UUID,
	DB_TEXTS,
	DB_I64S,
	DB_F64S,
	DB_UUIDS,
	DB_BLOBS
};

struct db_param {
	enum db_type type;
	bool null;
	int64_t i64;
	double f64;
	const void *data; /* text, bytes, uuid (16 bytes), const char *const *, const int64_t * */
	size_t len;	  /* bytes, or elements of an array */
};
#define P_I64(v)      ((struct db_param){.type = DB_I64, .i64 = (v)})
#define P_F64(v)      ((struct db_param){.type = DB_F64, .f64 = (v)})
#define P_BOOL(v)     ((struct db_param){.type = DB_BOOL, .i64 = (v)})
#define P_TEXT(s)     db_param_text(DB_TEXT, (s)) /* NULL is SQL null */
#define P_JSON(s)     db_param_text(DB_JSON, (s)) /* serialized by us; cast to jsonb: $1::jsonb */
#define P_BYTES(p, n) db_param_bytes(DB_BYTES, (p), (n)) /* NULL is SQL null */
#define P_UUID(p)     db_param_bytes(DB_UUID, (p), 16)
#define P_TEXTS(v, n) ((struct db_param){.type = DB_TEXTS, .data = (v), .len = (n)})
#define P_I64S(v, n)  ((struct db_param){.type = DB_I64S, .data = (v), .len = (n)})
#define P_F64S(v, n)  ((struct db_param){.type = DB_F64S, .data = (v), .len = (n)})
#define P_UUIDS(v, n)                                                                              \
	((struct db_param){.type = DB_UUIDS, .data = (v), .len = (n)}) /* 16 n bytes */
#define P_BLOBS(v, n) ((struct db_param){.type = DB_BLOBS, .data = (v), .len = (n)}) /* strbufs */
#define P_NULL(t)     ((struct db_param){.type = (t), .null = true})

static inline struct db_param db_param_text(enum db_type type, const char *s)
{
	return (struct db_param){
		.type = type, .null = !s, .data = s ? s : "", .len = s ? strlen(s) : 0};
}

static inline struct db_param db_param_bytes(enum db_type type, const void *p, size_t len)
{
	return (struct db_param){.type = type, .null = !p, .data = p, .len = len};
}

/* Exactly one call unless cancelled: err is NULL and the result holds rows, or err says why not.
 * err->code: ERR_BUSY (no connection, restart), ERR_TIMEOUT, ERR_CONFLICT (23xxx), ERR_INVALID
 * (22xxx), ERR_DB (a bug or schema mismatch; logged by db). */
typedef void (*db_on_result)(void *ctx, const struct db_result *res, const struct err *err);

#define DB_DEADLINE_MS 10000 /* usual deadline of a page query */

/* Queues one statement. `owner` (may be NULL) can cancel it; params are copied. The callback is
 * never called from inside db_query. */
void db_query(struct db *db, enum db_pool pool, const struct query *q,
	      const struct db_param *params, size_t n_params, unsigned int deadline_ms,
	      struct pending_list *owner, db_on_result on_result, void *ctx);

/* ---- transactions of several steps on one connection ---- */
struct db_txn;
/* Gets a connection and sends BEGIN; on_begin is called with the transaction or with an error.
 * Later steps: db_txn_query (one at a time), then db_txn_commit or db_txn_rollback, after which
 * the transaction is gone. A failed step leaves only rollback. The owner's cancel rolls back. */
typedef void (*db_on_begin)(void *ctx, struct db_txn *txn, const struct err *err);
typedef void (*db_on_done)(void *ctx, const struct err *err);
void db_begin(struct db *db, enum db_pool pool, unsigned int deadline_ms,
	      struct pending_list *owner, db_on_begin on_begin, void *ctx);
void db_txn_query(struct db_txn *txn, const struct query *q, const struct db_param *params,
		  size_t n_params, db_on_result on_result, void *ctx);
void db_txn_commit(struct db_txn *txn, db_on_done on_done, void *ctx);
void db_txn_rollback(struct db_txn *txn);

/* ---- the whole ---- */
struct uv_loop_s;
struct db_options {
	const char *conninfo;
	unsigned int query_connections, ingest_connections;
	size_t queue_max; /* per pool */
	/* Notifications on channel `rigstat` (from any server); payload is JSON. {"type":"all"}
	 * when they may have been missed. NULL: none. */
	void (*on_notify)(void *ctx, const char *payload);
	/* They come now, or were lost from here on. */
	void (*on_listen)(void *ctx, bool up);
	void *ctx;
};
struct db *db_new(struct uv_loop_s *loop, const struct db_options *options);
void db_start(struct db *db);
/* Fails what is queued or running, ends all connections, then calls on_closed and frees. */
void db_close(struct db *db, void (*on_closed)(void *ctx), void *ctx);
bool db_is_up(const struct db *db); /* each pool has a connection */

struct db_stats {
	unsigned int connections, busy;
	size_t queued;
	uint64_t done, failed, refused, reconnects;
	uint64_t busy_ns; /* sum of the time that operations took */
};
struct db_stats db_stats(const struct db *db, enum db_pool pool);

/* ---- results ---- */
size_t db_rows(const struct db_result *r);
size_t db_columns(const struct db_result *r);
/* Rows touched by an INSERT, UPDATE or DELETE. */
int64_t db_affected(const struct db_result *r);
bool db_is_null(const struct db_result *r, size_t row, unsigned int col);
/* A null reads as 0, false, "" or NULL bytes. A column of another type is a programmer error. */
int64_t db_i64(const struct db_result *r, size_t row, unsigned int col); /* int2, int4, int8 */
double db_f64(const struct db_result *r, size_t row, unsigned int col);	 /* float4, float8 */
bool db_bool(const struct db_result *r, size_t row, unsigned int col);
/* text, varchar, name, json, jsonb: NUL-terminated. */
const char *db_text(const struct db_result *r, size_t row, unsigned int col);
const char *db_text_or_null(const struct db_result *r, size_t row, unsigned int col);
const void *db_bytes(const struct db_result *r, size_t row, unsigned int col, size_t *ret_len);
/* uuid as 32 hex digits. Returns buf. */
const char *db_uid(const struct db_result *r, size_t row, unsigned int col, char buf[33]);
/* uuid as 16 bytes; zeros for null. */
void db_uuid(const struct db_result *r, size_t row, unsigned int col, unsigned char ret[16]);
/* timestamptz as ns since 1970; infinity is INT64_MIN or INT64_MAX. */
int64_t db_time_ns(const struct db_result *r, size_t row, unsigned int col);
/* json or jsonb decoded: new reference, json_null() for null. */
json_t *db_json(const struct db_result *r, size_t row, unsigned int col) MUSTCHECK;
