/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /export: run documents, one a line, a few runs at a time; memory does not grow with the
 * number of runs. A failure in the middle is a last line with a problem, which no import accepts.
 */
#include "server/api.h"

#include "server/queries.h"
#include "server/run_load.h"
#include "server/run_query.h"
#include "server/server.h"

#define RUNS_AT_ONCE 20

struct export
{
	struct request *req;
	struct sql sql;
	struct runs runs;
	int64_t ids[RUNS_AT_ONCE];
	int64_t after; /* id of the last run that was sent */
	size_t n;
	struct strbuf ready;
	bool asked; /* a query is under way */
	bool end, started;
};

static void export_free(void *ctx)
{
	struct export *x = ctx;

	sql_done(&x->sql);
	runs_done(&x->runs);
	strbuf_done(&x->ready);
	free(x);
}

static void on_runs(void *ctx, const struct db_result *r, const struct err *err);

static void ask(struct export *x)
{
	x->asked = true;
	/* The second parameter is "behind this run". */
	x->sql.params[1] = P_I64(x->after);
	sql_run(&x->sql, x->req->server->db, &x->req->pending, on_runs, x);
}

static enum stream_next next(void *ctx, struct strbuf *out)
{
	struct export *x = ctx;

	if (x->ready.len) {
		strbuf_add(out, x->ready.data, x->ready.len);
		strbuf_clear(&x->ready);
		if (!x->end && !x->asked)
			ask(x);
		return STREAM_MORE;
	}
	return x->end ? STREAM_END : STREAM_WAIT;
}

/* The first answer decides the status; later ones wake the stream. */
static void answer(struct export *x)
{
	x->asked = false;
	if (x->started) {
		reply_stream_wake(x->req);
		return;
	}
	x->started = true;
	reply_header(x->req, "Content-Disposition", "attachment; filename=\"runs.ndjson\"");
	(void)reply_stream(x->req, 200, "application/x-ndjson", next, x, NULL);
}

static void fail(struct export *x, const struct err *err)
{
	if (!x->started) {
		(void)reply_err(x->req, err);
		return;
	}
	strbuf_printf(&x->ready,
		      "{\"type\":\"/problems/%s\",\"title\":\"The export is not complete\","
		      "\"request_id\":\"%s\"}\n",
		      err_name(err->code), x->req->id);
	x->end = true;
	answer(x);
}

static void on_series(void *ctx, const struct db_result *r, const struct err *err)
{
	struct export *x = ctx;
	struct err bad;

	if (!err && run_load_series(r, x->runs.v, x->ids, x->n, &bad))
		err = &bad;
	if (err) {
		fail(x, err);
		return;
	}
	for (size_t i = 0; i < x->n; i++) {
		json_t *doc = run_to_json(x->runs.v[i]);
		char *line = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));

		strbuf_puts(&x->ready, line);
		strbuf_putc(&x->ready, '\n');
		free(line);
		json_decref(doc);
	}
	x->after = x->ids[x->n - 1];
	x->end = x->n < RUNS_AT_ONCE;
	answer(x);
}

static void on_runs(void *ctx, const struct db_result *r, const struct err *err)
{
	struct export *x = ctx;

	if (err) {
		fail(x, err);
		return;
	}
	x->n = db_rows(r);
	if (!x->n) {
		x->end = true;
		answer(x);
		return;
	}
	runs_done(&x->runs);
	memset(&x->runs, 0, sizeof(x->runs));
	run_load_rows(r, &x->runs);
	for (size_t i = 0; i < x->n; i++)
		x->ids[i] = run_load_row_id(r, i);
	db_query(x->req->server->db, DB_QUERY, &Q_RUN_SERIES,
		 (struct db_param[]){P_I64S(x->ids, x->n), P_NULL(DB_TEXT), P_BOOL(false)}, 3,
		 DB_DEADLINE_MS, &x->req->pending, on_series, x);
}

enum step api_export(struct request *req)
{
	static const char *const names[] = {"q", NULL};
	struct selector *s CLEANUP(selector_freep) = NULL;
	struct export *x;

	if (!api_params(req, names))
		return STEP_DONE;
	x = xcalloc(1, sizeof(*x));
	x->req = req;
	req->ctx = x;
	req->ctx_free = export_free;
	sql_init(&x->sql, &Q_RUNS_LOAD, (struct db_param[]){P_I64(RUNS_AT_ONCE), P_I64(0)}, 2);
	if (!run_query_selector(req, "q", request_query(req, "q"), " and r.run_id > $2::bigint",
				&x->sql, &s))
		return STEP_DONE;
	ask(x);
	return STEP_WAIT;
}
