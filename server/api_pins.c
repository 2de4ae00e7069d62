/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned comparisons: the result as it was rendered is kept as bytes and given back as bytes. */
#include "server/api.h"

#include <sys/random.h>

#include "common/check.h"
#include "common/sha256.h"
#include "server/compare_job.h"
#include "server/queries.h"
#include "server/server.h"

#define SLUG_LEN 8

enum { P_SLUG, P_TITLE, P_NOTE, P_PARAMS, P_METHOD, P_CREATED, P_ID, P_MORE };

/* ---- JSON ---- */

static json_t *links_json(const char *slug, const char *query)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "ui", json_sprintf("/c/%s", slug),
			 "json", json_sprintf("/api/v1/comparisons/%s", slug), "text",
			 json_sprintf("/api/v1/comparisons/%s?format=text", slug), "csv",
			 json_sprintf("/api/v1/comparisons/%s?format=csv", slug), "markdown",
			 json_sprintf("/api/v1/comparisons/%s?format=markdown", slug), "live",
			 json_sprintf("/compare?%s", query));
}

/* The pin without its result. */
static json_t *pin_json(const struct db_result *r, size_t row)
{
	json_t *params = json_loads(db_text(r, row, P_PARAMS), 0, NULL), *o = json_object();
	const char *slug = db_text(r, row, P_SLUG);

	CHECK(params); /* we wrote it */
	json_object_set_new(o, "id", json_string(slug));
	json_object_set_new(o, "created", js_time(db_time_ns(r, row, P_CREATED)));
	json_object_set_new(o, "title", js_text_or_null(db_text(r, row, P_TITLE)));
	json_object_set_new(o, "note", js_text_or_null(db_text(r, row, P_NOTE)));
	json_object_set(o, "query", json_object_get(params, "query"));
	json_object_set_new(o, "method", json_integer(db_i64(r, row, P_METHOD)));
	json_object_set(o, "server", json_object_get(params, "server"));
	json_object_set(o, "runs", json_object_get(params, "sides"));
	json_object_set(o, "word", json_object_get(params, "word"));
	json_object_set(o, "sentence", json_object_get(params, "sentence"));
	json_object_set_new(o, "links",
			    links_json(slug, json_string_value(json_object_get(params, "query"))));
	json_decref(params);
	return o;
}

/* ---- pinning ---- */

struct pin {
	char *title, *note;
};

static void pin_free(void *ctx)
{
	struct pin *p = ctx;

	free(p->title);
	free(p->note);
	free(p);
}

/* Crockford's alphabet: no I, L, O, U. */
static void make_slug(char slug[SLUG_LEN + 1])
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	unsigned char random[SLUG_LEN];

	CHECK(getrandom(random, sizeof(random), 0) == sizeof(random));
	for (size_t i = 0; i < SLUG_LEN; i++)
		slug[i] = digits[random[i] & 31];
	slug[SLUG_LEN] = 0;
}

static void on_pinned(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	char *location CLEANUP(freep) = NULL;
	bool made;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	made = db_bool(r, 0, P_MORE);
	location = xasprintf("/api/v1/comparisons/%s", db_text(r, 0, P_SLUG));
	reply_header(req, "Location", location);
	(void)reply_json(req, made ? 201 : 200, pin_json(r, 0));
}

static json_t *sides_json(const struct compare_result *r)
{
	json_t *sides = json_array();

	for (size_t i = 0; i < r->n_sides; i++) {
		json_t *ids = json_array();

		for (size_t k = 0; k < r->n_ids[i]; k++)
			json_array_append_new(ids, js_id('r', r->ids[i][k]));
		json_array_append_new(sides, ids);
	}
	return sides;
}

static const struct strbuf *rendered(const struct compare_result *r, enum compare_format f)
{
	return &r->out[__builtin_ctz(f)];
}

/* The same question, runs, result and words about it are the same pin. */
static void pin_hash(const struct pin *p, const struct compare_result *r, json_t *sides,
		     struct strbuf *out)
{
	const char *texts[] = {p->title ? p->title : "", p->note ? p->note : "", r->query,
			       rendered(r, COMPARE_JSON)->data};
	char *ids CLEANUP(freep) = json_dumps(sides, JSON_COMPACT);
	unsigned char sha[SHA256_LEN];
	struct sha256 s;

	sha256_init(&s);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		sha256_add(&s, texts[i], strlen(texts[i]) + 1);
	sha256_add(&s, ids, strlen(ids));
	sha256_finish(&s, sha);
	hex_put(out, sha, sizeof(sha));
}

static char *params_text(const struct pin *p, const struct compare_result *r)
{
	struct strbuf hash CLEANUP(strbuf_done) = {0};
	json_t *sides = sides_json(r), *o;
	char *text;

	pin_hash(p, r, sides, &hash);
	o = json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "sha256", hash.data, "query",
		      r->query, "sides", sides, "server", RIGSTAT_VERSION, "word",
		      js_text_or_null(r->word), "sentence", js_text(r->sentence), "text",
		      js_text(rendered(r, COMPARE_TEXT)->data), "csv",
		      js_text(rendered(r, COMPARE_CSV)->data), "markdown",
		      js_text(rendered(r, COMPARE_MARKDOWN)->data));
	CHECK(o);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static void on_compared(struct request *req, void *ctx, struct compare_result *r)
{
	struct pin *p = ctx;
	char *params CLEANUP(freep) = params_text(p, r);
	int64_t *ids CLEANUP(freep) = NULL;
	char slug[SLUG_LEN + 1];
	size_t n = 0;

	for (size_t i = 0; i < r->n_sides; i++) {
		ids = xrealloc(ids, n + r->n_ids[i] + 1, sizeof(*ids));
		for (size_t k = 0; k < r->n_ids[i]; k++)
			ids[n++] = r->ids[i][k];
	}
	make_slug(slug);
	db_query(req->server->db, DB_QUERY, &Q_PIN_INSERT,
		 (struct db_param[]){P_TEXT(slug), P_TEXT(p->title ? p->title : ""),
				     P_TEXT(p->note ? p->note : ""), P_JSON(params),
				     P_TEXT(rendered(r, COMPARE_JSON)->data), P_I64(r->method),
				     P_I64S(ids, n), P_BOOL(r->demo)},
		 8, DB_DEADLINE_MS, &req->pending, on_pinned, req);
}

enum step api_pin(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"title", "note", COMPARE_ASK_PARAMS, NULL};
	struct compare_call call = {.on_done = on_compared,
				    .formats = COMPARE_JSON | COMPARE_TEXT | COMPARE_CSV |
					       COMPARE_MARKDOWN};
	const char *title, *note;
	json_t *body = NULL;
	struct pin *p;

	if (!api_params(req, none) || !api_body(req, members, &body))
		return STEP_DONE;
	p = xcalloc(1, sizeof(*p));
	req->ctx = p;
	req->ctx_free = pin_free;
	if (!api_text(req, body, "title", 200, &title) ||
	    !api_text(req, body, "note", 4000, &note) ||
	    !compare_ask_from_body(req, body, &call.ask)) {
		compare_ask_done(&call.ask);
		json_decref(body);
		return STEP_DONE;
	}
	p->title = title ? xstrdup(title) : NULL;
	p->note = note ? xstrdup(note) : NULL;
	json_decref(body);
	call.ctx = p;
	return compare_start(req, &call);
}

/* ---- reading ---- */

struct view {
	struct request *req;
	enum compare_format format;
	bool bare; /* format=result */
	const char *chart;
	bool dark;
};

static void reply_wrapped(struct view *v, const struct db_result *r)
{
	json_t *o = pin_json(r, 0);
	char *head CLEANUP(freep) = json_dumps(o, JSON_COMPACT);
	struct strbuf body = {0};

	json_decref(o);
	strbuf_add(&body, head, strlen(head) - 1);
	strbuf_puts(&body, ",\"result\":");
	strbuf_puts(&body, db_text(r, 0, P_MORE));
	strbuf_putc(&body, '}');
	(void)reply_buf(v->req, 200, "application/json", &body);
}

static void reply_svg(struct view *v, const struct db_result *r)
{
	json_t *doc = json_loads(db_text(r, 0, P_MORE), 0, NULL);
	struct strbuf body = {0};
	struct err err;

	CHECK(doc);
	if (compare_render_svg(doc, v->chart, v->dark, &body, &err)) {
		strbuf_done(&body);
		(void)reply_problem(v->req, 404, "no-chart", NULL, "%s", err.text);
	} else {
		(void)reply_buf(v->req, 200, compare_format_type(COMPARE_SVG), &body);
	}
	json_decref(doc);
}

static void on_pin(void *ctx, const struct db_result *r, const struct err *err)
{
	struct view *v = ctx;
	char *tag CLEANUP(freep) = NULL;
	struct strbuf body = {0};

	if (err) {
		(void)reply_err(v->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(
			v->req, 404, "not-found", "Pins are listed at /api/v1/comparisons.",
			"there is no pinned comparison %s", request_path(v->req, "pin"));
		return;
	}
	tag = xasprintf("%s-%lld-%d%d%s%d", db_text(r, 0, P_SLUG), (long long)db_i64(r, 0, P_ID),
			(int)v->format, v->bare, v->format == COMPARE_SVG ? v->chart : "", v->dark);
	if (reply_etag(v->req, tag, false, true))
		return;
	if (v->format == COMPARE_SVG) {
		reply_svg(v, r);
	} else if (v->format == COMPARE_JSON && !v->bare) {
		reply_wrapped(v, r);
	} else {
		strbuf_puts(&body, db_text(r, 0, v->bare ? P_MORE : P_MORE + 1));
		(void)reply_buf(v->req, 200, compare_format_type(v->format), &body);
	}
}

static void free_ctx(void *ctx)
{
	free(ctx);
}

static const char *rendering_name(enum compare_format f)
{
	return f == COMPARE_TEXT       ? "text"
	       : f == COMPARE_CSV      ? "csv"
	       : f == COMPARE_MARKDOWN ? "markdown"
				       : NULL;
}

enum step api_pin_show(struct request *req)
{
	static const char *const names[] = {"format", "chart", "theme", NULL};
	const char *format = request_query(req, "format");
	struct view *v;

	if (!api_params(req, names))
		return STEP_DONE;
	v = xcalloc(1, sizeof(*v));
	v->req = req;
	req->ctx = v;
	req->ctx_free = free_ctx;
	v->format = COMPARE_JSON;
	v->bare = format && !strcmp(format, "result");
	if (!compare_chart_params(req, &v->chart, &v->dark) ||
	    (!v->bare && !compare_choose_format(req,
						COMPARE_JSON | COMPARE_TEXT | COMPARE_CSV |
							COMPARE_MARKDOWN | COMPARE_SVG,
						&v->format)))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_PIN_GET,
		 (struct db_param[]){P_TEXT(request_path(req, "pin")),
				     P_TEXT(rendering_name(v->format))},
		 2, DB_DEADLINE_MS, &req->pending, on_pin, v);
	return STEP_WAIT;
}

/* ---- list and removal ---- */

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct page_list *l = ctx;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	(void)reply_json(l->req, 200, page_json(l->req, &l->page, r, pin_json, P_MORE, P_ID));
}

enum step api_pins(struct request *req)
{
	static const struct page_sort sorts[] = {{"-id", "p.pin_id", true, false}, {0}};
	static const char *const names[] = {"limit", "cursor", NULL};
	struct page_list *l;

	if (!api_params(req, names))
		return STEP_DONE;
	l = page_list_new(req);
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	sql_init(&l->sql, &Q_PINS_LIST, NULL, 0);
	page_sql(&l->page, &l->sql, "p.pin_id");
	sql_run(&l->sql, req->server->db, &req->pending, on_list, l);
	return STEP_WAIT;
}

static void on_deleted(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(r))
		(void)reply_problem(req, 404, "not-found", NULL, "there is no pinned comparison %s",
				    request_path(req, "pin"));
	else
		(void)reply_empty(req, 204);
}

enum step api_unpin(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_PIN_DELETE,
		 (struct db_param[]){P_TEXT(request_path(req, "pin"))}, 1, DB_DEADLINE_MS,
		 &req->pending, on_deleted, req);
	return STEP_WAIT;
}
