/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would an experiment change, and what of it is refused? POST /dry-runs asks the boxes through
 * the long poll of their agents (api_assignments.c), GET /dry-runs/{dry_run} has their answers. */
#include "server/api.h"

#include "common/parse.h"
#include "server/api_common.h"
#include "server/assign_plan.h"
#include "server/queries.h"
#include "server/server.h"

#define ANSWER_FACTORS_MAX 16
#define ANSWER_TEXT_MAX	   500

enum { G_NAME, G_DESIGN, G_PLAN, G_HOST, G_STATE, G_OK, G_TEXT, G_ANSWER };

struct asking {
	struct request *req;
	json_t *body;
	struct assign_plan plan;
	int64_t id;
};

static void asking_free(void *ctx)
{
	struct asking *a = ctx;

	assign_plan_done(&a->plan);
	json_decref(a->body);
	free(a);
}

static struct asking *asking_new(struct request *req)
{
	struct asking *a = xcalloc(1, sizeof(*a));

	a->req = req;
	req->ctx = a;
	req->ctx_free = asking_free;
	return a;
}

/* ---- reading ---- */

static json_t *host_json(const struct db_result *r, size_t row)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "host", db_text(r, row, G_HOST), "state",
			 db_text(r, row, G_STATE), "ok",
			 db_is_null(r, row, G_OK) ? json_null()
						  : json_boolean(db_bool(r, row, G_OK)),
			 "text", js_text_or_null(db_text(r, row, G_TEXT)), "answer",
			 db_is_null(r, row, G_ANSWER) ? json_null() : db_json(r, row, G_ANSWER));
}

/* The runs alone; what is around each of them comes on top. */
static int64_t least_ns(const json_t *design, const json_t *plan)
{
	return (json_integer_value(json_object_get(plan, "warmup_ns")) +
		json_integer_value(json_object_get(plan, "duration_ns"))) *
	       json_integer_value(json_object_get(design, "total_runs"));
}

static void on_got(void *ctx, const struct db_result *r, const struct err *err)
{
	struct asking *a = ctx;
	json_t *hosts, *design, *plan;

	if (err) {
		(void)reply_err(a->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(a->req, 404, "not-found", "Dry runs are kept for a day.",
				    "there is no dry run '%s'", request_path(a->req, "dry_run"));
		return;
	}
	hosts = json_array();
	for (size_t i = 0; i < db_rows(r); i++)
		json_array_append_new(hosts, host_json(r, i));
	design = db_json(r, 0, G_DESIGN);
	plan = db_json(r, 0, G_PLAN);
	(void)reply_json(a->req, a->body ? 201 : 200,
			 json_pack("{s:o, s:s, s:O, s:I, s:o}", "id", js_id('d', a->id), "name",
				   db_text(r, 0, G_NAME), "runs",
				   json_object_get(design, "total_runs"), "least_ns",
				   (json_int_t)least_ns(design, plan), "hosts", hosts));
	json_decref(design);
	json_decref(plan);
}

static void get(struct asking *a)
{
	db_query(a->req->server->db, DB_QUERY, &Q_DRY_RUN_GET, (struct db_param[]){P_I64(a->id)}, 1,
		 DB_DEADLINE_MS, &a->req->pending, on_got, a);
}

enum step api_dry_run(struct request *req)
{
	static const char *const none[] = {NULL};
	struct asking *a = asking_new(req);

	if (!api_params(req, none) || !api_id(req, "dry_run", 'd', &a->id))
		return STEP_DONE;
	get(a);
	return STEP_WAIT;
}

/* ---- asking ---- */

static void on_asked(void *ctx, const struct db_result *r, const struct err *err)
{
	struct asking *a = ctx;

	if (err) {
		(void)reply_err(a->req, err);
		return;
	}
	a->id = db_i64(r, 0, 0);
	get(a);
}

enum step api_dry_run_ask(struct request *req)
{
	static const char *const none[] = {NULL};
	struct asking *a = asking_new(req);
	const char *member;
	struct err err;

	if (!api_params(req, none) || !api_body(req, assign_plan_members, &a->body))
		return STEP_DONE;
	if (assign_plan_read(a->body, &a->plan, &member, &err))
		return reply_fault(
			req,
			&(struct fault){.status = 400, .slug = "invalid-body", .parameter = member},
			"%s: %s", member, err.text);
	db_query(req->server->db, DB_QUERY, &Q_DRY_RUN_CREATE,
		 (struct db_param[]){P_TEXT(a->plan.name), P_TEXTS(a->plan.hosts, a->plan.n_hosts),
				     P_JSON(a->plan.design), P_JSON(a->plan.plan),
				     P_TEXT(a->plan.by)},
		 5, DB_DEADLINE_MS, &req->pending, on_asked, a);
	return STEP_WAIT;
}

/* ---- an agent's answer ---- */

static bool check_answer(struct request *req, const json_t *answer)
{
	static const struct api_member factor[] = {
		{"name", 64}, {"target", ANSWER_TEXT_MAX}, {"present", ANSWER_TEXT_MAX}};
	static const struct api_member workload[] = {{"name", 128},
						     {"description", ANSWER_TEXT_MAX}};
	const json_t *factors = json_object_get(answer, "factors");
	const json_t *w = json_object_get(answer, "workload"), *v;
	const char *key;
	json_t *member;
	size_t i;

	if (!json_is_object(answer) || !json_is_array(factors) ||
	    json_array_size(factors) > ANSWER_FACTORS_MAX)
		goto bad;
	json_object_foreach((json_t *)answer, key,
			    member) if (strcmp(key, "factors") != 0 &&
					strcmp(key, "workload") != 0) goto bad;
	json_array_foreach(factors, i, v) if (!api_flat(req, "factors", v, factor,
							ARRAY_LEN(factor))) return false;
	return !w || json_is_null(w) || api_flat(req, "workload", w, workload, ARRAY_LEN(workload));
bad:
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = "answer"},
		"answer: factors and workload, and nothing else");
	return false;
}

static void on_answered(void *ctx, const struct db_result *r, const struct err *err)
{
	struct asking *a = ctx;

	if (err)
		(void)reply_err(a->req, err);
	else if (!db_rows(r))
		(void)reply_problem(a->req, 409, "not-asked", NULL,
				    "This host was not asked, or has answered.");
	else
		(void)reply_json(a->req, 200, json_pack("{s:o}", "id", js_id('d', a->id)));
}

enum step api_dry_run_answer(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"host", "ok", "text", "answer", NULL};
	struct asking *a = asking_new(req);
	char *answer CLEANUP(freep) = NULL;
	const char *host, *text;
	const json_t *given;

	if (!api_params(req, none) || !api_id(req, "dry_run", 'd', &a->id) ||
	    !api_body(req, members, &a->body) || !api_text(req, a->body, "host", 128, &host) ||
	    !api_text(req, a->body, "text", 2000, &text))
		return STEP_DONE;
	given = json_object_get(a->body, "answer");
	if (given && !json_is_null(given) && !check_answer(req, given))
		return STEP_DONE;
	if (*req->token_host && (!host || strcmp(req->token_host, host) != 0))
		return reply_problem(req, 403, "auth-scope", NULL,
				     "This token is for another host.");
	answer = given && !json_is_null(given) ? json_dumps(given, JSON_COMPACT) : NULL;
	db_query(req->server->db, DB_QUERY, &Q_DRY_RUN_ANSWER,
		 (struct db_param[]){P_I64(a->id), P_TEXT(host ? host : ""),
				     P_BOOL(json_is_true(json_object_get(a->body, "ok"))),
				     P_TEXT(text ? text : ""), P_JSON(answer)},
		 5, DB_DEADLINE_MS, &req->pending, on_answered, a);
	return STEP_WAIT;
}
