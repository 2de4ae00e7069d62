/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts: GET /hosts, GET and PATCH /hosts/{host}. */
#include "server/api.h"

#include "common/parse.h"
#include "common/suggest.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/selector_sql.h"
#include "server/server.h"

enum {
	H_ID,
	H_NAME,
	H_STATE,
	H_SEEN,
	H_AGE,
	H_VERSION,
	H_KERNEL,
	H_CPU,
	H_CPUS,
	H_ENV,
	H_LOST,
	H_RUNS,
	H_LAST_RUN,
	H_TAGS,
	H_NOTE,
	H_LOCATION,
	H_COUNTS,
	H_KEY,
};

struct list {
	struct request *req;
	struct sql sql;
	struct page page;
	bool one;
	json_t *patch;
	char *tags;
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

static json_t *last_run_json(const struct db_result *r, size_t row)
{
	json_t *o, *ns;

	if (db_is_null(r, row, H_LAST_RUN))
		return json_null();
	o = json_loads(db_text(r, row, H_LAST_RUN), 0, NULL);
	ns = json_object_get(o, "started_ns");
	json_object_set_new(o, "started", js_time(json_integer_value(ns)));
	json_object_del(o, "started_ns");
	return o;
}

static json_t *cpus_json(const struct db_result *r, size_t row)
{
	int64_t n;

	if (db_is_null(r, row, H_CPUS) || parse_i64(db_text(r, row, H_CPUS), &n, NULL))
		return json_null();
	return json_integer(n);
}

static json_t *host_json(const struct db_result *r, size_t row)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(db_text(r, row, H_NAME)));
	json_object_set_new(o, "state", json_string(db_text(r, row, H_STATE)));
	json_object_set_new(o, "last_seen",
			    js_time(db_is_null(r, row, H_SEEN) ? 0 : db_time_ns(r, row, H_SEEN)));
	json_object_set_new(o, "age_ns", js_i64_or_null(r, row, H_AGE));
	json_object_set_new(o, "agent_version", js_text(db_text_or_null(r, row, H_VERSION)));
	json_object_set_new(o, "kernel", js_text(db_text_or_null(r, row, H_KERNEL)));
	json_object_set_new(o, "cpu", js_text(db_text_or_null(r, row, H_CPU)));
	json_object_set_new(o, "cpus", cpus_json(r, row));
	json_object_set_new(o, "environment", js_text(db_text_or_null(r, row, H_ENV)));
	json_object_set_new(o, "lost_1h", json_integer(db_i64(r, row, H_LOST)));
	json_object_set_new(o, "runs", json_integer(db_i64(r, row, H_RUNS)));
	json_object_set_new(o, "last_run", last_run_json(r, row));
	json_object_set_new(o, "tags", json_loads(db_text(r, row, H_TAGS), 0, NULL));
	json_object_set_new(o, "note", js_text_or_null(db_text(r, row, H_NOTE)));
	json_object_set_new(o, "location", js_text_or_null(db_text(r, row, H_LOCATION)));
	return o;
}

static void reply_list(struct list *l, const struct db_result *r)
{
	size_t limit = (size_t)l->page.limit, shown = db_rows(r) > limit ? limit : db_rows(r);
	json_t *items = json_array(), *doc;

	for (size_t i = 0; i < shown; i++)
		json_array_append_new(items, host_json(r, i));
	doc = json_pack("{s:o, s:o}", "items", items, "next",
			page_next(l->req, &l->page, db_rows(r) > limit,
				  shown ? db_text(r, shown - 1, H_KEY) : "",
				  shown ? db_i64(r, shown - 1, H_ID) : 0));
	json_object_set_new(doc, "counts",
			    shown && !db_is_null(r, 0, H_COUNTS)
				    ? json_loads(db_text(r, 0, H_COUNTS), 0, NULL)
				    : json_object());
	(void)reply_json(l->req, 200, doc);
}

static void on_rows(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;

	if (err)
		(void)reply_err(l->req, err);
	else if (!l->one)
		reply_list(l, r);
	else if (db_rows(r))
		(void)reply_json(l->req, 200, host_json(r, 0));
	else
		(void)reply_problem(l->req, 404, "not-found", "Hosts are listed at /api/v1/hosts.",
				    "there is no host '%s'", request_path(l->req, "host"));
}

/* state=online,stale */
static bool state_filter(struct request *req, struct sql *q, struct strbuf *where)
{
	static const char *const states[] = {"online", "stale", "offline", "imported"};
	const char *wanted = request_query(req, "state");
	char *copy CLEANUP(freep) = wanted ? xstrdup(wanted) : NULL, *save = NULL;
	const char *chosen[4];
	size_t n = 0;

	for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p;
	     p = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		while (i < ARRAY_LEN(states) && strcmp(states[i], p))
			i++;
		if (i == ARRAY_LEN(states) || n == ARRAY_LEN(chosen)) {
			(void)reply_fault(
				req,
				&(struct fault){.status = 400,
						.slug = "invalid-parameter",
						.parameter = "state",
						.suggestion = suggest_nearest(p, states,
									      ARRAY_LEN(states))},
				"state: '%.40s' is none of online, stale, offline, imported", p);
			return false;
		}
		chosen[n++] = states[i];
	}
	if (wanted)
		strbuf_printf(where, " and h.state = any ($%u::text[])",
			      sql_param(q, P_TEXTS(chosen, n)));
	return true;
}

/* tag=rack or tag=rack=7 */
static void tag_filter(struct request *req, struct sql *q, struct strbuf *where)
{
	const char *tag = request_query(req, "tag"), *eq = tag ? strchr(tag, '=') : NULL;
	char *name CLEANUP(freep) = NULL;

	if (!tag)
		return;
	name = eq ? xstrndup(tag, (size_t)(eq - tag)) : xstrdup(tag);
	if (eq)
		strbuf_printf(where, " and h.tags ->> $%u::text = $%u::text",
			      sql_param(q, P_TEXT(name)), sql_param(q, P_TEXT(eq + 1)));
	else
		strbuf_printf(where, " and h.tags ? $%u::text", sql_param(q, P_TEXT(name)));
}

static void run_list(struct list *l, const char *where)
{
	sql_replace(&l->sql, "true /*where*/", where);
	page_sql(&l->page, &l->sql, "h.host_id");
	sql_run(&l->sql, l->req->server->db, &l->req->pending, on_rows, l);
}

static struct list *list_new(struct request *req)
{
	struct list *l = xcalloc(1, sizeof(*l));

	l->req = req;
	req->ctx = l;
	req->ctx_free = list_free;
	return l;
}

static const struct page_sort sorts[] = {
	{"-seen", "coalesce((extract(epoch from h.last_seen) * 1e6)::bigint, 0)", true, false},
	{0}};

enum step api_hosts(struct request *req)
{
	static const char *const names[] = {"state", "tag", "host", "limit", "cursor", NULL};
	const char *host = request_query(req, "host");
	struct strbuf where CLEANUP(strbuf_done) = {0};
	struct list *l;

	if (!api_params(req, names))
		return STEP_DONE;
	l = list_new(req);
	if (!page_read(req, sorts, &l->page))
		return STEP_DONE;
	sql_init(&l->sql, &Q_HOSTS_LIST, (struct db_param[]){P_NULL(DB_TEXT)}, 1);
	strbuf_puts(&where, "true");
	if (!state_filter(req, &l->sql, &where))
		return STEP_DONE;
	tag_filter(req, &l->sql, &where);
	if (host)
		sql_glob(&l->sql, "h.name", host, &where);
	run_list(l, where.data);
	return STEP_WAIT;
}

static void show(struct list *l)
{
	l->one = true;
	sql_init(&l->sql, &Q_HOSTS_LIST, (struct db_param[]){P_TEXT(request_path(l->req, "host"))},
		 1);
	l->page.limit = 1;
	l->page.sort = &sorts[0];
	run_list(l, "true");
}

enum step api_host(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	show(list_new(req));
	return STEP_WAIT;
}

static void on_patched(void *ctx, const struct db_result *r, const struct err *err)
{
	struct list *l = ctx;

	if (err)
		(void)reply_err(l->req, err);
	else if (!db_rows(r))
		(void)reply_problem(l->req, 404, "not-found", NULL, "there is no host '%s'",
				    request_path(l->req, "host"));
	else
		show(l);
}

enum step api_host_edit(struct request *req)
{
	static const char *const none[] = {NULL}, *const members[] = {"tags", "note", NULL};
	struct list *l = list_new(req);
	const char *note;
	json_t *tags;

	if (!api_params(req, none) || !api_body(req, members, &l->patch) ||
	    !api_text(req, l->patch, "note", 4000, &note))
		return STEP_DONE;
	tags = json_object_get(l->patch, "tags");
	if (tags && !api_labels(req, "tags", tags))
		return STEP_DONE;
	l->tags = tags ? json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	db_query(req->server->db, DB_QUERY, &Q_HOST_PATCH,
		 (struct db_param[]){P_TEXT(request_path(req, "host")), P_JSON(l->tags),
				     P_TEXT(note),
				     P_BOOL(json_object_get(l->patch, "note") != NULL)},
		 4, DB_DEADLINE_MS, &req->pending, on_patched, l);
	return STEP_WAIT;
}
