/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an agent and the server tell each other beside records (GET and POST /hosts/{host}/agent),
 * and a person who takes a box (PUT and DELETE /hosts/{host}/reservation). */
#include "server/api.h"

#include "common/check.h"
#include "common/clock.h"
#include "common/parse.h"
#include "server/api_common.h"
#include "server/host_row.h"
#include "server/queries.h"
#include "server/server.h"

#define RESERVE_MAX_NS (366 * 86400 * NS_PER_SEC)

enum { A_RESERVED, A_REASON, A_SINCE, A_UNTIL, A_SETTINGS, A_RETIRED };
enum { R_GOT, R_BY };

struct asking {
	struct request *req;
	json_t *body;
};

static void asking_free(void *ctx)
{
	struct asking *a = ctx;

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

static bool wrong(struct request *req, const char *member, const char *text)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = member},
		"%s: %s", member, text);
	return false;
}

/* ---- agents ---- */

static bool is_own_host(struct request *req, const char *host)
{
	if (!*req->token_host || !strcmp(req->token_host, host))
		return true;
	(void)reply_problem(req, 403, "auth-scope", NULL, "This token is for another host, '%s'.",
			    req->token_host);
	return false;
}

static bool is_host_name(struct request *req, const char *host)
{
	size_t len = strlen(host);

	if (len >= 1 && len <= 128 && text_is_clean(host, len))
		return true;
	(void)reply_problem(req, 400, "invalid", NULL,
			    "a host's name has 1 to 128 bytes, without control characters");
	return false;
}

/* What both answers have: enough for the agent to know its rights, its clock, who holds the box,
 * and what is set for it here. */
static json_t *greeting(const struct db_result *r, bool known)
{
	json_t *settings = known ? json_loads(db_text(r, 0, A_SETTINGS), 0, NULL) : json_object();

	CHECK(settings);
	return json_pack("{s:s, s:I, s:b, s:o, s:o}", "server_version", RIGSTAT_VERSION,
			 "server_ns", (json_int_t)clock_realtime_ns(), "known", known, "reserved",
			 known ? host_reservation_json(r, 0, A_RESERVED) : json_null(), "settings",
			 settings);
}

static void refuse_retired(struct request *req)
{
	(void)reply_problem(req, 403, "host-retired", "rigstat host unretire NAME takes it back.",
			    "Host '%s' is retired: nothing more is stored for it.",
			    request_path(req, "host"));
}

static void on_greeted(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (db_rows(r) && db_bool(r, 0, A_RETIRED))
		refuse_retired(req);
	else
		(void)reply_json(req, 200, greeting(r, db_rows(r) > 0));
}

enum step api_agent(struct request *req)
{
	static const char *const none[] = {NULL};
	const char *host = request_path(req, "host");

	if (!api_params(req, none) || !is_host_name(req, host) || !is_own_host(req, host))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_HOST_GREET, (struct db_param[]){P_TEXT(host)}, 1,
		 DB_DEADLINE_MS, &req->pending, on_greeted, req);
	return STEP_WAIT;
}

/* The members of a heartbeat. */
static const struct api_member report_members[] = {
	{"version", 40},	{"boot_id", 40},	{"doing", 20},
	{"doing_text", 200},	{"error", 400},		{"error_ns", 0},
	{"uptime_ns", 0},	{"box_uptime_ns", 0},	{"lag_ns", 0},
	{"spool_bytes", 0},	{"spool_records", 0},	{"spool_problem", 200},
	{"dropped_records", 0}, {"dropped_samples", 0}, {"refused_records", 0},
	{"clock_offset_ns", 0}, {"clock_error_ns", 0},	{"settings", 400},
};

static bool check_report(struct request *req, const json_t *body)
{
	static const char *const doings[] = {"watching", "experiment", "idle"};
	const char *doing;
	bool known = false;

	if (!api_flat(req, "the report", body, report_members, ARRAY_LEN(report_members)))
		return false;
	doing = json_string_value(json_object_get(body, "doing"));
	for (size_t i = 0; doing && i < ARRAY_LEN(doings); i++)
		known |= !strcmp(doing, doings[i]);
	return known || wrong(req, "doing", "watching, experiment or idle");
}

static void on_beaten(void *ctx, const struct db_result *r, const struct err *err)
{
	struct asking *a = ctx;

	if (err)
		(void)reply_err(a->req, err);
	else if (!db_rows(r))
		refuse_retired(a->req);
	else
		(void)reply_json(a->req, 200, greeting(r, true));
}

enum step api_agent_report(struct request *req)
{
	static const char *const none[] = {NULL};
	const char *names[ARRAY_LEN(report_members) + 1] = {0};
	const char *host = request_path(req, "host");
	char *report CLEANUP(freep) = NULL;
	struct asking *a = asking_new(req);

	for (size_t i = 0; i < ARRAY_LEN(report_members); i++)
		names[i] = report_members[i].name;
	if (!api_params(req, none) || !is_host_name(req, host) || !is_own_host(req, host) ||
	    !api_body(req, names, &a->body) || !check_report(req, a->body))
		return STEP_DONE;
	report = json_dumps(a->body, JSON_COMPACT);
	db_query(req->server->db, DB_QUERY, &Q_HOST_BEAT,
		 (struct db_param[]){P_TEXT(host), P_TEXT(request_remote(req)), P_JSON(report)}, 3,
		 DB_DEADLINE_MS, &req->pending, on_beaten, a);
	return STEP_WAIT;
}

/* ---- reservations ---- */

static void refuse_held(struct request *req, const struct db_result *r)
{
	const char *reason = db_text(r, 0, R_BY + 1);

	(void)reply_problem(req, 409, "host-reserved",
			    "rigstat host release NAME --force takes it from them.",
			    "'%s' is reserved by %s%s%s.", request_path(req, "host"),
			    db_text(r, 0, R_BY), *reason ? ": " : "", reason);
}

static void on_reserved(void *ctx, const struct db_result *r, const struct err *err)
{
	struct asking *a = ctx;

	if (err)
		(void)reply_err(a->req, err);
	else if (!db_rows(r))
		(void)reply_problem(a->req, 404, "not-found", "Hosts are listed at /api/v1/hosts.",
				    "there is no host '%s', or it is retired",
				    request_path(a->req, "host"));
	else if (!db_bool(r, 0, R_GOT))
		refuse_held(a->req, r);
	else
		(void)reply_json(a->req, 200, host_reservation_json(r, 0, R_BY));
}

static bool read_for(struct request *req, const json_t *body, struct db_param *ret)
{
	const json_t *v = json_object_get(body, "for_ns");
	int64_t ns = json_integer_value(v);

	*ret = P_NULL(DB_F64);
	if (!v || json_is_null(v))
		return true;
	if (!json_is_integer(v) || ns < NS_PER_SEC || ns > RESERVE_MAX_NS)
		return wrong(req, "for_ns", "from a second to a year, or null: until released");
	*ret = P_F64((double)ns / 1e9);
	return true;
}

enum step api_host_reserve(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"by", "reason", "for_ns", NULL};
	struct asking *a = asking_new(req);
	struct db_param seconds;
	const char *by, *reason;

	if (!api_params(req, none) || !api_body(req, members, &a->body) ||
	    !api_text(req, a->body, "by", 128, &by) ||
	    !api_text(req, a->body, "reason", 400, &reason) || !read_for(req, a->body, &seconds))
		return STEP_DONE;
	if (!by || !*by) {
		(void)wrong(req, "by", "who takes it?");
		return STEP_DONE;
	}
	db_query(req->server->db, DB_QUERY, &Q_HOST_RESERVE,
		 (struct db_param[]){P_TEXT(request_path(req, "host")), P_TEXT(by),
				     P_TEXT(reason ? reason : ""), seconds},
		 4, DB_DEADLINE_MS, &req->pending, on_reserved, a);
	return STEP_WAIT;
}

static void on_released(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(r))
		(void)reply_problem(req, 404, "not-reserved", NULL, "Nobody has reserved '%s'.",
				    request_path(req, "host"));
	else if (!db_bool(r, 0, R_GOT))
		refuse_held(req, r);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o}", "released", host_reservation_json(r, 0, R_BY)));
}

enum step api_host_release(struct request *req)
{
	static const char *const names[] = {"by", "force", NULL};
	const char *by = request_query(req, "by");
	bool force;

	if (!api_params(req, names) || !api_flag(req, "force", &force))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_HOST_RELEASE,
		 (struct db_param[]){P_TEXT(request_path(req, "host")), P_TEXT(by ? by : ""),
				     P_BOOL(force)},
		 3, DB_DEADLINE_MS, &req->pending, on_released, req);
	return STEP_WAIT;
}
