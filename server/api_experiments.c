/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Experiments: GET /experiments and /experiments/{experiment}. */
#include "server/api.h"

#include "common/parse.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/selector_sql.h"
#include "server/server.h"

enum {
	E_ID,
	E_NAME,
	E_UID,
	E_DESIGN,
	E_NOTE,
	E_DEMO,
	E_UNIQUE,
	E_HOSTS,
	E_TOTAL,
	E_OK,
	E_RUNNING,
	E_FAILED,
	E_EXCLUDED,
	E_STARTED,
	E_ENDED,
	E_METRICS,
	E_CELLS,
	E_TAGS,
	E_STATE,
	E_KEY,
};

#define SIDES_MAX 6

struct list {
	struct request *req;
	struct sql sql;
	struct page page;
	bool one;
	json_t *patch;
	char *tags;
	int64_t id; /* that was changed */
};

static void list_free(void *ctx)
{
	struct list *l = ctx;

	sql_done(&l->sql);
	page_done(&l->page);
	json_decref(l->patch);
	free(l->tags);
	free(l);
}

/* Adds the level to the factor's list when it is new. */
static void add_level(json_t *factors, const char *name, const char *level)
{
	json_t *f = NULL, *levels, *v;
	size_t i;

	json_array_foreach(factors, i, v) if (!strcmp(json_string_value(json_object_get(v, "name")),
						      name)) f = v;
	if (!f) {
		f = json_pack("{s:s, s:[]}", "name", name, "levels");
		json_array_append_new(factors, f);
	}
	levels = json_object_get(f, "levels");
	json_array_foreach(levels, i, v) if (!strcmp(json_string_value(v), level)) return;
	json_array_append_new(levels, json_string(level));
}

/* The design's factors, or what the runs have. */
static json_t *factors_json(const json_t *design, const json_t *cells)
{
	json_t *factors = json_object_get(design, "factors"), *cell, *v;
	const char *name;
	size_t i;

	if (json_array_size(factors))
		return json_incref(factors);
	factors = json_array();
	json_array_foreach((json_t *)cells, i, cell) json_object_foreach(
		json_object_get(cell, "factors"), name, v) if (json_is_string(v))
		add_level(factors, name, json_string_value(v));
	return factors;
}

/* Adds the selector of each cell: the experiment by its name when that is enough. */
static void select_cells(json_t *cells, const char *name, bool unique, int64_t id)
{
	char number[32];
	json_t *cell, *v;
	const char *factor;
	size_t i;

	(void)snprintf(number, sizeof(number), "e_%lld", (long long)id);
	json_array_foreach(cells, i, cell)
	{
		struct strbuf s CLEANUP(strbuf_done) = {0};

		selector_print_eq("experiment", unique ? name : number, &s);
		json_object_foreach(json_object_get(cell, "factors"), factor,
				    v) if (json_is_string(v))
			selector_print_eq(factor, json_string_value(v), &s);
		json_object_set_new(cell, "selector", json_string(s.data));
	}
}

/* The page that compares the first cell with the others. */
static json_t *compare_link(const json_t *cells)
{
	struct strbuf url CLEANUP(strbuf_done) = {0};
	size_t i;
	json_t *cell;

	if (json_array_size(cells) < 2)
		return json_null();
	strbuf_puts(&url, "/compare");
	json_array_foreach((json_t *)cells, i, cell)
	{
		if (i == SIDES_MAX)
			break;
		strbuf_puts(&url, i ? "&b=" : "?a=");
		url_escape(&url, json_string_value(json_object_get(cell, "selector")));
	}
	return json_string(url.data);
}

static json_t *get_or_null(const json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return v ? json_incref(v) : json_null();
}

static json_t *experiment_json(const struct db_result *r, size_t row)
{
	json_t *design = db_json(r, row, E_DESIGN), *cells = db_json(r, row, E_CELLS),
	       *o = json_object();

	json_object_set_new(o, "id", js_id('e', db_i64(r, row, E_ID)));
	json_object_set_new(o, "name", json_string(db_text(r, row, E_NAME)));
	json_object_set_new(o, "uid", js_text(db_text_or_null(r, row, E_UID)));
	json_object_set_new(o, "hosts", db_json(r, row, E_HOSTS));
	json_object_set_new(o, "factors", factors_json(design, cells));
	json_object_set_new(o, "order", get_or_null(design, "order"));
	json_object_set_new(o, "runs_per_cell", get_or_null(design, "runs_per_cell"));
	json_object_set_new(o, "total_runs", get_or_null(design, "total_runs"));
	json_object_set_new(o, "runs",
			    json_pack("{s:I, s:I, s:I, s:I, s:I}", "total",
				      (json_int_t)db_i64(r, row, E_TOTAL), "ok",
				      (json_int_t)db_i64(r, row, E_OK), "running",
				      (json_int_t)db_i64(r, row, E_RUNNING), "failed",
				      (json_int_t)db_i64(r, row, E_FAILED), "excluded",
				      (json_int_t)db_i64(r, row, E_EXCLUDED)));
	json_object_set_new(o, "metrics", db_json(r, row, E_METRICS));
	json_object_set_new(o, "started", js_time(db_i64(r, row, E_STARTED)));
	json_object_set_new(o, "ended", js_time(db_i64(r, row, E_ENDED)));
	json_object_set_new(o, "demo", json_boolean(db_bool(r, row, E_DEMO)));
	json_object_set_new(o, "tags", db_json(r, row, E_TAGS));
	json_object_set_new(o, "state", js_text(db_text_or_null(r, row, E_STATE)));
	json_object_set_new(o, "note", js_text_or_null(db_text(r, row, E_NOTE)));
	select_cells(cells, db_text(r, row, E_NAME), db_bool(r, row, E_UNIQUE),
		     db_i64(r, row, E_ID));
	json_object_set_new(o, "compare", compare_link(cells));
	json_object_set_new(o, "cells", cells);
	json_decref(design);
	return o;
}

static void on_rows(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	if (l->one) {
		if (db_rows(r))
			(void)reply_json(l->req, 200, experiment_json(r, 0));
		else
			(void)reply_problem(l->req, 404, "not-found",
					    "Experiments are listed at /api/v1/experiments.",
					    "there is no experiment '%s'",
					    request_path(l->req, "experiment"));
		return;
	}
	(void)reply_json(l->req, 200, page_json(l->req, &l->page, r, experiment_json, E_KEY, E_ID));
}

static const struct page_sort sorts[] = {{"-id", "e.experiment_id", true, false}, {0}};

static struct list *list_new(struct request *req)
{
	struct list *l = xcalloc(1, sizeof(*l));

	l->req = req;
	req->ctx = l;
	req->ctx_free = list_free;
	sql_init(&l->sql, &Q_EXPERIMENTS_LIST, NULL, 0);
	return l;
}

static enum step run_list(struct list *l, const char *where)
{
	sql_replace(&l->sql, "true /*where*/", where);
	page_sql(&l->page, &l->sql, "e.experiment_id");
	sql_run(&l->sql, l->req->server->db, &l->req->pending, on_rows, l);
	return STEP_WAIT;
}

enum step api_experiments(struct request *req)
{
	static const char *const names[] = {"host", "name", "demo", "limit", "cursor", NULL};
	const char *host = request_query(req, "host"), *name = request_query(req, "name");
	struct strbuf where CLEANUP(strbuf_done) = {0};
	struct list *l;
	bool demo;

	if (!api_params(req, names) || !api_flag(req, "demo", &demo))
		return STEP_DONE;
	l = list_new(req);
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	strbuf_puts(&where, "true");
	if (host)
		strbuf_printf(
			&where,
			" and exists (select from rigstat.run r join rigstat.host h on h.host_id = "
			"r.host_id where r.experiment_id = e.experiment_id and r.deleted_at is "
			"null "
			"and h.name = $%u::text)",
			sql_param(&l->sql, P_TEXT(host)));
	if (name)
		sql_glob(&l->sql, "e.name", name, &where);
	if (request_query(req, "demo"))
		strbuf_printf(&where, " and e.demo = $%u::boolean",
			      sql_param(&l->sql, P_BOOL(demo)));
	return run_list(l, where.data);
}

void experiment_params(const struct request *req, struct db_param ret[2])
{
	const char *text = request_path(req, "experiment");
	int64_t id;

	if (text[0] == 'e' && text[1] == '_' && !parse_i64(text + 2, &id, NULL)) {
		ret[0] = P_I64(id);
		ret[1] = P_NULL(DB_TEXT);
	} else {
		ret[0] = P_NULL(DB_I64);
		ret[1] = P_TEXT(text);
	}
}

static enum step show(struct list *l, const struct db_param which[2])
{
	char *where CLEANUP(freep) = NULL;

	l->one = true;
	l->page.limit = 1;
	l->page.sort = &sorts[0];
	where = xasprintf("e.experiment_id = rigstat.experiment_of($%u::bigint, $%u::text)",
			  sql_param(&l->sql, which[0]), sql_param(&l->sql, which[1]));
	return run_list(l, where);
}

/* e_1, or a name: then the newest of that name. */
enum step api_experiment(struct request *req)
{
	static const char *const none[] = {NULL};
	struct db_param which[2];

	if (!api_params(req, none))
		return STEP_DONE;
	experiment_params(req, which);
	return show(list_new(req), which);
}

/* ---- changing one ---- */

static const struct {
	const char *state;
	const struct query *query;
	const char *otherwise;
} controls[] = {
	{"paused", &Q_ASSIGNMENT_PAUSE, "There is nothing of it left to pause."},
	{"running", &Q_ASSIGNMENT_RESUME, "It is not paused."},
	{"cancelled", &Q_ASSIGNMENT_CANCEL, "There is nothing of it left to cancel."},
};

static void on_controlled(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;
	const char *state = json_string_value(json_object_get(l->patch, "state"));
	struct db_param which[2];

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	for (size_t i = 0; !db_rows(r) && i < ARRAY_LEN(controls); i++)
		if (!strcmp(controls[i].state, state)) {
			(void)reply_problem(l->req, 409, "nothing-to-do", NULL, "%s",
					    controls[i].otherwise);
			return;
		}
	/* by its id: the name may be another one now */
	which[0] = P_I64(l->id);
	which[1] = P_NULL(DB_TEXT);
	(void)show(l, which);
}

static void on_patched(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;
	const char *state = json_string_value(json_object_get(l->patch, "state"));

	if (err) {
		(void)reply_err(l->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(
			l->req, 404, "not-found", "Experiments are listed at /api/v1/experiments.",
			"there is no experiment '%s'", request_path(l->req, "experiment"));
		return;
	}
	l->id = db_i64(r, 0, 0);
	if (!state) {
		(void)show(l, (struct db_param[2]){P_I64(l->id), P_NULL(DB_TEXT)});
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(controls); i++)
		if (!strcmp(controls[i].state, state))
			db_query(l->req->server->db, DB_QUERY, controls[i].query,
				 (struct db_param[]){P_I64(l->id), P_NULL(DB_TEXT)}, 2,
				 DB_DEADLINE_MS, &l->req->pending, on_controlled, l);
}

static bool refuse(struct request *req, const char *member, const char *text)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = member},
		"%s: %s", member, text);
	return false;
}

static bool check_patch(struct list *l, const char **ret_name, const char **ret_note)
{
	const char *state;
	bool known = false;

	if (!api_text(l->req, l->patch, "state", 20, &state) ||
	    !api_text(l->req, l->patch, "name", 100, ret_name) ||
	    !api_text(l->req, l->patch, "note", 4000, ret_note))
		return false;
	for (size_t i = 0; state && i < ARRAY_LEN(controls); i++)
		known |= !strcmp(controls[i].state, state);
	if (state && !known)
		return refuse(l->req, "state", "paused, running or cancelled");
	if (*ret_name && (!**ret_name || strpbrk(*ret_name, "/\n\t")))
		return refuse(l->req, "name",
			      "1 to 100 bytes without a slash or control character");
	return true;
}

enum step api_experiment_edit(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"state", "name", "note", "tags", NULL};
	struct list *l = list_new(req);
	const char *name, *note;
	struct db_param which[2];
	const json_t *tags;

	if (!api_params(req, none) || !api_body(req, members, &l->patch) ||
	    !check_patch(l, &name, &note))
		return STEP_DONE;
	tags = json_object_get(l->patch, "tags");
	if (tags && !api_labels(req, "tags", tags))
		return STEP_DONE;
	l->tags = tags ? json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	experiment_params(req, which);
	db_query(req->server->db, DB_QUERY, &Q_EXPERIMENT_PATCH,
		 (struct db_param[]){which[0], which[1], P_TEXT(name), P_TEXT(note),
				     P_BOOL(json_object_get(l->patch, "note") != NULL),
				     P_JSON(l->tags)},
		 6, DB_DEADLINE_MS, &req->pending, on_patched, l);
	return STEP_WAIT;
}
