/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /runs and /runs/facets. */
#include "server/api.h"
#include "server/queries.h"
#include "server/run_query.h"
#include "server/run_row.h"
#include "server/server.h"

struct list {
	struct request *req;
	struct sql rows, count;
	struct page page;
	int64_t total; /* -1: not asked for */
};

static void list_free(void *ctx)
{
	struct list *l = ctx;

	sql_done(&l->rows);
	sql_done(&l->count);
	page_done(&l->page);
	free(l);
}

static const struct page_sort sorts[] = {
	{"-started", "coalesce(r.started_ns, 0)", true, false},
	{"started", "coalesce(nullif(r.started_ns, 0), 9223372036854775807)", false, false},
	{"-id", "r.run_id", true, false},
	{"id", "r.run_id", false, false},
	{"host", "h.name", false, true},
	{"-host", "h.name", true, true},
	{"order", "coalesce(r.order_no, 2147483647)::bigint", false, false},
	{"-order", "coalesce(r.order_no, 0)::bigint", true, false},
	{"measured", "coalesce(r.measured_ns, 9223372036854775807)", false, false},
	{"-measured", "coalesce(r.measured_ns, 0)", true, false},
	{0},
};

static void on_rows(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;
	size_t limit = (size_t)l->page.limit, shown;
	json_t *items, *doc;
	bool more;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	more = db_rows(r) > limit;
	shown = more ? limit : db_rows(r);
	items = json_array();
	for (size_t i = 0; i < shown; i++)
		json_array_append_new(items, run_row_json(r, i));
	doc = json_pack("{s:o, s:o}", "items", items, "next",
			page_next(l->req, &l->page, more, shown ? run_row_key(r, shown - 1) : "",
				  shown ? run_row_id(r, shown - 1) : 0));
	if (l->total >= 0)
		json_object_set_new(doc, "total", json_integer(l->total));
	(void)reply_json(l->req, 200, doc);
}

static void query_rows(struct list *l)
{
	sql_run(&l->rows, l->req->server->db, &l->req->pending, on_rows, l);
}

static void on_count(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	l->total = db_i64(r, 0, 0);
	query_rows(l);
}

enum step api_runs(struct request *req)
{
	static const char *const names[] = {"q",     "host",   "experiment", "metric",
					    "since", "until",  "sort",	     "ids",
					    "limit", "cursor", "include",    NULL};
	const char *include = request_query(req, "include");
	struct list *l;

	if (!api_params(req, names))
		return STEP_DONE;
	if (include && strcmp(include, "total"))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-parameter",
						   .parameter = "include",
						   .suggestion = "total"},
				   "include: only 'total' can be included");
	l = xcalloc(1, sizeof(*l));
	l->req = req;
	l->total = -1;
	req->ctx = l;
	req->ctx_free = list_free;
	sql_init(&l->rows, &Q_RUNS_LIST, (struct db_param[]){P_TEXT(request_query(req, "metric"))},
		 1);
	sql_init(&l->count, &Q_RUNS_COUNT, NULL, 0);
	if (!page_read(req, sorts, &l->page) || !run_query_where(req, &l->rows) ||
	    (include && !run_query_where(req, &l->count)))
		return STEP_DONE;
	page_sql(&l->page, &l->rows, "r.run_id");
	if (include)
		sql_run(&l->count, req->server->db, &req->pending, on_count, l);
	else
		query_rows(l);
	return STEP_WAIT;
}

/* ---- facets ---- */

#define FACET_VALUES_MAX 50
#define FACET_RUNS_MAX	 10000 /* counting more takes too long for a filter box */

/* A factor or tag that is called as a field is reached by its prefix only. */
static const char *facet_prefix(const char *kind, const char *key)
{
	if (!strcmp(kind, "field"))
		return "";
	for (const struct selector_field *f = selector_fields(); f->name; f++)
		if (!strcmp(f->name, key))
			return *kind == 't' ? "tag." : "factor.";
	return "";
}

static json_t *facet_value(const struct db_result *r, size_t row)
{
	const char *key = db_text(r, row, 1), *value = db_text(r, row, 2);
	char *whole CLEANUP(freep) = xasprintf("%s%s", facet_prefix(db_text(r, row, 0), key), key);
	struct strbuf selector CLEANUP(strbuf_done) = {0};

	selector_print_eq(whole, value, &selector);
	return json_pack("{s:s, s:I, s:s}", "value", value, "runs", (json_int_t)db_i64(r, row, 3),
			 "selector", selector.data);
}

static void on_facets(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	json_t *items, *values = NULL, *item = NULL;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	items = json_array();
	for (size_t i = 0; i < db_rows(r); i++) {
		bool same = i && !strcmp(db_text(r, i, 0), db_text(r, i - 1, 0)) &&
			    !strcmp(db_text(r, i, 1), db_text(r, i - 1, 1));

		if (!same) {
			values = json_array();
			item = json_pack("{s:s, s:s, s:o, s:b}", "key", db_text(r, i, 1), "kind",
					 db_text(r, i, 0), "values", values, "more", 0);
			json_array_append_new(items, item);
		}
		if (json_array_size(values) == FACET_VALUES_MAX)
			json_object_set_new(item, "more", json_true());
		else
			json_array_append_new(values, facet_value(r, i));
	}
	(void)reply_json(req, 200,
			 json_pack("{s:o, s:b}", "items", items, "limited",
				   db_rows(r) && db_i64(r, 0, 4) == FACET_RUNS_MAX));
}

static void sql_free(void *ctx)
{
	sql_done(ctx);
	free(ctx);
}

enum step api_runs_facets(struct request *req)
{
	static const char *const names[] = {"q", NULL};
	struct selector *s CLEANUP(selector_freep) = NULL;
	struct sql *q;

	if (!api_params(req, names))
		return STEP_DONE;
	q = xcalloc(1, sizeof(*q));
	req->ctx = q;
	req->ctx_free = sql_free;
	sql_init(q, &Q_RUN_FACETS, (struct db_param[]){P_I64(FACET_RUNS_MAX)}, 1);
	if (!run_query_selector(req, "q", request_query(req, "q"), NULL, q, &s))
		return STEP_DONE;
	sql_run(q, req->server->db, &req->pending, on_facets, req);
	return STEP_WAIT;
}
