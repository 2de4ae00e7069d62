/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens and the session of a browser. A token's text is shown once, when it is made. */
#include <stdio.h>

#include "common/clock.h"
#include "server/api_common.h"
#include "server/auth.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/server.h"
#include "server/token.h"

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

static void on_tokens(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;
	json_t *list;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < db_rows(res); i++) {
		json_t *o =
			json_pack("{s:s, s:s, s:o, s:s?}", "id", db_text(res, i, COL_ID), "name",
				  db_text(res, i, COL_NAME), "scopes", db_json(res, i, COL_SCOPES),
				  "host", db_text_or_null(res, i, COL_HOST));

		set_time(o, "created", res, i, COL_CREATED);
		set_time(o, "expires", res, i, COL_EXPIRES);
		set_time(o, "revoked", res, i, COL_REVOKED);
		set_time(o, "last_used", res, i, COL_USED);
		json_array_append_new(list, o);
	}
	(void)reply_json(req, 200, json_pack("{s:o, s:n}", "items", list, "next"));
}

enum step api_tokens(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_TOKENS_LIST, NULL, 0, DB_DEADLINE_MS, &req->pending,
		 on_tokens, req);
	return STEP_WAIT;
}

static void on_added(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;
	const char *text = req->ctx;

	if (err) {
		(void)reply_err(req, err);
	} else if (!db_rows(res)) {
		(void)reply_problem(req, 404, "not-found", NULL, "There is no host of this name.");
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
	const char *names[4], *name, *host;
	unsigned int scopes;
	struct err err;
	json_t *body;
	int64_t days;

	if (request_json(req, &body, &err) < 0)
		return reply_err(req, &err);
	name = json_string_value(json_object_get(body, "name"));
	host = json_string_value(json_object_get(body, "host"));
	days = json_integer_value(json_object_get(body, "expires_days"));
	if (scopes_of(json_object_get(body, "scopes"), &scopes, &err) < 0 || !name || !*name ||
	    strlen(name) > 128 || days < 0 || days > 36500) {
		json_decref(body);
		return reply_problem(
			req, 400, "invalid", NULL,
			"A token needs a name of 1 to 128 bytes and scopes out of read, "
			"ingest, write, admin; expires_days is 0 to 36500.");
	}
	req->ctx = xcalloc(1, TOKEN_TEXT_LEN + 1);
	req->ctx_free = free;
	token_mint(req->ctx, &token);
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
	db_query(req->server->db, DB_QUERY, &Q_TOKEN_REVOKE,
		 (const struct db_param[]){P_TEXT(request_path(req, "token"))}, 1, DB_DEADLINE_MS,
		 &req->pending, on_revoked, req);
	return STEP_WAIT;
}
