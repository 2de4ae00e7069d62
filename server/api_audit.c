/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /audit: who changed what, newest first. */
#include "server/api_common.h"
#include "server/audit.h"
#include "server/queries.h"
#include "server/server.h"

enum { A_ID, A_AT, A_TOKEN, A_WHO, A_ACTION, A_OBJECT, A_DETAIL, A_REMOTE, A_REQUEST, A_KEY };

static json_t *row_json(const struct db_result *r, size_t i)
{
	return json_pack("{s:o, s:o, s:s?, s:s, s:s, s:s, s:s?, s:s?, s:s?}", "id",
			 js_id('u', db_i64(r, i, A_ID)), "at", js_time(db_time_ns(r, i, A_AT)),
			 "token", db_text_or_null(r, i, A_TOKEN), "who", db_text(r, i, A_WHO),
			 "action", db_text(r, i, A_ACTION), "object", db_text(r, i, A_OBJECT),
			 "detail", db_text_or_null(r, i, A_DETAIL), "remote",
			 db_text_or_null(r, i, A_REMOTE), "request_id",
			 db_text_or_null(r, i, A_REQUEST));
}

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	(void)reply_json(l->req, 200, page_json(l->req, &l->page, r, row_json, A_KEY, A_ID));
}

enum step api_audit(struct request *req)
{
	static const struct page_sort sorts[] = {{"-id", "a.audit_id", true, false}, {0}};
	static const char *const names[] = {"action", "token", "object", "limit", "cursor", NULL};
	struct db_param params[3];
	struct page_list *l;

	if (!api_params(req, names))
		return STEP_DONE;
	for (size_t i = 0; i < ARRAY_LEN(params); i++)
		params[i] = P_TEXT(request_query(req, names[i]));
	l = page_list_new(req);
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	sql_init(&l->sql, &Q_AUDIT_LIST, params, ARRAY_LEN(params));
	page_sql(&l->page, &l->sql, "a.audit_id");
	sql_run(&l->sql, req->server->db, &req->pending, on_list, l);
	return STEP_WAIT;
}
