/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trends: GET /series, /series/{series}, /series/{series}/points; GET /orders, PUT /orders/{order}.
 */
#include "server/api.h"

#include "common/parse.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/selector_sql.h"
#include "server/server.h"

#define POINTS_DEFAULT 2000
#define POINTS_MAX     50000
#define VERSIONS_MAX   100000

/* ---- the list ---- */

enum { L_ID, L_DOC, L_KEY };

static const struct page_sort sorts[] = {
	{"-updated", "coalesce(extract(epoch from t.computed_at)::float8, 0)", true, false},
	{"host", "h.name", false, true},
	{"metric", "m.name", false, true},
	{"-points", "t.n_points", true, false},
	{"id", "t.trend_id", false, false},
	{0},
};

static json_t *trend_json(const struct db_result *r, size_t row)
{
	return db_json(r, row, L_DOC);
}

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	(void)reply_json(l->req, 200, page_json(l->req, &l->page, r, trend_json, L_KEY, L_ID));
}

static void put_equal(struct request *req, struct sql *q, struct strbuf *out, const char *name,
		      const char *expr)
{
	const char *v = request_query(req, name);

	if (v)
		strbuf_printf(out, " and %s = $%u::text", expr, sql_param(q, P_TEXT(v)));
}

enum step api_series(struct request *req)
{
	static const char *const names[] = {"host",    "metric", "stat",   "experiment", "branch",
					    "reading", "limit",	 "cursor", "sort",	 NULL};
	struct strbuf where CLEANUP(strbuf_done) = {0};
	struct page_list *l;

	if (!api_params(req, names))
		return STEP_DONE;
	l = page_list_new(req);
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	sql_init(&l->sql, &Q_SERIES_LIST, NULL, 0);
	strbuf_puts(&where, "true");
	if (request_query(req, "host"))
		sql_glob(&l->sql, "h.name", request_query(req, "host"), &where);
	put_equal(req, &l->sql, &where, "metric", "m.name");
	put_equal(req, &l->sql, &where, "stat", "t.stat");
	put_equal(req, &l->sql, &where, "reading", "t.reading");
	put_equal(req, &l->sql, &where, "experiment", "t.context ->> 'experiment'");
	put_equal(req, &l->sql, &where, "branch", "t.context ->> 'branch'");
	sql_replace(&l->sql, "true /*where*/", where.data);
	page_sql(&l->page, &l->sql, "t.trend_id");
	sql_run(&l->sql, req->server->db, &req->pending, on_list, l);
	return STEP_WAIT;
}

/* ---- one, with or without its points ---- */

struct show {
	struct request *req;
	int64_t id, since, until, limit;
	bool points, rows, ms;
	const char *format; /* of the points */
	json_t *doc;	    /* series, changes, annotations */
};

static void show_free(void *ctx)
{
	struct show *s = ctx;

	json_decref(s->doc);
	free(s);
}

enum { P_RUN, P_AT, P_VERSION, P_VALUE, P_LO, P_HI, P_N, P_ANSWER, P_OUTLIER, P_PLACED, P_EXISTS };

static json_t *point_json(const struct db_result *r, size_t i)
{
	json_t *o = json_object();

	json_object_set_new(o, "run", js_id('r', db_i64(r, i, P_RUN)));
	json_object_set_new(o, "started", js_time(db_i64(r, i, P_AT)));
	json_object_set_new(o, "version", js_text(db_text_or_null(r, i, P_VERSION)));
	json_object_set_new(o, "value", js_f64_or_null(r, i, P_VALUE));
	json_object_set_new(o, "lo", js_f64_or_null(r, i, P_LO));
	json_object_set_new(o, "hi", js_f64_or_null(r, i, P_HI));
	json_object_set_new(o, "n", js_i64_or_null(r, i, P_N));
	json_object_set_new(o, "answer", json_string(db_text(r, i, P_ANSWER)));
	json_object_set_new(o, "outlier", json_boolean(db_bool(r, i, P_OUTLIER)));
	json_object_set_new(o, "placed", json_boolean(db_bool(r, i, P_PLACED)));
	json_object_set_new(o, "run_kept", json_boolean(db_bool(r, i, P_EXISTS)));
	return o;
}

/* Flat, each row whole: for Grafana's JSON sources. */
static json_t *row_json(const struct show *s, const struct db_result *r, size_t i)
{
	static const char *const same[] = {"host", "metric", "stat", "unit"};
	const json_t *series = json_object_get(s->doc, "series");
	json_t *o = json_object();

	json_object_set_new(o, "time",
			    s->ms ? json_integer(db_i64(r, i, P_AT) / NS_PER_MS)
				  : js_time(db_i64(r, i, P_AT)));
	for (size_t k = 0; k < ARRAY_LEN(same); k++)
		json_object_set(o, same[k], json_object_get(series, same[k]));
	json_object_set_new(o, "run", js_id('r', db_i64(r, i, P_RUN)));
	json_object_set_new(o, "version", js_text(db_text_or_null(r, i, P_VERSION)));
	json_object_set_new(o, "value", js_f64_or_null(r, i, P_VALUE));
	json_object_set_new(o, "lo", js_f64_or_null(r, i, P_LO));
	json_object_set_new(o, "hi", js_f64_or_null(r, i, P_HI));
	json_object_set_new(o, "outlier", json_boolean(db_bool(r, i, P_OUTLIER)));
	return o;
}

static void put_number(struct strbuf *out, const struct db_result *r, size_t i, unsigned int col)
{
	if (!db_is_null(r, i, col))
		strbuf_printf(out, "%.17g", db_f64(r, i, col));
	strbuf_putc(out, ',');
}

static void points_csv(const struct show *s, const struct db_result *r, struct strbuf *out)
{
	const char *unit =
		json_string_value(json_object_get(json_object_get(s->doc, "series"), "unit"));

	strbuf_printf(out, "run,started,version,value_%s,lo_%s,hi_%s,n,answer,outlier,placed\r\n",
		      unit, unit, unit);
	for (size_t i = 0; i < db_rows(r); i++) {
		json_t *at = js_time(db_i64(r, i, P_AT));

		strbuf_printf(out, "r_%lld,%s,", (long long)db_i64(r, i, P_RUN),
			      json_string_value(at));
		json_decref(at);
		strbuf_put_csv(out, db_text(r, i, P_VERSION));
		strbuf_putc(out, ',');
		put_number(out, r, i, P_VALUE);
		put_number(out, r, i, P_LO);
		put_number(out, r, i, P_HI);
		if (!db_is_null(r, i, P_N))
			strbuf_printf(out, "%lld", (long long)db_i64(r, i, P_N));
		strbuf_printf(out, ",%s,%d,%d\r\n", db_text(r, i, P_ANSWER),
			      db_bool(r, i, P_OUTLIER), db_bool(r, i, P_PLACED));
	}
}

static void on_points(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;
	struct strbuf out = {0};
	json_t *points;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	if (format_is(s->format, "csv")) {
		points_csv(s, r, &out);
		(void)reply_buf(s->req, 200, "text/csv; charset=utf-8", &out);
		return;
	}
	points = json_array();
	for (size_t i = 0; i < db_rows(r); i++)
		json_array_append_new(points, s->rows ? row_json(s, r, i) : point_json(r, i));
	if (s->rows) {
		(void)reply_json(s->req, 200, points);
		return;
	}
	json_object_set_new(s->doc, "points", points);
	json_object_set_new(s->doc, "limited", json_boolean((int64_t)db_rows(r) == s->limit));
	(void)reply_json(s->req, 200, TAKE(s->doc));
}

static void on_series(void *ctx, const struct db_result *r, const struct err *err)
{
	struct show *s = ctx;

	if (err) {
		(void)reply_err(s->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(s->req, 404, "not-found",
				    "Series are listed at /api/v1/series.", "there is no series %s",
				    request_path(s->req, "series"));
		return;
	}
	s->doc = json_pack("{s:o, s:o, s:o}", "series", db_json(r, 0, 0), "changes",
			   db_json(r, 0, 1), "annotations", db_json(r, 0, 2));
	if (!s->points) {
		(void)reply_json(s->req, 200, TAKE(s->doc));
		return;
	}
	db_query(s->req->server->db, DB_QUERY, &Q_SERIES_POINTS,
		 (struct db_param[]){P_I64(s->id), s->since ? P_I64(s->since) : P_NULL(DB_I64),
				     s->until ? P_I64(s->until) : P_NULL(DB_I64), P_I64(s->limit)},
		 4, DB_DEADLINE_MS, &s->req->pending, on_points, s);
}

static struct show *show_new(struct request *req)
{
	struct show *s = xcalloc(1, sizeof(*s));

	s->req = req;
	req->ctx = s;
	req->ctx_free = show_free;
	return s;
}

static enum step show(struct show *s)
{
	if (!api_id(s->req, "series", 's', &s->id))
		return STEP_DONE;
	db_query(s->req->server->db, DB_QUERY, &Q_SERIES_GET, (struct db_param[]){P_I64(s->id)}, 1,
		 DB_DEADLINE_MS, &s->req->pending, on_series, s);
	return STEP_WAIT;
}

enum step api_series_show(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	return show(show_new(req));
}

static enum step bad(struct request *req, const char *name, const char *what)
{
	return reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s: %s", name, what);
}

enum step api_series_points(struct request *req)
{
	static const char *const names[] = {"since", "until", "limit", "format",
					    "shape", "time",  NULL};
	static const char *const formats[] = {"json application/json", "csv text/csv", NULL};
	const char *shape = request_query(req, "shape"), *time = request_query(req, "time");
	struct show *s;
	struct err err;

	if (!api_params(req, names))
		return STEP_DONE;
	s = show_new(req);
	s->points = true;
	s->format = request_format(req, formats);
	if (!s->format)
		return bad(req, "format", "json or csv");
	if (shape && strcmp(shape, "document") && strcmp(shape, "rows"))
		return bad(req, "shape", "document or rows");
	if (time && strcmp(time, "rfc3339") && strcmp(time, "ms"))
		return bad(req, "time", "rfc3339 or ms");
	s->rows = shape && !strcmp(shape, "rows");
	s->ms = time && !strcmp(time, "ms");
	if (request_query_i64(req, "limit", POINTS_DEFAULT, 1, POINTS_MAX, &s->limit, &err))
		return reply_err(req, &err);
	if (!api_time(req, "since", false, &s->since) || !api_time(req, "until", true, &s->until))
		return STEP_DONE;
	return show(s);
}

/* ---- orders of versions ---- */

static void on_orders(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o}", "items", js_rows(r, db_rows(r), js_document)));
}

enum step api_orders(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_ORDERS_LIST, (struct db_param[]){P_NULL(DB_TEXT)}, 1,
		 DB_DEADLINE_MS, &req->pending, on_orders, req);
	return STEP_WAIT;
}

static void on_order(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200, db_json(r, 0, 0));
}

static void on_order_set(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	(void)r;
	if (err) {
		(void)reply_err(req, err);
		return;
	}
	db_query(req->server->db, DB_QUERY, &Q_ORDERS_LIST,
		 (struct db_param[]){P_TEXT(request_path(req, "order"))}, 1, DB_DEADLINE_MS,
		 &req->pending, on_order, req);
}

static enum step bad_body(struct request *req, const char *name, const char *what)
{
	return reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = name},
		"\"%s\" %s", name, what);
}

/* Borrowed texts; false: a problem was sent. */
static bool read_versions(struct request *req, const json_t *list, bool wanted, const char ***ret,
			  size_t *ret_n)
{
	size_t n = json_array_size(list);

	if ((list && !json_is_array(list)) || n > VERSIONS_MAX || (n > 0) != wanted) {
		(void)bad_body(
			req, "versions",
			"is an array of 1 to 100000 versions, oldest first, for the kind list");
		return false;
	}
	*ret = xcalloc(n + 1, sizeof(**ret));
	for (*ret_n = 0; *ret_n < n; (*ret_n)++) {
		const char *v = json_string_value(json_array_get(list, *ret_n));

		if (!v || !*v || strlen(v) > 200 || !text_is_clean(v, strlen(v))) {
			(void)bad_body(req, "versions", "holds a version that is no clean text");
			return false;
		}
		(*ret)[*ret_n] = v;
	}
	return true;
}

static bool set_order(struct request *req, const json_t *body)
{
	const char **versions CLEANUP(freep) = NULL, *kind, *key = request_path(req, "order");
	size_t n = 0;

	if (!api_text(req, body, "kind", 10, &kind))
		return false;
	if (!kind || (strcmp(kind, "time") && strcmp(kind, "semver") && strcmp(kind, "list"))) {
		(void)bad_body(req, "kind", "is time, semver or list");
		return false;
	}
	if (!*key || strlen(key) > 128 || !text_is_clean(key, strlen(key))) {
		(void)bad_body(req, "order", "is the name of a factor or tag");
		return false;
	}
	if (!read_versions(req, json_object_get(body, "versions"), !strcmp(kind, "list"), &versions,
			   &n))
		return false;
	db_query(req->server->db, DB_QUERY, &Q_ORDER_SET,
		 (struct db_param[]){P_TEXT(key), P_TEXT(kind), P_TEXTS(versions, n)}, 3,
		 DB_DEADLINE_MS, &req->pending, on_order_set, req);
	return true;
}

enum step api_order_set(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"kind", "versions", NULL};
	json_t *body = NULL;
	bool started;

	if (!api_params(req, none) || !api_body(req, members, &body))
		return STEP_DONE;
	started = set_order(req, body);
	json_decref(body);
	return started ? STEP_WAIT : STEP_DONE;
}
