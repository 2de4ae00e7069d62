/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The codes that administrators make for boxes to enrol with. A code's text is shown once. */
#include "server/api_common.h"

#include "server/audit.h"
#include "server/auth.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/server.h"

#define EXPIRES_HOURS	  24
#define EXPIRES_HOURS_MAX (366 * 24)
#define USES_MAX	  100000
#define TOKEN_DAYS_MAX	  36500

enum {
	C_ID,
	C_NAME,
	C_HOST,
	C_USES,
	C_USES_MAX,
	C_BIND,
	C_REPLACE,
	C_TOKEN_DAYS,
	C_CREATED,
	C_EXPIRES,
	C_REVOKED
};

static const char *const none[] = {NULL};

/* ---- making ---- */

struct making {
	struct request *req;
	json_t *body;
	char text[CODE_TEXT_MAX + 1];
	char id[TOKEN_ID_LEN + 1];
	char pin[PIN_LEN + 1];
};

static void making_free(void *ctx)
{
	struct making *m = ctx;

	explicit_bzero(m->text, sizeof(m->text));
	json_decref(m->body);
	free(m);
}

static bool wrong(struct request *req, const char *member, const char *text)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = member},
		"%s: %s", member, text);
	return false;
}

static bool read_number(struct making *m, const char *name, int64_t def, int64_t max, int64_t *ret)
{
	const json_t *v = json_object_get(m->body, name);

	*ret = json_is_integer(v) ? json_integer_value(v) : def;
	if ((!v || json_is_null(v) || json_is_integer(v)) &&
	    (*ret == def || (*ret >= 1 && *ret <= max)))
		return true;
	return wrong(m->req, name, "a whole number, at least 1 and not enormous");
}

static bool read_flag(struct making *m, const char *name, bool *ret)
{
	const json_t *v = json_object_get(m->body, name);

	*ret = json_is_true(v);
	return !v || json_is_boolean(v) || wrong(m->req, name, "true or false");
}

/* The server's own key, unless the body names that of a proxy in front of it. */
static bool read_pin(struct making *m)
{
	const char *pin;

	if (!api_text(m->req, m->body, "pin", PIN_TEXT_LEN, &pin))
		return false;
	if (pin)
		return pin_parse(pin, m->pin) ||
		       wrong(m->req, "pin", "sha256// and 44 characters of base64");
	if (m->req->server->options.pin)
		memcpy(m->pin, m->req->server->options.pin, sizeof(m->pin));
	return true;
}

static void on_made(void *ctx, const struct db_result *r, const struct err *err)
{
	struct making *m = ctx;
	char pin[PIN_TEXT_LEN + 1];

	if (err)
		(void)reply_err(m->req, err);
	else if (!db_rows(r))
		(void)reply_problem(
			m->req, 409, "no-administrator",
			"Make an administrator's token first: rigstat-server token --name admin "
			"--scopes admin.",
			"This server asks for no token yet; after the first box has enrolled it "
			"does, and nobody could administer it.");
	else
		(void)reply_json(m->req, 201,
				 json_pack("{s:s, s:s, s:o, s:s?}", "id", m->id, "code", m->text,
					   "expires", js_time(db_time_ns(r, 0, 0)), "pin",
					   *m->pin ? pin_text(m->pin, pin) : NULL));
}

enum step api_code_add(struct request *req)
{
	static const char *const members[] = {
		"name",		 "host", "uses", "bind_machine", "replace_machine", "token_days",
		"expires_hours", "pin",	 NULL};
	struct making *m = xcalloc(1, sizeof(*m));
	int64_t uses, hours, days;
	struct code_text code;
	const char *name, *host;
	bool bind, replace;

	m->req = req;
	req->ctx = m;
	req->ctx_free = making_free;
	if (!api_params(req, none) || !api_body(req, members, &m->body) ||
	    !api_text(req, m->body, "name", 128, &name) ||
	    !api_text(req, m->body, "host", 128, &host) ||
	    !read_number(m, "uses", 1, USES_MAX, &uses) ||
	    !read_number(m, "expires_hours", EXPIRES_HOURS, EXPIRES_HOURS_MAX, &hours) ||
	    !read_number(m, "token_days", 0, TOKEN_DAYS_MAX, &days) ||
	    !read_flag(m, "bind_machine", &bind) || !read_flag(m, "replace_machine", &replace) ||
	    !read_pin(m))
		return STEP_DONE;
	if ((host && !api_is_host_name(host) &&
	     !wrong(req, "host", "a name without blanks and slashes")) ||
	    (replace && !host && !wrong(req, "replace_machine", "only with a host")))
		return STEP_DONE;
	code_mint(m->pin, m->text, &code);
	memcpy(m->id, code.id, sizeof(m->id));
	audit_note(req, NULL, "code %s", code.id);
	db_query(req->server->db, DB_QUERY, &Q_CODE_ADD,
		 (struct db_param[]){P_TEXT(code.id), P_BYTES(code.digest, SHA256_LEN),
				     P_TEXT(name ? name : ""), P_TEXT(host), P_I64(uses),
				     P_BOOL(bind), P_BOOL(replace),
				     days ? P_I64(days) : P_NULL(DB_I64), P_I64(hours * 3600)},
		 9, DB_DEADLINE_MS, &req->pending, on_made, m);
	return STEP_WAIT;
}

/* ---- list and end ---- */

static json_t *code_json(const struct db_result *r, size_t i)
{
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:b, s:b, s:o, s:o, s:o, s:o}", "id",
			 db_text(r, i, C_ID), "name", db_text(r, i, C_NAME), "host",
			 db_text_or_null(r, i, C_HOST), "uses", (json_int_t)db_i64(r, i, C_USES),
			 "uses_max", (json_int_t)db_i64(r, i, C_USES_MAX), "bind_machine",
			 db_bool(r, i, C_BIND), "replace_machine", db_bool(r, i, C_REPLACE),
			 "token_days", js_i64_or_null(r, i, C_TOKEN_DAYS), "created",
			 js_time(db_time_ns(r, i, C_CREATED)), "expires",
			 js_time(db_time_ns(r, i, C_EXPIRES)), "revoked",
			 js_time(db_time_ns(r, i, C_REVOKED)));
}

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o, s:n}", "items", js_rows(r, db_rows(r), code_json),
					   "next"));
}

enum step api_codes(struct request *req)
{
	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_CODES_LIST, NULL, 0, DB_DEADLINE_MS, &req->pending,
		 on_list, req);
	return STEP_WAIT;
}

static void on_revoked(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_affected(r))
		(void)reply_problem(req, 404, "not-found", NULL, "There is no such code.");
	else
		(void)reply_empty(req, 204);
}

enum step api_code_revoke(struct request *req)
{
	audit_note(req, NULL, "code %s", request_path(req, "code"));
	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_CODE_REVOKE,
		 (struct db_param[]){P_TEXT(request_path(req, "code"))}, 1, DB_DEADLINE_MS,
		 &req->pending, on_revoked, req);
	return STEP_WAIT;
}
