/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remarks on an instant or a range: GET and POST /annotations, DELETE /annotations/{annotation}. */
#include "server/api.h"

#include "common/clock.h"
#include "common/model/selector.h"
#include "common/parse.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/server.h"

#define TAGS_MAX 16

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o}", "items", js_rows(r, db_rows(r), js_document)));
}

enum step api_annotations(struct request *req)
{
	static const char *const names[] = {"host", "since", "until", "limit", NULL};
	int64_t since = 0, until = 0, limit;
	struct err err;

	if (!api_params(req, names) || !api_time(req, "since", false, &since) ||
	    !api_time(req, "until", true, &until))
		return STEP_DONE;
	if (request_query_i64(req, "limit", PAGE_LIMIT_DEFAULT, 1, PAGE_LIMIT_MAX, &limit, &err))
		return reply_err(req, &err);
	db_query(req->server->db, DB_QUERY, &Q_ANNOTATIONS_LIST,
		 (struct db_param[]){P_TEXT(request_query(req, "host")),
				     since ? P_I64(since) : P_NULL(DB_I64),
				     until ? P_I64(until) : P_NULL(DB_I64), P_I64(limit)},
		 4, DB_DEADLINE_MS, &req->pending, on_list, req);
	return STEP_WAIT;
}

static bool bad(struct request *req, const char *name, const char *what)
{
	(void)reply_fault(req,
			  &(struct fault){.status = 400, .slug = "invalid-body", .parameter = name},
			  "\"%s\" %s", name, what);
	return false;
}

static bool read_time(struct request *req, const json_t *body, const char *name, int64_t *ret)
{
	const char *v;
	int64_t hi;

	if (!api_text(req, body, name, 40, &v) || !v)
		return !v;
	return selector_time(v, ret, &hi) || bad(req, name, "is a time, as 2026-11-30T17:00:00Z");
}

/* Borrowed texts. */
static bool read_tags(struct request *req, const json_t *body, const char *tags[TAGS_MAX],
		      size_t *ret_n)
{
	const json_t *list = json_object_get(body, "tags");

	if ((list && !json_is_array(list)) || json_array_size(list) > TAGS_MAX)
		return bad(req, "tags", "is an array of at most 16 texts");
	for (*ret_n = 0; *ret_n < json_array_size(list); (*ret_n)++) {
		const char *t = json_string_value(json_array_get(list, *ret_n));

		if (!t || !*t || strlen(t) > 64 || !text_is_clean(t, strlen(t)))
			return bad(req, "tags", "holds something that is no short clean text");
		tags[*ret_n] = t;
	}
	return true;
}

static void on_added(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(r))
		(void)reply_problem(req, 404, "not-found", "Hosts are listed at /api/v1/hosts.",
				    "there is no such host");
	else
		(void)reply_json(req, 201, js_document(r, 0));
}

static bool add(struct request *req, const json_t *body)
{
	const char *host, *text, *by, *tags[TAGS_MAX];
	int64_t from = clock_realtime_ns(), to = 0;
	size_t n = 0;

	if (!api_text(req, body, "host", 128, &host) || !api_text(req, body, "text", 2000, &text) ||
	    !api_text(req, body, "by", 100, &by) || !read_time(req, body, "from", &from) ||
	    !read_time(req, body, "to", &to) || !read_tags(req, body, tags, &n))
		return false;
	if (!text || !*text)
		return bad(req, "text", "says what is to be remembered");
	if (to && to < from)
		return bad(req, "to", "is before \"from\"");
	db_query(req->server->db, DB_QUERY, &Q_ANNOTATION_ADD,
		 (struct db_param[]){P_TEXT(host), P_I64(from), to ? P_I64(to) : P_NULL(DB_I64),
				     P_TEXT(text), P_TEXTS(tags, n), P_TEXT(by)},
		 6, DB_DEADLINE_MS, &req->pending, on_added, req);
	return true;
}

enum step api_annotation_add(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"host", "from", "to", "text", "tags", "by", NULL};
	json_t *body = NULL;
	bool started;

	if (!api_params(req, none) || !api_body(req, members, &body))
		return STEP_DONE;
	started = add(req, body);
	json_decref(body);
	return started ? STEP_WAIT : STEP_DONE;
}

static void on_deleted(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(r))
		(void)reply_problem(req, 404, "not-found", NULL, "there is no annotation %s",
				    request_path(req, "annotation"));
	else
		(void)reply_empty(req, 204);
}

enum step api_annotation_delete(struct request *req)
{
	static const char *const none[] = {NULL};
	int64_t id;

	if (!api_params(req, none) || !api_id(req, "annotation", 'n', &id))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_ANNOTATION_DELETE, (struct db_param[]){P_I64(id)}, 1,
		 DB_DEADLINE_MS, &req->pending, on_deleted, req);
	return STEP_WAIT;
}
