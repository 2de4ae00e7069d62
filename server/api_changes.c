/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes: GET and POST /changes, GET and PATCH /changes/{change} */
#include "server/api.h"

#include "common/clock.h"
#include "common/parse.h"
#include "common/model/selector.h"
#include "server/api_common.h"
#include "server/change_words.h"
#include "server/queries.h"
#include "server/selector_sql.h"
#include "server/server.h"

#define WHO_DEFAULT "a person"
#define TAGS_MAX    16

static const char *const states[] = {"new",   "confirmed", "accepted",	"ignored",
				     "fixed", "reopened",  "withdrawn", NULL};

static bool is_word(const char *const *words, const char *s, size_t len)
{
	for (; *words; words++)
		if (strlen(*words) == len && !strncmp(*words, s, len))
			return true;
	return false;
}

/* ---- documents ---- */

enum { C_ID, C_DOC, C_KEY, C_TRIAGE };

static json_t *change_json(const struct db_result *r, size_t row)
{
	struct strbuf s CLEANUP(strbuf_done) = {0};
	json_t *o = db_json(r, row, C_DOC);
	const char *a = json_string_value(json_object_get(o, "a"));
	const char *b = json_string_value(json_object_get(o, "b"));
	struct strbuf url CLEANUP(strbuf_done) = {0};

	change_sentence(o, &s);
	json_object_set_new(o, "sentence", json_string(s.data));
	if (a && b) {
		strbuf_puts(&url, "/compare?a=");
		url_escape(&url, a);
		strbuf_puts(&url, "&b=");
		url_escape(&url, b);
	}
	json_object_set_new(
		o, "links",
		json_pack("{s:o, s:o}", "ui",
			  json_sprintf("/changes/c_%lld", (long long)db_i64(r, row, C_ID)),
			  "compare", js_text(a && b ? url.data : NULL)));
	return o;
}

static void on_rows(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;
	json_t *doc;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	if (l->one) {
		if (db_rows(r))
			(void)reply_json(l->req, l->req->method == HTTP_POST ? 201 : 200,
					 change_json(r, 0));
		else
			(void)reply_problem(
				l->req, 404, "not-found", "Changes are listed at /api/v1/changes.",
				"there is no change %s", request_path(l->req, "change"));
		return;
	}
	doc = page_json(l->req, &l->page, r, change_json, C_KEY, C_ID);
	json_object_set_new(doc, "triage", db_rows(r) ? db_json(r, 0, C_TRIAGE) : json_null());
	(void)reply_json(l->req, 200, doc);
}

/* ---- the list ---- */

static const struct page_sort sorts[] = {
	{"-id", "c.change_id", true, false},
	{"id", "c.change_id", false, false},
	{"-size",
	 "coalesce((select max(abs(x.rel)) from rigstat.change_member x where x.change_id = "
	 "c.change_id and x.direction = c.direction), 0)",
	 true, false},
	{0},
};

static bool put_states(struct request *req, struct sql *q, struct strbuf *out)
{
	const char *v = request_query(req, "state");

	if (!v) {
		strbuf_puts(out, " and c.state <> 'withdrawn'");
		return true;
	}
	for (const char *p = v; *p;) {
		size_t n = strcspn(p, ",");

		if (!is_word(states, p, n)) {
			(void)reply_fault(req,
					  &(struct fault){.status = 400,
							  .slug = "invalid-parameter",
							  .parameter = "state"},
					  "state: '%.*s' is none of new, confirmed, accepted, "
					  "ignored, fixed, reopened, withdrawn",
					  (int)(n > 40 ? 40 : n), p);
			return false;
		}
		p += n + (p[n] == ',');
	}
	strbuf_printf(out, " and c.state = any (string_to_array($%u::text, ','))",
		      sql_param(q, P_TEXT(v)));
	return true;
}

static void put_member(struct request *req, struct sql *q, struct strbuf *out)
{
	const char *metric = request_query(req, "metric");

	if (metric)
		strbuf_printf(out,
			      " and exists (select from rigstat.change_member x join rigstat.trend "
			      "t using (host_id, trend_id) join rigstat.metric m using (metric_id) "
			      "where x.change_id = c.change_id and m.name = $%u::text)",
			      sql_param(q, P_TEXT(metric)));
}

enum step api_changes(struct request *req)
{
	static const char *const names[] = {"state", "host",   "metric", "direction",
					    "limit", "cursor", "sort",	 NULL};
	static const char *const ways[] = {"worse", "better", "none", NULL};
	const char *way = request_query(req, "direction");
	struct strbuf where CLEANUP(strbuf_done) = {0};
	struct page_list *l;

	if (!api_params(req, names))
		return STEP_DONE;
	if (way && !is_word(ways, way, strlen(way)))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-parameter",
						   .parameter = "direction"},
				   "direction: worse, better or none");
	l = page_list_new(req);
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	sql_init(&l->sql, &Q_CHANGES_LIST, (struct db_param[]){P_BOOL(false)}, 1);
	strbuf_puts(&where, "true");
	if (!put_states(req, &l->sql, &where))
		return STEP_DONE;
	if (request_query(req, "host"))
		sql_glob(&l->sql, "h.name", request_query(req, "host"), &where);
	if (way)
		strbuf_printf(&where, " and c.direction = $%u::text",
			      sql_param(&l->sql, P_TEXT(way)));
	put_member(req, &l->sql, &where);
	sql_replace(&l->sql, "true /*where*/", where.data);
	page_sql(&l->page, &l->sql, "c.change_id");
	sql_run(&l->sql, req->server->db, &req->pending, on_rows, l);
	return STEP_WAIT;
}

/* ---- one ---- */

static enum step show(struct page_list *l, int64_t id)
{
	char *where CLEANUP(freep) = NULL;

	l->one = true;
	l->page = (struct page){.limit = 1, .sort = &sorts[0]};
	sql_init(&l->sql, &Q_CHANGES_LIST, (struct db_param[]){P_BOOL(true)}, 1);
	where = xasprintf("c.change_id = $%u::bigint", sql_param(&l->sql, P_I64(id)));
	sql_replace(&l->sql, "true /*where*/", where);
	page_sql(&l->page, &l->sql, "c.change_id");
	sql_run(&l->sql, l->req->server->db, &l->req->pending, on_rows, l);
	return STEP_WAIT;
}

enum step api_change(struct request *req)
{
	static const char *const none[] = {NULL};
	int64_t id;

	if (!api_params(req, none) || !api_id(req, "change", 'c', &id))
		return STEP_DONE;
	return show(page_list_new(req), id);
}

/* ---- triage ---- */

static void on_edited(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;

	if (err)
		(void)reply_err(l->req, err);
	else
		(void)show(l, db_i64(r, 0, 0)); /* 0, of null, is no change: 404 */
}

static enum step bad_body(struct request *req, const char *name, const char *what)
{
	return reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = name},
		"\"%s\" %s", name, what);
}

static bool read_triage(struct request *req, const json_t *body, const char **state,
			const char **reason)
{
	static const char *const allowed[] = {"new",	 "confirmed", "accepted",
					      "ignored", "fixed",     NULL};
	static const char *const reasons[] = {"noise", "environment", "duplicate", "unimportant",
					      NULL};

	if (!api_text(req, body, "state", 20, state) || !api_text(req, body, "reason", 20, reason))
		return false;
	if (*state && !is_word(allowed, *state, strlen(*state))) {
		(void)bad_body(req, "state", "is new, confirmed, accepted, ignored or fixed");
		return false;
	}
	if (*reason && !is_word(reasons, *reason, strlen(*reason))) {
		(void)bad_body(req, "reason", "is noise, environment, duplicate or unimportant");
		return false;
	}
	if (*state && !strcmp(*state, "ignored") != !!*reason) {
		(void)bad_body(req, "reason", "belongs to the state ignored, which needs one");
		return false;
	}
	return true;
}

static bool edit(struct page_list *l, const json_t *body, int64_t id)
{
	const char *state, *reason, *by, *text;
	static const char *const free_texts[] = {"note", "owner", "issue"};
	json_t *rest = json_object();
	char *rest_text CLEANUP(freep) = NULL;

	for (size_t i = 0; i < ARRAY_LEN(free_texts); i++) {
		if (!api_text(l->req, body, free_texts[i], 2000, &text)) {
			json_decref(rest);
			return false;
		}
		if (text)
			json_object_set_new(rest, free_texts[i], json_string(text));
	}
	rest_text = json_dumps(rest, JSON_COMPACT);
	json_decref(rest);
	if (!api_text(l->req, body, "by", 100, &by) || !read_triage(l->req, body, &state, &reason))
		return false;
	db_query(l->req->server->db, DB_QUERY, &Q_CHANGE_EDIT,
		 (struct db_param[]){P_I64(id), P_TEXT(by && *by ? by : WHO_DEFAULT), P_TEXT(state),
				     P_TEXT(reason), P_JSON(rest_text)},
		 5, DB_DEADLINE_MS, &l->req->pending, on_edited, l);
	return true;
}

enum step api_change_edit(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"state", "reason", "note", "owner",
					      "issue", "by",	 NULL};
	json_t *body = NULL;
	bool started;
	int64_t id;

	if (!api_params(req, none) || !api_id(req, "change", 'c', &id) ||
	    !api_body(req, members, &body))
		return STEP_DONE;
	started = edit(page_list_new(req), body, id);
	json_decref(body);
	return started ? STEP_WAIT : STEP_DONE;
}

/* ---- by hand ---- */

static void on_marked(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;

	if (err)
		(void)reply_err(l->req, err);
	else if (db_is_null(r, 0, 0))
		(void)reply_problem(l->req, 409, "conflict",
				    "Give a run of the series that is not its first.",
				    "the series has no such run, or none before it");
	else
		(void)show(l, db_i64(r, 0, 0));
}

static bool mark(struct page_list *l, const json_t *body)
{
	const char *series, *run, *note, *by;
	int64_t trend, id;
	struct err err;

	if (!api_text(l->req, body, "series", 30, &series) ||
	    !api_text(l->req, body, "run", 30, &run) ||
	    !api_text(l->req, body, "note", 2000, &note) || !api_text(l->req, body, "by", 100, &by))
		return false;
	if (request_id(series ? series : "", 's', &trend, &err) ||
	    request_id(run ? run : "", 'r', &id, &err)) {
		(void)bad_body(l->req, series ? "run" : "series", "is an id, as s_12 and r_17");
		return false;
	}
	db_query(l->req->server->db, DB_QUERY, &Q_CHANGE_MARK,
		 (struct db_param[]){P_I64(trend), P_I64(id), P_TEXT(by && *by ? by : WHO_DEFAULT),
				     P_TEXT(note ? note : "")},
		 4, DB_DEADLINE_MS, &l->req->pending, on_marked, l);
	return true;
}

enum step api_change_mark(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"series", "run", "note", "by", NULL};
	json_t *body = NULL;
	bool started;

	if (!api_params(req, none) || !api_body(req, members, &body))
		return STEP_DONE;
	started = mark(page_list_new(req), body);
	json_decref(body);
	return started ? STEP_WAIT : STEP_DONE;
}
