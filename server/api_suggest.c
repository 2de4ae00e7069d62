/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /compare/suggest: what side A could be compared with. */
#include "server/api.h"

#include "common/check.h"
#include "server/queries.h"
#include "server/run_query.h"
#include "server/server.h"

enum { G_WHAT, G_EXPERIMENT, G_NAME, G_FACTORS, G_RUNS, G_PLAIN, G_HOST, G_KERNEL, G_MINE };

static void put_cell(const struct db_result *r, size_t row, struct strbuf *selector,
		     struct strbuf *text)
{
	json_t *factors = json_loads(db_text(r, row, G_FACTORS), 0, NULL), *v;
	json_t *mine = json_loads(db_text(r, row, G_MINE), 0, NULL);
	char number[32];
	const char *name;

	CHECK(factors && mine);
	(void)snprintf(number, sizeof(number), "e_%lld", (long long)db_i64(r, row, G_EXPERIMENT));
	selector_print_eq("experiment", db_bool(r, row, G_PLAIN) ? db_text(r, row, G_NAME) : number,
			  selector);
	json_object_foreach(factors, name, v)
	{
		if (!json_is_string(v))
			continue;
		selector_print_eq(name, json_string_value(v), selector);
		if (!json_equal(v, json_object_get(mine, name)))
			strbuf_printf(text, "%s%s = %s", text->len ? ", " : "", name,
				      json_string_value(v));
	}
	strbuf_printf(text, "%sin the same experiment (%s)", text->len ? " " : "other runs ",
		      db_text(r, row, G_NAME));
	json_decref(factors);
	json_decref(mine);
}

static json_t *suggestion(struct request *req, const struct db_result *r, size_t row)
{
	struct strbuf selector CLEANUP(strbuf_done) = {0}, text CLEANUP(strbuf_done) = {0};
	struct strbuf ui CLEANUP(strbuf_done) = {0};

	if (!strcmp(db_text(r, row, G_WHAT), "cell")) {
		put_cell(r, row, &selector, &text);
	} else {
		selector_print_eq("host", db_text(r, row, G_HOST), &selector);
		selector_print_eq("kernel", db_text(r, row, G_KERNEL), &selector);
		strbuf_printf(&text, "kernel %s on the same host", db_text(r, row, G_KERNEL));
	}
	strbuf_puts(&ui, "/compare?a=");
	url_escape(&ui, request_query(req, "a"));
	strbuf_puts(&ui, "&b=");
	url_escape(&ui, selector.data);
	return json_pack("{s:s, s:s, s:I, s:s}", "b", selector.data, "text", text.data, "runs",
			 (json_int_t)db_i64(r, row, G_RUNS), "ui", ui.data);
}

static void on_suggestions(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	json_t *items;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	items = json_array();
	for (size_t i = 0; i < db_rows(r); i++)
		json_array_append_new(items, suggestion(req, r, i));
	(void)reply_json(req, 200, json_pack("{s:o}", "items", items));
}

static void sql_free(void *ctx)
{
	sql_done(ctx);
	free(ctx);
}

enum step api_compare_suggest(struct request *req)
{
	static const char *const names[] = {"a", NULL};
	struct selector *s CLEANUP(selector_freep) = NULL;
	struct sql *q;

	if (!api_params(req, names))
		return STEP_DONE;
	if (!request_query(req, "a"))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "missing-parameter",
						   .parameter = "a"},
				   "a: a selector is needed");
	q = xcalloc(1, sizeof(*q));
	req->ctx = q;
	req->ctx_free = sql_free;
	sql_init(q, &Q_COMPARE_SUGGEST, NULL, 0);
	if (!run_query_selector(req, "a", request_query(req, "a"), NULL, q, &s))
		return STEP_DONE;
	sql_run(q, req->server->db, &req->pending, on_suggestions, req);
	return STEP_WAIT;
}
