/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run: GET and PATCH /runs/{run}, its breaches. */
#include "server/api.h"

#include "server/queries.h"
#include "server/run_load.h"
#include "server/run_query.h"
#include "server/run_row.h"
#include "server/server.h"

struct show {
	struct request *req;
	int64_t id;
	json_t *doc;
	struct sql sql;
	struct runs runs; /* format=document */
	json_t *patch;	  /* PATCH: the body */
	char *tags, *factors;
};

static void show_free(void *ctx)
{
	struct show *s = ctx;

	json_decref(s->doc);
	json_decref(s->patch);
	runs_done(&s->runs);
	sql_done(&s->sql);
	free(s->tags);
	free(s->factors);
	free(s);
}

static struct show *show_new(struct request *req)
{
	struct show *s = xcalloc(1, sizeof(*s));

	s->req = req;
	req->ctx = s;
	req->ctx_free = show_free;
	return s;
}

static void query(struct show *s, const struct query *q, const struct db_param *params, size_t n,
		  db_on_result on_result)
{
	db_query(s->req->server->db, DB_QUERY, q, params, n, DB_DEADLINE_MS, &s->req->pending,
		 on_result, s);
}

static json_t *loads(const struct db_result *r, unsigned int col)
{
	return db_is_null(r, 0, col) ? json_null() : json_loads(db_text(r, 0, col), 0, NULL);
}

/* ---- the page of a run, in three steps: item, detail, series ---- */

static void on_series(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	json_t *series;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	series = json_array();
	for (size_t i = 0; i < db_rows(r); i++)
		if (!run_series_is_sum(r, i))
			json_array_append_new(series, run_series_json(r, i));
	json_object_set_new(s->doc, "series", series);
	(void)reply_json(s->req, 200, TAKE(s->doc));
}

enum {
	D_SOURCE,
	D_IMPORT,
	D_BOOT,
	D_ATTEMPT,
	D_VERSION,
	D_ENV,
	D_WORKLOAD,
	D_COST,
	D_REASON,
	D_NOTE,
	D_NOTES,
	D_BREACHES,
	D_BREACH_FACTS,
	D_PINS,
	D_WINDOW_END,
	D_WARMUP,
	D_DURATION,
	D_EXTRA,
};

static json_t *breaches_json(const struct db_result *r)
{
	json_t *o = loads(r, D_BREACH_FACTS);

	json_object_set_new(o, "count", json_integer(db_i64(r, 0, D_BREACHES)));
	return o;
}

/* Gaps are kept as notes by the packer; here they stand apart. */
static json_t *gaps_of(const json_t *notes)
{
	json_t *gaps = json_array(), *v;
	size_t i;

	json_array_foreach((json_t *)notes, i, v)
	{
		const char *code = json_string_value(json_object_get(v, "code"));

		if (code && !strncmp(code, "gap", 3))
			json_array_append(gaps, v);
	}
	return gaps;
}

static void put_detail(json_t *o, const struct db_result *r)
{
	json_t *notes = loads(r, D_NOTES);

	json_object_set_new(o, "source", js_text(db_text_or_null(r, 0, D_SOURCE)));
	json_object_set_new(o, "import", js_id('i', db_i64(r, 0, D_IMPORT)));
	json_object_set_new(o, "boot_id", js_text(db_text_or_null(r, 0, D_BOOT)));
	json_object_set_new(o, "attempt", js_i64_or_null(r, 0, D_ATTEMPT));
	json_object_set_new(o, "agent_version", js_text(db_text_or_null(r, 0, D_VERSION)));
	json_object_set_new(o, "environment", js_text(db_text_or_null(r, 0, D_ENV)));
	json_object_set_new(o, "workload", loads(r, D_WORKLOAD));
	json_object_set_new(o, "cost", loads(r, D_COST));
	json_object_set_new(o, "reason", js_text(db_text_or_null(r, 0, D_REASON)));
	json_object_set_new(o, "note", js_text_or_null(db_text(r, 0, D_NOTE)));
	json_object_set_new(o, "gaps", gaps_of(notes));
	json_object_set_new(o, "note_list", notes);
	json_object_set_new(o, "breaches", breaches_json(r));
	json_object_set_new(o, "pins", loads(r, D_PINS));
	json_object_set_new(o, "window_end", js_text(db_text_or_null(r, 0, D_WINDOW_END)));
	json_object_set_new(o, "warmup_ns", js_i64_or_null(r, 0, D_WARMUP));
	json_object_set_new(o, "duration_ns", js_i64_or_null(r, 0, D_DURATION));
	json_object_set_new(o, "extra", loads(r, D_EXTRA));
}

static void on_detail(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	if (!db_rows(r)) { /* removed a moment ago */
		(void)reply_problem(s->req, 404, "not-found", NULL, "there is no run r_%lld",
				    (long long)s->id);
		return;
	}
	put_detail(s->doc, r);
	query(s, &Q_RUN_SERIES,
	      (struct db_param[]){P_I64S(&s->id, 1), P_NULL(DB_TEXT), P_BOOL(false)}, 3, on_series);
}

static void on_item(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(s->req, 404, "not-found", NULL, "there is no run r_%lld",
				    (long long)s->id);
		return;
	}
	s->doc = run_row_json(r, 0);
	query(s, &Q_RUN_DETAIL, (struct db_param[]){P_I64(s->id)}, 1, on_detail);
}

static void show_run(struct show *s)
{
	char *where CLEANUP(freep) = NULL;

	sql_init(&s->sql, &Q_RUNS_LIST, (struct db_param[]){P_NULL(DB_TEXT)}, 1);
	where = xasprintf("r.run_id = $%u::bigint", sql_param(&s->sql, P_I64(s->id)));
	sql_replace(&s->sql, "true /*where*/", where);
	sql_run(&s->sql, s->req->server->db, &s->req->pending, on_item, s);
}

/* ---- the run document, re-importable ---- */

static void on_document_series(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	struct err bad;

	if (err)
		(void)reply_err(s->req, err);
	else if (run_load_series(r, s->runs.v, &s->id, 1, &bad))
		(void)reply_err(s->req, &bad);
	else
		(void)reply_json(s->req, 200, run_to_json(s->runs.v[0]));
}

static void on_document(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(s->req, 404, "not-found", NULL, "there is no run r_%lld",
				    (long long)s->id);
		return;
	}
	run_load_rows(r, &s->runs);
	query(s, &Q_RUN_SERIES,
	      (struct db_param[]){P_I64S(&s->id, 1), P_NULL(DB_TEXT), P_BOOL(false)}, 3,
	      on_document_series);
}

static void show_document(struct show *s)
{
	char *where CLEANUP(freep) = NULL;

	sql_init(&s->sql, &Q_RUNS_LOAD, (struct db_param[]){P_I64(1)}, 1);
	where = xasprintf("r.run_id = $%u::bigint", sql_param(&s->sql, P_I64(s->id)));
	sql_replace(&s->sql, "true /*where*/", where);
	sql_run(&s->sql, s->req->server->db, &s->req->pending, on_document, s);
}

/* ---- finding it ---- */

static enum step find(struct show *s, db_on_result on_found)
{
	unsigned char uid[16];
	struct db_param params[2];

	if (!run_query_path(s->req, params, uid))
		return STEP_DONE;
	query(s, &Q_RUN_FIND, params, 2, on_found);
	return STEP_WAIT;
}

static bool found(struct show *s, const struct db_result *r, const struct err *err)
{
	if (err) {
		(void)reply_err(s->req, err);
		return false;
	}
	if (!db_rows(r)) {
		(void)reply_problem(s->req, 404, "not-found", NULL, "there is no run %s",
				    request_path(s->req, "run"));
		return false;
	}
	s->id = db_i64(r, 0, 0);
	return true;
}

static void on_found(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	const char *format = request_query(s->req, "format");

	if (!found(s, r, err))
		return;
	if (format && !strcmp(format, "document"))
		show_document(s);
	else
		show_run(s);
}

enum step api_run(struct request *req)
{
	static const char *const names[] = {"format", NULL};
	const char *format = request_query(req, "format");

	if (!api_params(req, names))
		return STEP_DONE;
	if (format && strcmp(format, "json") && strcmp(format, "document"))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-parameter",
						   .parameter = "format"},
				   "format: json or document");
	return find(show_new(req), on_found);
}

/* ---- PATCH ---- */

static void on_patched(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;

	if (err)
		(void)reply_err(s->req, err);
	else if (!db_rows(r))
		(void)reply_problem(
			s->req, 409, "conflict", "Exclude the run with a reason, or tag it.",
			"the factors of r_%lld were applied by an agent; only imported runs can "
			"be relabelled",
			(long long)s->id);
	else
		show_run(s);
}

static void on_patch_found(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	const json_t *excluded = json_object_get(s->patch, "excluded");
	const json_t *note = json_object_get(s->patch, "note");

	if (!found(s, r, err))
		return;
	query(s, &Q_RUN_PATCH,
	      (struct db_param[]){P_I64(s->id), P_TEXT(json_string_value(excluded)),
				  P_BOOL(excluded != NULL), P_JSON(s->tags), P_JSON(s->factors),
				  P_TEXT(json_string_value(note)), P_BOOL(note != NULL)},
	      7, on_patched);
}

static bool read_labels(struct show *s, const char *name, char **ret)
{
	const json_t *v = json_object_get(s->patch, name);

	if (!v)
		return true;
	if (!api_labels(s->req, name, v))
		return false;
	*ret = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS);
	return true;
}

enum step api_run_edit(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"excluded", "tags", "factors", "note", NULL};
	struct show *s = show_new(req);
	const char *text;

	if (!api_params(req, none) || !api_body(req, members, &s->patch) ||
	    !api_text(req, s->patch, "excluded", 500, &text))
		return STEP_DONE;
	if (text && !*text)
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-body",
						   .parameter = "excluded"},
				   "\"excluded\" needs a reason; null counts the run again");
	if (!api_text(req, s->patch, "note", 4000, &text) || !read_labels(s, "tags", &s->tags) ||
	    !read_labels(s, "factors", &s->factors))
		return STEP_DONE;
	return find(s, on_patch_found);
}

/* ---- breaches ---- */

static void on_breaches(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	json_t *items;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	items = json_array();
	for (size_t i = 0; i < db_rows(r); i++)
		json_array_append_new(items, json_pack("{s:o, s:o, s:I, s:o}", "t",
						       js_time(db_i64(r, i, 0)), "cpu",
						       js_i64_or_null(r, i, 1), "late_ns",
						       (json_int_t)db_i64(r, i, 2), "holders",
						       json_loads(db_text(r, i, 3), 0, NULL)));
	json_object_set_new(s->doc, "items", items);
	(void)reply_json(s->req, 200, TAKE(s->doc));
}

static void on_breach_detail(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	int64_t limit;
	struct err bad;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	if (request_query_i64(s->req, "limit", PAGE_LIMIT_DEFAULT, 1, PAGE_LIMIT_MAX, &limit,
			      &bad)) {
		(void)reply_err(s->req, &bad);
		return;
	}
	s->doc = breaches_json(r);
	query(s, &Q_RUN_BREACHES, (struct db_param[]){P_I64(s->id), P_I64(limit)}, 2, on_breaches);
}

static void on_breach_found(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;

	if (found(s, r, err))
		query(s, &Q_RUN_DETAIL, (struct db_param[]){P_I64(s->id)}, 1, on_breach_detail);
}

enum step api_run_breaches(struct request *req)
{
	static const char *const names[] = {"limit", NULL};

	if (!api_params(req, names))
		return STEP_DONE;
	return find(show_new(req), on_breach_found);
}
