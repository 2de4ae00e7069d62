/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens and the session of a browser. A token's text is shown once, when it is made. */
#include <stdio.h>

#include "common/clock.h"
#include "server/api_common.h"
#include "server/audit.h"
#include "server/auth.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/server.h"
#include "common/token.h"

static const char *const none[] = {NULL};

/* ---- the session: the token in a cookie that scripts cannot read ---- */

enum step api_session(struct request *req)
{
	struct token_text token;
	struct err err;
	char cookie[200];
	const char *text;
	json_t *body;

	if (request_json(req, &body, &err) < 0)
		return reply_err(req, &err);
	text = json_string_value(json_object_get(body, "token"));
	if (!text || !token_parse(text, &token)) {
		json_decref(body);
		return reply_problem(req, 400, "invalid", NULL,
				     "The body must be {\"token\": \"rs_...\"}.");
	}
	/* Whether it is valid is found out by the next request, as always. */
	(void)snprintf(cookie, sizeof(cookie),
		       "rigstat_token=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000%s",
		       text, req->server->options.tls_cert ? "; Secure" : "");
	json_decref(body);
	reply_header(req, "Set-Cookie", cookie);
	return reply_empty(req, 204);
}

enum step api_session_end(struct request *req)
{
	reply_header(req, "Set-Cookie",
		     "rigstat_token=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
	return reply_empty(req, 204);
}

/* ---- tokens ---- */

enum { COL_ID, COL_NAME, COL_SCOPES, COL_HOST, COL_CREATED, COL_EXPIRES, COL_REVOKED, COL_USED };

static void set_time(json_t *o, const char *name, const struct db_result *res, size_t row,
		     unsigned int col)
{
	char text[40];

	json_object_set_new(o, name,
			    db_is_null(res, row, col)
				    ? json_null()
				    : json_string(clock_rfc3339(db_time_ns(res, row, col), text,
								sizeof(text))));
}

static json_t *token_json(const struct db_result *res, size_t i)
{
	json_t *o = json_pack("{s:s, s:s, s:o, s:s?}", "id", db_text(res, i, COL_ID), "name",
			      db_text(res, i, COL_NAME), "scopes", db_json(res, i, COL_SCOPES),
			      "host", db_text_or_null(res, i, COL_HOST));

	set_time(o, "created", res, i, COL_CREATED);
	set_time(o, "expires", res, i, COL_EXPIRES);
	set_time(o, "revoked", res, i, COL_REVOKED);
	set_time(o, "last_used", res, i, COL_USED);
	return o;
}

static void on_tokens(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o, s:n}", "items",
					   js_rows(res, db_rows(res), token_json), "next"));
}

enum step api_tokens(struct request *req)
{
	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_TOKENS_LIST, (struct db_param[]){P_NULL(DB_TEXT)}, 1,
		 DB_DEADLINE_MS, &req->pending, on_tokens, req);
	return STEP_WAIT;
}

/* ---- the token of the request ---- */

static bool needs_token(struct request *req)
{
	if (*req->token_id)
		return true;
	(void)reply_problem(req, 404, "no-token", NULL, "This server asks for no token.");
	return false;
}

static void on_self(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(res))
		(void)reply_problem(req, 404, "not-found", NULL, "There is no such token.");
	else
		(void)reply_json(req, 200, token_json(res, 0));
}

enum step api_token_self(struct request *req)
{
	if (!api_params(req, none) || !needs_token(req))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_TOKENS_LIST,
		 (struct db_param[]){P_TEXT(req->token.id)}, 1, DB_DEADLINE_MS, &req->pending,
		 on_self, req);
	return STEP_WAIT;
}

static void on_rotated(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else if (!db_rows(res))
		(void)reply_problem(
			req, 409, "token-taken",
			"Make another one and send it; the present token stays valid.",
			"The id of the new token is taken, or the present one is over.");
	else
		(void)reply_json(req, 200,
				 json_pack("{s:o}", "expires", js_time(db_time_ns(res, 0, 0))));
}

/* The successor is made by its owner, who sends the digest; the present token is over when the
 * successor is first used. */
enum step api_token_rotate(struct request *req)
{
	static const char *const members[] = {"token_id", "token_sha256", NULL};
	unsigned char digest[SHA256_LEN];
	const char *id, *sha256;
	bool good;
	json_t *body;

	if (!api_params(req, none) || !needs_token(req) || !api_body(req, members, &body))
		return STEP_DONE;
	id = json_string_value(json_object_get(body, "token_id"));
	sha256 = json_string_value(json_object_get(body, "token_sha256"));
	good = id && token_id_valid(id) && sha256 && hex_get(sha256, digest, SHA256_LEN);
	if (good)
		audit_note(req, NULL, "token %s", id);
	if (good)
		db_query(req->server->db, DB_QUERY, &Q_TOKEN_ROTATE,
			 (struct db_param[]){P_TEXT(req->token.id), P_TEXT(id),
					     P_BYTES(digest, SHA256_LEN)},
			 3, DB_DEADLINE_MS, &req->pending, on_rotated, req);
	json_decref(body);
	if (good)
		return STEP_WAIT;
	return reply_fault(req,
			   &(struct fault){.status = 400,
					   .slug = "invalid-body",
					   .parameter = id ? "token_sha256" : "token_id"},
			   "token_id: 8 letters or digits; token_sha256: 64 hex digits, SHA-256 of "
			   "the new token's secret");
}

/* ---- making and ending ---- */

static void on_added(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;
	const char *text = req->ctx;

	if (err) {
		(void)reply_err(req, err);
	} else if (!db_rows(res)) {
		(void)reply_problem(req, 404, "not-found",
				    "A new box enrols with a code: POST /api/v1/enroll-codes.",
				    "There is no host of this name yet.");
	} else {
		auth_forget(req->server->auth);
		(void)reply_json(req, 201,
				 json_pack("{s:s, s:s}", "id", db_text(res, 0, 0), "token", text));
	}
}

static int scopes_of(const json_t *list, unsigned int *ret, struct err *reterr)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) strbuf_printf(
		&text, "%s%s", i ? "," : "", json_is_string(v) ? json_string_value(v) : "?");
	return token_scopes(text.data ? text.data : "", ret, reterr);
}

enum step api_token_add(struct request *req)
{
	struct token_text token;
	const char *names[TOKEN_SCOPES], *name, *host;
	unsigned int scopes;
	bool any_host;
	struct err err;
	json_t *body;
	int64_t days;

	if (request_json(req, &body, &err) < 0)
		return reply_err(req, &err);
	name = json_string_value(json_object_get(body, "name"));
	host = json_string_value(json_object_get(body, "host"));
	days = json_integer_value(json_object_get(body, "expires_days"));
	any_host = json_is_true(json_object_get(body, "any_host"));
	if (scopes_of(json_object_get(body, "scopes"), &scopes, &err) < 0 || !name || !*name ||
	    strlen(name) > 128 || days < 0 || days > 36500) {
		json_decref(body);
		return reply_problem(
			req, 400, "invalid", NULL,
			"A token needs a name of 1 to 128 bytes and scopes out of read, gate, "
			"ingest, write, admin; expires_days is 0 to 36500.");
	}
	if (scopes & TOKEN_INGEST && !host && !any_host) {
		json_decref(body);
		return reply_problem(req, 400, "host-needed",
				     "Name the host; a new box enrols with a code (POST "
				     "/api/v1/enroll-codes). \"any_host\": true makes a token that "
				     "may write the records of every host.",
				     "A token with scope ingest is for one host.");
	}
	req->ctx = xcalloc(1, TOKEN_TEXT_LEN + 1);
	req->ctx_free = free;
	token_mint(req->ctx, &token);
	audit_note(req, NULL, "token %s", token.id);
	db_query(req->server->db, DB_QUERY, &Q_TOKEN_ADD,
		 (const struct db_param[]){P_TEXT(token.id), P_BYTES(token.digest, SHA256_LEN),
					   P_TEXT(name),
					   P_TEXTS(names, token_scope_names(scopes, names)),
					   P_TEXT(host), days ? P_I64(days) : P_NULL(DB_I64)},
		 6, DB_DEADLINE_MS, &req->pending, on_added, req);
	json_decref(body);
	return STEP_WAIT;
}

static void on_revoked(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;

	if (err) {
		(void)reply_err(req, err);
	} else if (!db_affected(res)) {
		(void)reply_problem(req, 404, "not-found", NULL, "There is no such token.");
	} else {
		auth_forget(req->server->auth);
		(void)reply_empty(req, 204);
	}
}

enum step api_token_revoke(struct request *req)
{
	audit_note(req, NULL, "token %s", request_path(req, "token"));
	db_query(req->server->db, DB_QUERY, &Q_TOKEN_REVOKE,
		 (const struct db_param[]){P_TEXT(request_path(req, "token"))}, 1, DB_DEADLINE_MS,
		 &req->pending, on_revoked, req);
	return STEP_WAIT;
}
