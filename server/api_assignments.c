/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Experiments that are made here and carried out by agents: POST /experiments asks boxes, GET
 * /assignments/next is the agent's long poll, POST /assignments/{assignment} its reports.
 *
 * A waiting agent is a request that has not been answered: it asks the database when it comes, at
 * each notification of any server, and is answered with null when its time is over. */
#include "server/api.h"

#include "common/check.h"
#include "common/clock.h"
#include "common/model/run.h"
#include "server/api_common.h"
#include "server/assign_plan.h"
#include "server/assignments.h"
#include "server/auth.h"
#include "server/queries.h"
#include "server/server.h"

#define WAIT_MAX_S 30

enum { C_PROBLEM, C_HOST, C_HOLDER, C_REASON, C_EXPERIMENT, C_ASSIGNMENT };
enum { N_ASSIGNMENT, N_NAME, N_UID, N_DESIGN, N_PLAN, N_KNOWN };
enum { D_ID, D_NAME, D_DESIGN, D_PLAN };
enum { R_STATE, R_CANCEL, R_PAUSE };
enum {
	L_ASSIGNMENT,
	L_HOST,
	L_STATE,
	L_TEXT,
	L_CANCEL,
	L_CREATED,
	L_TAKEN,
	L_SEEN,
	L_ENDED,
	L_PLAN,
	L_PAUSE,
	L_BY,
	L_PROGRESS,
	L_WAITS
};

/* ---- making ---- */

struct making {
	struct request *req;
	json_t *body;
	struct assign_plan plan;
	char uid[33];
};

static void making_free(void *ctx)
{
	struct making *m = ctx;

	assign_plan_done(&m->plan);
	json_decref(m->body);
	free(m);
}

static void refuse_host(struct request *req, const struct db_result *r)
{
	const char *problem = db_text(r, 0, C_PROBLEM), *host = db_text(r, 0, C_HOST);
	const char *reason = db_text(r, 0, C_REASON);

	if (strcmp(problem, "reserved") == 0)
		(void)reply_fault(
			req,
			&(struct fault){.status = 409,
					.slug = "host-reserved",
					.parameter = "hosts",
					.hint = "rigstat host release NAME --force takes it from "
						"them."},
			"hosts: '%s' is reserved by %s%s%s", host, db_text(r, 0, C_HOLDER),
			*reason ? ": " : "", reason);
	else if (strcmp(problem, "retired") == 0)
		(void)reply_fault(req,
				  &(struct fault){.status = 409,
						  .slug = "host-retired",
						  .parameter = "hosts",
						  .hint = "rigstat host unretire NAME takes it "
							  "back."},
				  "hosts: '%s' is retired", host);
	else
		(void)reply_fault(
			req,
			&(struct fault){.status = 422,
					.slug = "unknown-host",
					.parameter = "hosts",
					.hint = "GET /api/v1/hosts lists the boxes that have "
						"reported"},
			"hosts: '%s' has never reported", host);
}

static void on_made(void *ctx, const struct db_result *r, const struct err *err)
{
	struct making *m = ctx;
	char *location CLEANUP(freep) = NULL;
	json_t *list;

	if (err) {
		(void)reply_err(m->req, err);
		return;
	}
	if (*db_text(r, 0, C_PROBLEM)) {
		refuse_host(m->req, r);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < db_rows(r); i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:s, s:s}", "id",
						js_id('a', db_i64(r, i, C_ASSIGNMENT)), "host",
						db_text(r, i, C_HOST), "state", "queued"));
	location = xasprintf("/api/v1/experiments/e_%lld", (long long)db_i64(r, 0, C_EXPERIMENT));
	reply_header(m->req, "Location", location);
	(void)reply_json(m->req, 201,
			 json_pack("{s:o, s:s, s:s, s:o}", "id",
				   js_id('e', db_i64(r, 0, C_EXPERIMENT)), "name", m->plan.name,
				   "uid", m->uid, "assignments", list));
}

enum step api_experiment_make(struct request *req)
{
	static const char *const none[] = {NULL};
	struct making *m = xcalloc(1, sizeof(*m));
	const char *member;
	unsigned char uid[16];
	struct err err;

	m->req = req;
	req->ctx = m;
	req->ctx_free = making_free;
	if (!api_params(req, none) || !api_body(req, assign_plan_members, &m->body))
		return STEP_DONE;
	if (assign_plan_read(m->body, &m->plan, &member, &err))
		return reply_fault(
			req,
			&(struct fault){.status = 400, .slug = "invalid-body", .parameter = member},
			"%s: %s", member, err.text);
	run_mint_uid(m->uid);
	CHECK(uid_bytes(m->uid, uid));
	db_query(req->server->db, DB_QUERY, &Q_ASSIGNMENT_CREATE,
		 (struct db_param[]){
			 P_UUID(uid), P_TEXT(m->plan.name), P_TEXTS(m->plan.hosts, m->plan.n_hosts),
			 P_JSON(m->plan.design), P_JSON(m->plan.plan), P_TEXT(m->plan.by)},
		 6, DB_DEADLINE_MS, &req->pending, on_made, m);
	return STEP_WAIT;
}

/* ---- the agent's long poll ---- */

struct waiter {
	struct request *req;
	struct waiter *next, **link; /* link NULL: it was answered and waits no more */
	int64_t until_ns;	     /* monotonic */
	int64_t resume;		     /* what the agent knows that it was at, 0 */
	bool asking, again; /* a query is on its way; ask once more when it comes back empty */
	bool over;	    /* the time is over: the next empty answer is null */
};

static struct waiter *waiters; /* loop thread only */
static bool stopping;

/* Before its answer: the request lives on until that is sent. */
static struct request *waiter_end(struct waiter *w)
{
	if (w->link) {
		*w->link = w->next;
		if (w->next)
			w->next->link = w->link;
		w->link = NULL;
	}
	return w->req;
}

static void waiter_free(void *ctx)
{
	(void)waiter_end(ctx);
	free(ctx);
}

static json_t *next_json(const struct db_result *r)
{
	char hex[33];
	size_t n = 0;

	for (const char *s = db_text(r, 0, N_UID); *s && n < 32; s++)
		if (*s != '-')
			hex[n++] = *s;
	hex[n] = '\0';
	return json_pack("{s:{s:o, s:s, s:s, s:o, s:o, s:s}}", "assignment", "id",
			 js_id('a', db_i64(r, 0, N_ASSIGNMENT)), "experiment",
			 db_text(r, 0, N_NAME), "uid", hex, "design", db_json(r, 0, N_DESIGN),
			 "plan", db_json(r, 0, N_PLAN), "known", db_text(r, 0, N_KNOWN));
}

static void ask(struct waiter *w);

/* Nothing to do or to answer: until the next notification, or the end of the time. */
static void stay(struct waiter *w)
{
	w->asking = false;
	if (w->over)
		(void)reply_json(waiter_end(w), 200, json_pack("{s:n}", "assignment"));
	else if (w->again)
		ask(w);
}

static void on_dry_run(void *ctx, const struct db_result *r, const struct err *err)
{
	struct waiter *w = ctx;

	if (err)
		(void)reply_err(waiter_end(w), err);
	else if (!db_rows(r))
		stay(w);
	else
		(void)reply_json(waiter_end(w), 200,
				 json_pack("{s:n, s:{s:o, s:s, s:o, s:o}}", "assignment", "dry_run",
					   "id", js_id('d', db_i64(r, 0, D_ID)), "experiment",
					   db_text(r, 0, D_NAME), "design", db_json(r, 0, D_DESIGN),
					   "plan", db_json(r, 0, D_PLAN)));
}

static void on_next(void *ctx, const struct db_result *r, const struct err *err)
{
	struct waiter *w = ctx;

	/* a conflict: another agent of the host was faster, so there is nothing for this one */
	if (err && err->code != ERR_CONFLICT)
		(void)reply_err(waiter_end(w), err);
	else if (!err && db_rows(r))
		(void)reply_json(waiter_end(w), 200, next_json(r));
	else
		db_query(w->req->server->db, DB_QUERY, &Q_DRY_RUN_NEXT,
			 (struct db_param[]){P_TEXT(request_query(w->req, "host")),
					     P_TEXT(w->req->token_host)},
			 2, DB_DEADLINE_MS, &w->req->pending, on_dry_run, w);
}

static void on_still_allowed(struct request *req)
{
	struct waiter *w = req->ctx;

	db_query(req->server->db, DB_QUERY, &Q_ASSIGNMENT_NEXT,
		 (struct db_param[]){P_TEXT(request_query(req, "host")), P_TEXT(req->token_host),
				     P_I64(w->resume)},
		 3, DB_DEADLINE_MS, &req->pending, on_next, w);
}

/* The token may have been revoked while the agent waited: then it is answered with 401, and stays
 * `asking` until it is gone. */
static void ask(struct waiter *w)
{
	w->again = w->asking;
	if (w->asking)
		return;
	w->asking = true;
	auth_again(w->req, on_still_allowed);
}

void assignments_wake(void)
{
	for (struct waiter *w = waiters; w; w = w->next)
		ask(w);
}

void assignments_tick(void)
{
	int64_t now = clock_monotonic_ns();

	for (struct waiter *w = waiters; w; w = w->next) {
		if (w->over || (now < w->until_ns && !stopping))
			continue;
		w->over = true;
		ask(w);
	}
}

void assignments_stop(void)
{
	stopping = true;
	assignments_tick();
}

enum step api_assignment_next(struct request *req)
{
	static const char *const names[] = {"host", "wait", "resume", NULL};
	const char *resume = request_query(req, "resume");
	struct waiter *w;
	struct err err;
	int64_t wait, known = 0;

	if (!api_params(req, names))
		return STEP_DONE;
	if (!request_query(req, "host"))
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-parameter",
						   .parameter = "host"},
				   "host: name the box");
	if (*req->token_host && strcmp(req->token_host, request_query(req, "host")) != 0)
		return reply_problem(req, 403, "auth-scope", NULL,
				     "This token is for another host, '%s'.", req->token_host);
	if (request_query_i64(req, "wait", 0, 0, WAIT_MAX_S, &wait, &err) ||
	    (resume && request_id(resume, 'a', &known, &err)))
		return reply_err(req, &err);
	w = xcalloc(1, sizeof(*w));
	w->req = req;
	w->resume = known;
	w->over = !wait || stopping;
	w->until_ns = clock_monotonic_ns() + wait * NS_PER_SEC;
	w->next = waiters;
	w->link = &waiters;
	if (waiters)
		waiters->link = &w->next;
	waiters = w;
	req->ctx = w;
	req->ctx_free = waiter_free;
	ask(w);
	return STEP_WAIT;
}

/* ---- reports ---- */

static void on_reported(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(r))
		(void)reply_problem(req, 409, "not-running", NULL,
				    "This assignment is not being carried out (any more).");
	else
		(void)reply_json(req, 200,
				 json_pack("{s:s, s:b, s:b}", "state", db_text(r, 0, R_STATE),
					   "cancel", db_bool(r, 0, R_CANCEL), "pause",
					   db_bool(r, 0, R_PAUSE)));
}

static void body_free(void *ctx)
{
	json_decref(ctx);
}

static bool read_progress(struct request *req, const json_t *body, char **ret)
{
	static const struct api_member members[] = {
		{"total", 0},	    {"ok", 0},		{"failed", 0},	    {"order", 0},
		{"began_ns", 0},    {"cell", 300},	{"left_ns", 0},	    {"last_order", 0},
		{"last_state", 20}, {"last_cell", 300}, {"last_p50_ns", 0}, {"last_p99_ns", 0},
		{"last_max_ns", 0},
	};
	const json_t *v = json_object_get(body, "progress");

	if (!v || json_is_null(v))
		return true;
	if (!api_flat(req, "progress", v, members, ARRAY_LEN(members)))
		return false;
	*ret = json_dumps(v, JSON_COMPACT);
	return true;
}

enum step api_assignment_report(struct request *req)
{
	static const char *const none[] = {NULL}, *const members[] = {"state", "text", "progress",
								      NULL};
	static const char *const states[] = {"running", "done",	     "failed",
					     "refused", "cancelled", "paused"};
	char *progress CLEANUP(freep) = NULL;
	const char *state, *text;
	bool known = false;
	json_t *body;
	int64_t id;

	if (!api_params(req, none) || !api_id(req, "assignment", 'a', &id) ||
	    !api_body(req, members, &body))
		return STEP_DONE;
	req->ctx = body;
	req->ctx_free = body_free;
	if (!api_text(req, body, "state", 20, &state) || !api_text(req, body, "text", 2000, &text))
		return STEP_DONE;
	for (size_t i = 0; state && i < ARRAY_LEN(states); i++)
		known |= !strcmp(states[i], state);
	if (!known)
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-body",
						   .parameter = "state"},
				   "state: running, done, failed, refused, cancelled or paused");
	if (!read_progress(req, body, &progress))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_ASSIGNMENT_REPORT,
		 (struct db_param[]){P_I64(id), P_TEXT(state), P_TEXT(text ? text : ""),
				     P_TEXT(req->token_host), P_JSON(progress)},
		 5, DB_DEADLINE_MS, &req->pending, on_reported, req);
	return STEP_WAIT;
}

/* ---- lists and taking back ---- */

/* The times in it as everywhere else. */
static json_t *progress_json(const struct db_result *r, size_t i)
{
	json_t *o, *ns;

	if (db_is_null(r, i, L_PROGRESS))
		return json_null();
	o = json_loads(db_text(r, i, L_PROGRESS), 0, NULL);
	CHECK(o);
	ns = json_object_get(o, "began_ns");
	if (json_is_integer(ns))
		json_object_set_new(o, "began", js_time(json_integer_value(ns)));
	json_object_del(o, "began_ns");
	return o;
}

static json_t *listed_json(const struct db_result *r, size_t i)
{
	json_t *plan = json_loads(db_text(r, i, L_PLAN), 0, NULL), *o;

	CHECK(plan);
	o = json_pack("{s:o, s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "id",
		      js_id('a', db_i64(r, i, L_ASSIGNMENT)), "host", db_text(r, i, L_HOST),
		      "state", db_text(r, i, L_STATE), "text", db_text(r, i, L_TEXT), "cancel",
		      db_bool(r, i, L_CANCEL), "pause", db_bool(r, i, L_PAUSE), "created",
		      js_time(db_time_ns(r, i, L_CREATED)), "taken",
		      js_time(db_time_ns(r, i, L_TAKEN)), "seen", js_time(db_time_ns(r, i, L_SEEN)),
		      "ended", js_time(db_time_ns(r, i, L_ENDED)), "plan", plan);
	json_object_set_new(o, "by", js_text_or_null(db_text(r, i, L_BY)));
	json_object_set_new(o, "progress", progress_json(r, i));
	json_object_set_new(o, "waits_for", js_text(db_text_or_null(r, i, L_WAITS)));
	return o;
}

static void on_listed(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o, s:n}", "items",
					   js_rows(r, db_rows(r), listed_json), "next"));
}

enum step api_assignments(struct request *req)
{
	static const char *const none[] = {NULL};
	struct db_param which[2];

	if (!api_params(req, none))
		return STEP_DONE;
	experiment_params(req, which);
	db_query(req->server->db, DB_QUERY, &Q_ASSIGNMENTS_LIST, which, 2, DB_DEADLINE_MS,
		 &req->pending, on_listed, req);
	return STEP_WAIT;
}

static void on_cancelled(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200, json_pack("{s:I}", "cancelled", (json_int_t)db_rows(r)));
}

enum step api_assignments_cancel(struct request *req)
{
	static const char *const none[] = {NULL};
	struct db_param which[2];

	if (!api_params(req, none))
		return STEP_DONE;
	experiment_params(req, which);
	db_query(req->server->db, DB_QUERY, &Q_ASSIGNMENT_CANCEL, which, 2, DB_DEADLINE_MS,
		 &req->pending, on_cancelled, req);
	return STEP_WAIT;
}
