/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts: GET /hosts, GET and PATCH /hosts/{host}. */
#include "server/api.h"

#include "common/suggest.h"
#include "server/api_common.h"
#include "server/host_row.h"
#include "server/host_settings.h"
#include "server/queries.h"
#include "server/selector_sql.h"
#include "server/server.h"

struct list {
	struct request *req;
	struct sql sql;
	struct page page;
	bool one;
	json_t *patch;
	char *tags, *settings;
	const char *name; /* that it has now; borrowed from the patch; NULL: as in the path */
};

static void list_free(void *ctx)
{
	struct list *l = ctx;

	sql_done(&l->sql);
	page_done(&l->page);
	json_decref(l->patch);
	free(l->tags);
	free(l->settings);
	free(l);
}

static void reply_list(struct list *l, const struct db_result *r)
{
	json_t *doc = page_json(l->req, &l->page, r, host_row_json, H_KEY, H_ID);

	/* ages of the states, so that no reader has to know them */
	json_object_set_new(doc, "stale_after_ns", json_integer(30 * NS_PER_SEC));
	json_object_set_new(doc, "offline_after_ns", json_integer(600 * NS_PER_SEC));
	json_object_set_new(doc, "counts",
			    db_rows(r) && !db_is_null(r, 0, H_COUNTS)
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
		(void)reply_json(l->req, 200, host_row_json(r, 0));
	else
		(void)reply_problem(l->req, 404, "not-found", "Hosts are listed at /api/v1/hosts.",
				    "there is no host '%s'", request_path(l->req, "host"));
}

/* state=online,stale */
static bool state_filter(struct request *req, struct sql *q, struct strbuf *where)
{
	static const char *const states[] = {"online", "stale", "offline", "imported", "retired"};
	const char *wanted = request_query(req, "state");
	char *copy CLEANUP(freep) = wanted ? xstrdup(wanted) : NULL, *save = NULL;
	const char *chosen[ARRAY_LEN(states)];
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
				"state: '%.40s' is none of online, stale, offline, imported, "
				"retired",
				p);
			return false;
		}
		chosen[n++] = states[i];
	}
	if (wanted)
		strbuf_printf(where, " and h.state = any ($%u::text[])",
			      sql_param(q, P_TEXTS(chosen, n)));
	else
		strbuf_puts(where, " and h.state <> 'retired'");
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
	const char *name = l->name ? l->name : request_path(l->req, "host");

	l->one = true;
	sql_init(&l->sql, &Q_HOSTS_LIST, (struct db_param[]){P_TEXT(name)}, 1);
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

	if (err && err->code == ERR_CONFLICT && l->name)
		(void)reply_problem(l->req, 409, "name-taken", NULL,
				    "There is a host '%s' already.", l->name);
	else if (err)
		(void)reply_err(l->req, err);
	else if (!db_rows(r))
		(void)reply_problem(l->req, 404, "not-found", NULL, "there is no host '%s'",
				    request_path(l->req, "host"));
	else if (!db_bool(r, 0, 0))
		(void)reply_problem(l->req, 409, "agent-online",
				    "Stop the agent and wait 10 minutes, rename, write host = "
				    "NEW into its /etc/rigstat/agent.conf, and start it.",
				    "The agent of '%s' goes by this name: it would make a new "
				    "host of it.",
				    request_path(l->req, "host"));
	else
		show(l);
}

enum step api_host_edit(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"tags", "note", "retired", "name", "settings", NULL};
	struct list *l = list_new(req);
	struct db_param retired = P_NULL(DB_BOOL);
	json_t *tags, *flag, *settings;
	const char *note;
	struct err bad;

	if (!api_params(req, none) || !api_body(req, members, &l->patch) ||
	    !api_text(req, l->patch, "note", 4000, &note) ||
	    !api_text(req, l->patch, "name", 128, &l->name))
		return STEP_DONE;
	if (l->name && (!*l->name || strpbrk(l->name, " /\n\t")))
		return reply_fault(
			req,
			&(struct fault){.status = 400, .slug = "invalid-body", .parameter = "name"},
			"name: 1 to 128 bytes without a blank or slash");
	tags = json_object_get(l->patch, "tags");
	if (tags && !api_labels(req, "tags", tags))
		return STEP_DONE;
	settings = json_object_get(l->patch, "settings");
	if (settings && host_settings_check(settings, &bad))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-body",
						   .parameter = "settings"},
				   "settings: %s", bad.text);
	l->settings = settings ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	flag = json_object_get(l->patch, "retired");
	if (flag && !json_is_boolean(flag))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-body",
						   .parameter = "retired"},
				   "retired: true or false");
	if (flag)
		retired = P_BOOL(json_is_true(flag));
	l->tags = tags ? json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	db_query(req->server->db, DB_QUERY, &Q_HOST_PATCH,
		 (struct db_param[]){P_TEXT(request_path(req, "host")), P_JSON(l->tags),
				     P_TEXT(note),
				     P_BOOL(json_object_get(l->patch, "note") != NULL), retired,
				     P_TEXT(l->name), P_JSON(l->settings)},
		 7, DB_DEADLINE_MS, &req->pending, on_patched, l);
	return STEP_WAIT;
}
