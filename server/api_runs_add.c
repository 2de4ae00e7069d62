/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POST /runs: run documents as JSON. One transaction; a run whose uid is known is left alone. */
#include "server/api.h"

#include "common/sha256.h"
#include "server/api_common.h"
#include "server/audit.h"
#include "server/queries.h"
#include "server/run_row.h"
#include "server/run_store.h"
#include "server/server.h"

#define RUNS_MAX    1000
#define KEY_LEN_MAX 100

struct add {
	struct request *req;
	struct runs runs;
	char **json; /* one each */
	int64_t *ids;
	size_t n, at;
	bool made;	 /* some run was new */
	const char *key; /* NULL: none */
	unsigned char sha[SHA256_LEN];
	struct db_txn *txn;
	struct sql sql;
};

static void add_free(void *ctx)
{
	struct add *a = ctx;

	for (size_t i = 0; i < a->n; i++)
		free(a->json[i]);
	free(a->json);
	free(a->ids);
	runs_done(&a->runs);
	sql_done(&a->sql);
	free(a);
}

/* ---- the answer: the runs as list items, in the order of the request ---- */

static void on_items(void *ctx, const struct db_result *r, const struct err *err)
{
	struct add *a = ctx;
	json_t *items;

	if (err) {
		(void)reply_err(a->req, err);
		return;
	}
	items = json_array();
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < db_rows(r); k++)
			if (run_row_id(r, k) == a->ids[i])
				json_array_append_new(items, run_row_json(r, k));
	audit_note(a->req, NULL, "%zu runs, the first r_%lld", a->n,
		   a->n ? (long long)a->ids[0] : 0);
	(void)reply_json(a->req, a->made ? 201 : 200,
			 json_pack("{s:o, s:b}", "items", items, "already", !a->made));
}

static void reply_added(struct add *a)
{
	char *where CLEANUP(freep) = NULL;
	struct page page = {.limit = RUNS_MAX};
	static const struct page_sort by_id = {"id", "r.run_id", false, false};

	page.sort = &by_id;
	sql_init(&a->sql, &Q_RUNS_LIST, (struct db_param[]){P_NULL(DB_TEXT)}, 1);
	where = xasprintf("r.run_id = any ($%u::bigint[])",
			  sql_param(&a->sql, P_I64S(a->ids, a->n)));
	sql_replace(&a->sql, "true /*where*/", where);
	page_sql(&page, &a->sql, "r.run_id");
	sql_run(&a->sql, a->req->server->db, &a->req->pending, on_items, a);
}

/* ---- storing ---- */

static void fail(struct add *a, const struct err *err)
{
	if (a->txn)
		db_txn_rollback(TAKE(a->txn));
	(void)reply_err(a->req, err);
}

static void on_commit(void *ctx, const struct err *err)
{
	struct add *a = ctx;

	if (err)
		(void)reply_err(a->req, err);
	else
		reply_added(a);
}

static void on_key_put(void *ctx, const struct db_result *r, const struct err *err)
{
	struct add *a = ctx;

	(void)r;
	if (err)
		fail(a, err);
	else
		db_txn_commit(TAKE(a->txn), on_commit, a);
}

static void store_next(struct add *a);

static void on_stored(void *ctx, const struct db_result *r, const struct err *err)
{
	struct add *a = ctx;

	if (err) {
		fail(a, err);
		return;
	}
	a->ids[a->at++] = db_i64(r, 0, 0);
	a->made |= !db_bool(r, 0, 1);
	store_next(a);
}

static void store_next(struct add *a)
{
	if (a->at < a->n)
		db_txn_query(a->txn, &Q_RUN_STORE, (struct db_param[]){P_JSON(a->json[a->at])}, 1,
			     on_stored, a);
	else if (a->key)
		db_txn_query(a->txn, &Q_IDEMPOTENCY_PUT,
			     (struct db_param[]){P_TEXT(a->key), P_BYTES(a->sha, SHA256_LEN),
						 P_I64S(a->ids, a->n)},
			     3, on_key_put, a);
	else
		db_txn_commit(TAKE(a->txn), on_commit, a);
}

/* "{1,2,3}" */
static void read_ids(struct add *a, const char *text)
{
	char *end;

	for (a->at = 0; *text && a->at < a->n; text = end) {
		text += strcspn(text, "0123456789");
		a->ids[a->at++] = strtoll(text, &end, 10);
	}
}

static void on_key(void *ctx, const struct db_result *r, const struct err *err)
{
	struct add *a = ctx;
	const void *sha;
	size_t len;

	if (err) {
		fail(a, err);
		return;
	}
	if (!db_rows(r)) {
		store_next(a);
		return;
	}
	sha = db_bytes(r, 0, 0, &len);
	if (len == SHA256_LEN && !memcmp(sha, a->sha, len)) {
		read_ids(a, db_text(r, 0, 1));
		db_txn_rollback(TAKE(a->txn));
		reply_added(a);
		return;
	}
	db_txn_rollback(TAKE(a->txn));
	(void)reply_problem(a->req, 409, "conflict", "Use a new key for other runs.",
			    "the Idempotency-Key was used for another body");
}

static void on_locked(void *ctx, const struct db_result *r, const struct err *err)
{
	struct add *a = ctx;

	(void)r;
	if (err)
		fail(a, err);
	else if (a->key)
		db_txn_query(a->txn, &Q_IDEMPOTENCY_FIND, (struct db_param[]){P_TEXT(a->key)}, 1,
			     on_key, a);
	else
		store_next(a);
}

static void on_begin(void *ctx, struct db_txn *txn, const struct err *err)
{
	struct add *a = ctx;

	if (err) {
		(void)reply_err(a->req, err);
		return;
	}
	a->txn = txn;
	db_txn_query(txn, &Q_IMPORT_LOCK, NULL, 0, on_locked, a);
}

/* ---- reading ---- */

static int read_runs(struct add *a, const json_t *body, struct err *reterr)
{
	const json_t *list = json_object_get(body, "runs");
	size_t n = list ? json_array_size(list) : 1;

	if ((list && !json_is_array(list)) || !n || n > RUNS_MAX)
		return err_set(reterr, ERR_INVALID, "\"runs\" must be an array of 1 to %d runs",
			       RUNS_MAX);
	a->json = xcalloc(n, sizeof(*a->json));
	a->ids = xcalloc(n, sizeof(*a->ids));
	for (size_t i = 0; i < n; i++) {
		struct run_store_place place = {0};
		struct run *r = NULL;
		int rc = run_from_json(list ? json_array_get(list, i) : body, &r, reterr);

		if (!rc)
			runs_add(&a->runs, r);
		rc = rc ? rc : run_store_json(r, &place, &a->json[i], reterr);
		if (rc)
			return list ? err_prefix(reterr, "run %zu of \"runs\": ", i + 1) : rc;
		a->n++;
	}
	return 0;
}

enum step api_runs_add(struct request *req)
{
	static const char *const none[] = {NULL};
	struct sha256 s;
	struct add *a;
	json_t *body;
	struct err err;
	int rc;

	if (!api_params(req, none))
		return STEP_DONE;
	if (request_json(req, &body, &err))
		return reply_err(req, &err);
	a = xcalloc(1, sizeof(*a));
	a->req = req;
	req->ctx = a;
	req->ctx_free = add_free;
	a->key = request_header(req, "Idempotency-Key");
	rc = read_runs(a, body, &err);
	json_decref(body);
	if (rc)
		return reply_fault(req, &(struct fault){.status = 400, .slug = "invalid-body"},
				   "%s", err.text);
	if (a->key && (!*a->key || strlen(a->key) > KEY_LEN_MAX))
		return reply_fault(req, &(struct fault){.status = 400, .slug = "invalid-parameter"},
				   "Idempotency-Key: 1 to %d bytes", KEY_LEN_MAX);
	sha256_init(&s);
	sha256_add(&s, req->body, req->body_len);
	sha256_finish(&s, a->sha);
	db_begin(req->server->db, DB_QUERY, DB_DEADLINE_MS, &req->pending, on_begin, a);
	return STEP_WAIT;
}
