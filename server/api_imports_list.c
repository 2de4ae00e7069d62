/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /imports, /imports/{import}, its bytes; DELETE; the formats. */
#include "server/api.h"

#include "common/import/import.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/server.h"

static json_t *import_json(const struct db_result *r, size_t row)
{
	return json_pack("{s:o, s:b, s:b, s:s, s:o, s:s, s:I, s:o, s:o, s:o}", "id",
			 js_id('i', db_i64(r, row, 0)), "dry_run", 0, "already", 0, "format",
			 db_text(r, row, 1), "source", js_text(db_text_or_null(r, row, 2)),
			 "sha256", db_text(r, row, 3), "bytes", (json_int_t)db_i64(r, row, 4),
			 "created", js_time(db_time_ns(r, row, 5)), "experiment",
			 js_text(db_text_or_null(r, row, 6)), "runs",
			 json_loads(db_text(r, row, 7), 0, NULL));
}

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	if (l->one) {
		if (db_rows(r))
			(void)reply_json(l->req, 200, import_json(r, 0));
		else
			(void)reply_problem(l->req, 404, "not-found", NULL, "there is no import %s",
					    request_path(l->req, "import"));
		return;
	}
	(void)reply_json(l->req, 200, page_json(l->req, &l->page, r, import_json, 8, 0));
}

static enum step start_list(struct request *req, bool one)
{
	static const struct page_sort sorts[] = {{"-id", "i.import_id", true, false}, {0}};
	static const char *const names[] = {"limit", "cursor", NULL}, *const none[] = {NULL};
	struct db_param id = P_NULL(DB_I64);
	struct page_list *l;
	int64_t n = 0;

	if (!api_params(req, one ? none : names) || (one && !api_id(req, "import", 'i', &n)))
		return STEP_DONE;
	if (one)
		id = P_I64(n);
	l = page_list_new(req);
	l->one = one;
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	sql_init(&l->sql, &Q_IMPORTS_LIST, &id, 1);
	page_sql(&l->page, &l->sql, "i.import_id");
	sql_run(&l->sql, req->server->db, &req->pending, on_list, l);
	return STEP_WAIT;
}

enum step api_imports(struct request *req)
{
	return start_list(req, false);
}

enum step api_import_show(struct request *req)
{
	return start_list(req, true);
}

static void on_bytes(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	struct strbuf body = {0};
	const void *data;
	size_t len;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(req, 404, "not-found", NULL, "there is no import %s",
				    request_path(req, "import"));
		return;
	}
	data = db_bytes(r, 0, 0, &len);
	strbuf_add(&body, data, len);
	reply_header(req, "Content-Disposition", "attachment");
	(void)reply_buf(req, 200, "application/octet-stream", &body);
}

enum step api_import_bytes(struct request *req)
{
	static const char *const none[] = {NULL};
	int64_t id;

	if (!api_params(req, none) || !api_id(req, "import", 'i', &id))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_IMPORT_BYTES, (struct db_param[]){P_I64(id)}, 1,
		 DB_DEADLINE_MS, &req->pending, on_bytes, req);
	return STEP_WAIT;
}

static void on_undone(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(r))
		(void)reply_problem(req, 404, "not-found", NULL, "there is no import %s",
				    request_path(req, "import"));
	else
		(void)reply_empty(req, 204);
}

enum step api_import_undo(struct request *req)
{
	static const char *const none[] = {NULL};
	int64_t id;

	if (!api_params(req, none) || !api_id(req, "import", 'i', &id))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_IMPORT_UNDO, (struct db_param[]){P_I64(id)}, 1,
		 DB_DEADLINE_MS, &req->pending, on_undone, req);
	return STEP_WAIT;
}

enum step api_import_formats(struct request *req)
{
	static const char *const none[] = {NULL};
	json_t *items;

	if (!api_params(req, none))
		return STEP_DONE;
	items = json_array();
	for (const struct import_format *f = import_formats(); f->name; f++)
		json_array_append_new(items,
				      json_pack("{s:s, s:s}", "name", f->name, "title", f->title));
	return reply_json(req, 200, json_pack("{s:o}", "items", items));
}
