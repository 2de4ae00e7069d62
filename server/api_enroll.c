/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enrolment: an administrator makes a code (/enroll-codes), a box turns it into a token that is
 * bound to its host (POST /enroll). The box makes the token itself and sends the digest, so a lost
 * answer is asked for again with the same bytes. The rules are in rigstat.enroll(). */
#include "server/api_common.h"

#include <ctype.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/audit.h"
#include "server/auth.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/server.h"

static enum step wrong(struct request *req, const char *member, const char *text)
{
	return reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-body", .parameter = member},
		"%s: %s", member, text);
}

static bool is_uuid(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : !isxdigit(text[i]))
			return false;
	return len == 36;
}

/* ---- a box enrols ---- */

struct enrolment {
	struct request *req;
	json_t *body; /* the texts below are in it */
	struct code_text code;
	const char *host, *machine, *token_id;
	unsigned char digest[SHA256_LEN];
};

static void enrolment_free(void *ctx)
{
	struct enrolment *e = ctx;

	explicit_bzero(&e->code, sizeof(e->code));
	json_decref(e->body);
	free(e);
}

/* What rigstat.enroll() says no with; a host in front of the text when it named one. */
static const struct {
	const char *outcome;
	int status;
	const char *slug, *text, *hint;
} refusals[] = {
	{"expired", 403, "code-expired", "This code has expired.",
	 "An administrator makes a new one: rigstat-server enroll-code."},
	{"used", 403, "code-used", "This code has been used as often as it may.",
	 "An administrator makes a new one: rigstat-server enroll-code."},
	{"revoked", 403, "code-revoked", "This code was revoked.",
	 "An administrator makes a new one: rigstat-server enroll-code."},
	{"machine-needed", 422, "machine-needed",
	 "This code is bound to the machine, and the box did not tell its DMI UUID.",
	 "Run rigstat-agent enroll as root; where the firmware has no UUID, use a code without "
	 "--bind-machine."},
	{"other-machine", 409, "host-other-machine", "is another machine.",
	 "Give this box a name of its own (--host). If the machine was replaced: rigstat-server "
	 "enroll-code --host NAME --replace-machine."},
	{"other-host", 409, "machine-other-host",
	 "is this machine, and the code is for another host.",
	 "Use a code for that host, or one made with --replace-machine to give the machine the new "
	 "name."},
	{"taken", 409, "host-taken", "has an agent already.",
	 "Give this box a name of its own (--host). If it is the same box: rigstat-server "
	 "enroll-code --host NAME, or revoke the agent's token."},
	{"token-taken", 409, "token-taken", "The id of the token is taken.",
	 "Run rigstat-agent enroll again: it makes another token."},
};

enum { E_OUTCOME, E_HOST, E_HOST_ID, E_EXPIRES };

static enum step refuse_code(struct request *req)
{
	if (!auth_note_wrong(req))
		return auth_refuse_blocked(req);
	return reply_problem(req, 403, "code-unknown",
			     "Copy it whole: rsc_, 8 letters or digits, _, 22 characters, and "
			     "perhaps a dot and 43 more.",
			     "There is no such code.");
}

static void refuse(struct request *req, const char *outcome, const char *host)
{
	size_t i = 0;

	while (i < ARRAY_LEN(refusals) && strcmp(refusals[i].outcome, outcome) != 0)
		i++;
	if (i == ARRAY_LEN(refusals)) {
		(void)refuse_code(req); /* removed since it was compared */
		return;
	}
	(void)reply_problem(req, refusals[i].status, refusals[i].slug, refusals[i].hint, "%s%s%s%s",
			    host ? "Host '" : "", host ? host : "", host ? "' " : "",
			    refusals[i].text);
}

static void on_enrolled(void *ctx, const struct db_result *r, const struct err *err)
{
	struct enrolment *e = ctx;
	char who[40];

	if (err) {
		(void)reply_err(e->req, err);
		return;
	}
	if (strcmp(db_text(r, 0, E_OUTCOME), "ok") != 0) {
		refuse(e->req, db_text(r, 0, E_OUTCOME), db_text_or_null(r, 0, E_HOST));
		return;
	}
	auth_forget(e->req->server->auth);
	(void)snprintf(who, sizeof(who), "code %s", e->code.id);
	audit_note(e->req, who, "host %s, token %s", db_text(r, 0, E_HOST), e->token_id);
	(void)reply_json(e->req, 201,
			 json_pack("{s:s, s:o, s:s, s:o, s:I}", "host", db_text(r, 0, E_HOST),
				   "agent_id", js_id('h', db_i64(r, 0, E_HOST_ID)), "token_id",
				   e->token_id, "expires", js_time(db_time_ns(r, 0, E_EXPIRES)),
				   "server_ns", (json_int_t)clock_realtime_ns()));
}

static void on_code(void *ctx, const struct db_result *r, const struct err *err)
{
	struct enrolment *e = ctx;
	static const unsigned char nothing[SHA256_LEN];
	const unsigned char *digest = nothing;
	size_t len;
	bool good;

	if (err) {
		(void)reply_err(e->req, err);
		return;
	}
	if (db_rows(r))
		digest = db_bytes(r, 0, 0, &len);
	good = token_digest_equal(digest, e->code.digest); /* also of an unknown one */
	if (!good) {
		(void)refuse_code(e->req);
		return;
	}
	db_query(e->req->server->db, DB_QUERY, &Q_ENROLL,
		 (struct db_param[]){P_TEXT(e->code.id), P_TEXT(e->token_id),
				     P_BYTES(e->digest, SHA256_LEN), P_TEXT(e->host),
				     P_TEXT(e->machine)},
		 5, DB_DEADLINE_MS, &e->req->pending, on_enrolled, e);
}

enum step api_enroll(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"code",	  "host",	  "machine",
					      "token_id", "token_sha256", NULL};
	struct enrolment *e = xcalloc(1, sizeof(*e));
	const char *code, *sha256;

	e->req = req;
	req->ctx = e;
	req->ctx_free = enrolment_free;
	if (!api_params(req, none) || !api_body(req, members, &e->body) ||
	    !api_text(req, e->body, "code", 200, &code) ||
	    !api_text(req, e->body, "host", 128, &e->host) ||
	    !api_text(req, e->body, "machine", 36, &e->machine) ||
	    !api_text(req, e->body, "token_id", TOKEN_ID_LEN, &e->token_id) ||
	    !api_text(req, e->body, "token_sha256", 64, &sha256))
		return STEP_DONE;
	if (!e->host || !api_is_host_name(e->host))
		return wrong(req, "host", "a name of 1 to 128 bytes, without blanks and slashes");
	if (e->machine && !is_uuid(e->machine))
		return wrong(req, "machine", "the DMI UUID of the box, or null");
	if (!e->token_id || !token_id_valid(e->token_id))
		return wrong(req, "token_id", "8 letters or digits that the box chose");
	if (!sha256 || !hex_get(sha256, e->digest, SHA256_LEN))
		return wrong(req, "token_sha256", "64 hex digits: SHA-256 of the token's secret");
	if (auth_is_blocked(req))
		return auth_refuse_blocked(req);
	if (!code || !code_parse(code, &e->code))
		return refuse_code(req);
	db_query(req->server->db, DB_QUERY, &Q_CODE_FIND, (struct db_param[]){P_TEXT(e->code.id)},
		 1, DB_DEADLINE_MS, &req->pending, on_code, e);
	return STEP_WAIT;
}
