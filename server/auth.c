/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/auth.h"

#include <stdio.h>
#include <strings.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/token.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/routes.h"
#include "server/server.h"

#define CACHE_MAX     1024
#define CACHE_NS      (30 * NS_PER_SEC)
#define EXIST_TICKS   10 /* how often we look whether there are tokens, in seconds */
#define FAILURES_MAX  10 /* wrong tokens a minute and address; then 429 */
#define FAILURE_NS    (60 * NS_PER_SEC)
#define FAILURE_SLOTS 1024
#define QUERY_MS      5000

_Static_assert(TOKEN_ID_LEN < REQUEST_TOKEN_MAX, "a request holds the id of its token");

struct cached {
	char id[TOKEN_ID_LEN + 1];
	unsigned char digest[SHA256_LEN];
	unsigned int scopes; /* 0: no such token, or it is over */
	char host[REQUEST_HOST_MAX];
	int64_t expires_ns; /* realtime, 0 never */
	int64_t read_ns;    /* monotonic, 0 empty */
};

struct failures {
	uint32_t address;
	unsigned int n;
	int64_t since_ns;
};

struct auth {
	struct db *db;
	bool tokens_exist, anonymous_read;
	unsigned int ticks;
	struct cached cache[CACHE_MAX];
	struct failures failures[FAILURE_SLOTS];
	struct pending_list pending;
};

struct auth *auth_new(struct db *db, bool tokens_exist, bool anonymous_read)
{
	struct auth *a = xcalloc(1, sizeof(*a));

	a->db = db;
	a->tokens_exist = tokens_exist;
	a->anonymous_read = anonymous_read;
	return a;
}

void auth_free(struct auth *a)
{
	free(a);
}

void auth_forget(struct auth *a)
{
	for (size_t i = 0; i < CACHE_MAX; i++)
		a->cache[i].read_ns = INT64_MIN / 2; /* read again; who was known stays known */
	a->ticks = 0;
}

bool auth_is_open(const struct auth *a)
{
	return !a->tokens_exist || a->anonymous_read;
}

static void on_exist(void *ctx, const struct db_result *res, const struct err *err)
{
	struct auth *a = ctx;

	if (!err)
		a->tokens_exist = db_bool(res, 0, 0);
}

void auth_tick(struct auth *a)
{
	if (a->ticks++ % EXIST_TICKS == 0)
		db_query(a->db, DB_QUERY, &Q_TOKENS_EXIST, NULL, 0, QUERY_MS, NULL, on_exist, a);
}

/* ---- wrong tokens ---- */

static struct failures *failures_of(struct auth *a, const struct request *req)
{
	const char *remote = request_remote(req);
	uint32_t address = crc32c(0, remote, strlen(remote));
	struct failures *f = &a->failures[address % FAILURE_SLOTS];
	int64_t now = clock_monotonic_ns();

	if (f->address != address || now - f->since_ns > FAILURE_NS)
		*f = (struct failures){address, 0, now};
	return f;
}

static void refuse_401(struct request *req)
{
	reply_header(req, "WWW-Authenticate", "Bearer realm=\"rigstat\"");
	(void)reply_problem(req, 401, "auth-missing",
			    "Send Authorization: Bearer with a token; an administrator makes one "
			    "with rigstat-server token.",
			    "A valid token is needed.");
}

enum step auth_refuse_blocked(struct request *req)
{
	reply_header(req, "Retry-After", "60");
	return reply_problem(req, 429, "rate-limited", NULL,
			     "Too many wrong tokens or codes came from this address: try again in "
			     "a minute.");
}

bool auth_is_blocked(struct request *req)
{
	return failures_of(req->server->auth, req)->n >= FAILURES_MAX;
}

bool auth_note_wrong(struct request *req)
{
	return failures_of(req->server->auth, req)->n++ < FAILURES_MAX;
}

static void refuse_wrong(struct request *req)
{
	if (auth_note_wrong(req))
		refuse_401(req);
	else
		(void)auth_refuse_blocked(req);
}

/* Was this very token good lately? Guessing at one address does not lock out those who are not. */
static bool is_known(const struct cached *c, const struct token_text *token)
{
	return strcmp(c->id, token->id) == 0 && c->scopes &&
	       token_digest_equal(c->digest, token->digest);
}

/* ---- deciding ---- */

static bool covers(unsigned int scopes, enum scope wanted)
{
	switch (wanted) {
	case SCOPE_NONE:
		return true;
	case SCOPE_TOKEN:
		return true;
	case SCOPE_READ:
		return scopes & (TOKEN_READ | TOKEN_GATE | TOKEN_WRITE | TOKEN_ADMIN);
	case SCOPE_GATE:
		return scopes & (TOKEN_GATE | TOKEN_WRITE | TOKEN_ADMIN);
	case SCOPE_INGEST:
		return scopes & (TOKEN_INGEST | TOKEN_ADMIN);
	case SCOPE_WRITE:
		return scopes & (TOKEN_WRITE | TOKEN_ADMIN);
	case SCOPE_ADMIN:
		return scopes & TOKEN_ADMIN;
	}
	return false;
}

static void decide(struct request *req, const struct cached *c)
{
	bool good = token_digest_equal(c->digest, req->token.digest);

	if (!good || !c->scopes || (c->expires_ns && c->expires_ns < clock_realtime_ns())) {
		refuse_wrong(req);
		return;
	}
	if (!covers(c->scopes, req->route->scope)) {
		(void)reply_problem(req, 403, "auth-scope", NULL,
				    "This token does not have the scope for it.");
		return;
	}
	memcpy(req->token_host, c->host, sizeof(c->host));
	memcpy(req->token_id, c->id, sizeof(c->id));
	req->auth_go(req);
}

/* ---- looking a token up ---- */

enum { TOK_DIGEST, TOK_READ, TOK_INGEST, TOK_WRITE, TOK_ADMIN, TOK_GATE, TOK_HOST, TOK_EXPIRES };

static struct cached *slot_of(struct auth *a, const char *id)
{
	return &a->cache[crc32c(0, id, TOKEN_ID_LEN) % CACHE_MAX];
}

static void on_ignored(void *ctx, const struct db_result *res, const struct err *err)
{
	(void)ctx;
	(void)res;
	(void)err; /* when it was last used is not worth a failure; db logs what is a bug */
}

static void fill(struct cached *c, const char *id, const struct db_result *res)
{
	static const unsigned int columns[TOKEN_SCOPES] = {TOK_READ, TOK_INGEST, TOK_WRITE,
							   TOK_ADMIN, TOK_GATE};
	const void *digest;
	size_t len;

	memset(c, 0, sizeof(*c));
	memcpy(c->id, id, sizeof(c->id));
	c->read_ns = clock_monotonic_ns();
	if (!db_rows(res))
		return;
	digest = db_bytes(res, 0, TOK_DIGEST, &len);
	CHECK(len == SHA256_LEN);
	memcpy(c->digest, digest, len);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		c->scopes |= db_bool(res, 0, columns[i]) ? 1u << i : 0;
	(void)snprintf(c->host, sizeof(c->host), "%s", db_text(res, 0, TOK_HOST));
	c->expires_ns = db_time_ns(res, 0, TOK_EXPIRES);
}

static void on_token(void *ctx, const struct db_result *res, const struct err *err)
{
	struct request *req = ctx;
	struct auth *a = req->server->auth;
	const struct db_param used[] = {P_TEXT(req->token.id)};
	struct cached *c = slot_of(a, req->token.id);

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	fill(c, req->token.id, res);
	if (c->scopes && token_digest_equal(c->digest, req->token.digest))
		db_query(a->db, DB_QUERY, &Q_TOKEN_USED, used, 1, QUERY_MS, NULL, on_ignored, NULL);
	decide(req, c);
}

static void check_token(struct auth *a, struct request *req)
{
	const struct cached *c = slot_of(a, req->token.id);
	const struct db_param params[] = {P_TEXT(req->token.id)};

	if (auth_is_blocked(req) && !is_known(c, &req->token))
		(void)auth_refuse_blocked(req);
	else if (strcmp(c->id, req->token.id) == 0 && c->read_ns + CACHE_NS > clock_monotonic_ns())
		decide(req, c);
	else
		db_query(a->db, DB_QUERY, &Q_TOKEN_FIND, params, 1, QUERY_MS, &req->pending,
			 on_token, req);
}

/* ---- what a request brings ---- */

/* The token of the session cookie, into buf. */
static const char *cookie_token(const struct request *req, char buf[TOKEN_TEXT_LEN + 1])
{
	const char *cookies = request_header(req, "Cookie");
	const char *at = cookies ? strstr(cookies, "rigstat_token=") : NULL;

	if (!at || (at != cookies && at[-1] != ' ' && at[-1] != ';'))
		return NULL;
	at += strlen("rigstat_token=");
	if (strcspn(at, "; ") != TOKEN_TEXT_LEN)
		return NULL;
	memcpy(buf, at, TOKEN_TEXT_LEN);
	buf[TOKEN_TEXT_LEN] = '\0';
	return buf;
}

/* A browser sends a page's cookie, and reaches an open server on its own machine, on behalf of
 * any page that it shows: such requests carry an Origin that is not ours. */
static bool is_foreign(const struct request *req)
{
	const char *origin = request_header(req, "Origin");
	const char *host = request_header(req, "Host");
	const char *name = origin ? strstr(origin, "://") : NULL;

	if (req->method == HTTP_GET || req->method == HTTP_HEAD || !origin)
		return false;
	return !name || !host || strcasecmp(name + 3, host) != 0;
}

/* Needs no token: for everybody, on an open server, or a reader where reading is open. */
static bool is_open(const struct auth *a, const struct request *req)
{
	enum scope scope = req->route->scope;

	return scope == SCOPE_NONE || !a->tokens_exist ||
	       (a->anonymous_read && scope == SCOPE_READ && !*req->token.id);
}

void auth_check(struct request *req, void (*go)(struct request *req))
{
	struct auth *a = req->server->auth;
	const char *header = request_header(req, "Authorization"), *text = NULL;
	char buf[TOKEN_TEXT_LEN + 1];
	bool is_token;

	if (is_foreign(req)) {
		(void)reply_problem(req, 403, "foreign-origin", NULL,
				    "The request comes from a page of another site.");
		return;
	}
	if (header)
		text = strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : "";
	else
		text = cookie_token(req, buf);
	is_token = text && token_parse(text, &req->token);
	if (text && !is_token && req->route->scope != SCOPE_NONE && a->tokens_exist)
		refuse_wrong(req);
	else
		auth_again(req, go);
}

void auth_again(struct request *req, void (*go)(struct request *req))
{
	struct auth *a = req->server->auth;

	req->auth_go = go;
	if (is_open(a, req))
		go(req);
	else if (!*req->token.id)
		refuse_401(req);
	else
		check_token(a, req);
}
