/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/auth.h"

#include <stdio.h>
#include <strings.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/token.h"

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

static void refuse_429(struct request *req)
{
	reply_header(req, "Retry-After", "60");
	(void)reply_problem(req, 429, "rate-limited", NULL,
			    "Too many wrong tokens came from this address.");
}

static void refuse_wrong(struct auth *a, struct request *req)
{
	struct failures *f = failures_of(a, req);

	if (f->n++ < FAILURES_MAX)
		refuse_401(req);
	else
		refuse_429(req);
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
	case SCOPE_READ:
		return scopes & (TOKEN_READ | TOKEN_WRITE | TOKEN_ADMIN);
	case SCOPE_INGEST:
		return scopes & (TOKEN_INGEST | TOKEN_ADMIN);
	case SCOPE_WRITE:
		return scopes & (TOKEN_WRITE | TOKEN_ADMIN);
	case SCOPE_ADMIN:
		return scopes & TOKEN_ADMIN;
	}
	return false;
}

static void decide(struct auth *a, struct request *req, const struct cached *c,
		   const struct token_text *token, void (*go)(struct request *req))
{
	bool good = token_digest_equal(c->digest, token->digest);

	if (!good || !c->scopes || (c->expires_ns && c->expires_ns < clock_realtime_ns())) {
		refuse_wrong(a, req);
		return;
	}
	if (!covers(c->scopes, req->route->scope)) {
		(void)reply_problem(req, 403, "auth-scope", NULL,
				    "This token does not have the scope for it.");
		return;
	}
	memcpy(req->token_host, c->host, sizeof(c->host));
	memcpy(req->token_id, c->id, sizeof(c->id));
	go(req);
}

/* ---- looking a token up ---- */

struct lookup {
	struct auth *a;
	struct request *req;
	struct token_text token;
	void (*go)(struct request *req);
};

enum { TOK_DIGEST, TOK_READ, TOK_INGEST, TOK_WRITE, TOK_ADMIN, TOK_HOST, TOK_EXPIRES };

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
	static const unsigned int columns[] = {TOK_READ, TOK_INGEST, TOK_WRITE, TOK_ADMIN};
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
	struct lookup *l = ctx;
	struct request *req = l->req;
	struct auth *a = l->a;
	struct token_text token = l->token;
	void (*go)(struct request * req) = l->go;
	const struct db_param used[] = {P_TEXT(token.id)};
	struct cached *c = slot_of(a, token.id);

	free(TAKE(req->ctx));
	req->ctx_free = NULL;
	if (err) {
		(void)reply_err(req, err);
		return;
	}
	fill(c, token.id, res);
	if (c->scopes && token_digest_equal(c->digest, token.digest))
		db_query(a->db, DB_QUERY, &Q_TOKEN_USED, used, 1, QUERY_MS, NULL, on_ignored, NULL);
	decide(a, req, c, &token, go);
}

static void look_up(struct auth *a, struct request *req, const struct token_text *token,
		    void (*go)(struct request *req))
{
	const struct db_param params[] = {P_TEXT(token->id)};
	struct lookup *l = xcalloc(1, sizeof(*l));

	*l = (struct lookup){a, req, *token, go};
	req->ctx = l; /* until the handler begins: freed with the request */
	req->ctx_free = free;
	db_query(a->db, DB_QUERY, &Q_TOKEN_FIND, params, 1, QUERY_MS, &req->pending, on_token, l);
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

void auth_check(struct request *req, void (*go)(struct request *req))
{
	struct auth *a = req->server->auth;
	const char *header = request_header(req, "Authorization"), *text = NULL;
	char buf[TOKEN_TEXT_LEN + 1];
	struct token_text token;
	const struct cached *c;

	if (is_foreign(req)) {
		(void)reply_problem(req, 403, "foreign-origin", NULL,
				    "The request comes from a page of another site.");
		return;
	}
	if (req->route->scope == SCOPE_NONE || !a->tokens_exist) {
		go(req);
		return;
	}
	if (header)
		text = strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : "";
	else
		text = cookie_token(req, buf);
	if (!text && a->anonymous_read && req->route->scope == SCOPE_READ) {
		go(req);
	} else if (!text) {
		refuse_401(req);
	} else if (!token_parse(text, &token)) {
		refuse_wrong(a, req);
	} else {
		c = slot_of(a, token.id);
		if (failures_of(a, req)->n >= FAILURES_MAX && !is_known(c, &token))
			refuse_429(req);
		else if (strcmp(c->id, token.id) == 0 &&
			 c->read_ns + CACHE_NS > clock_monotonic_ns())
			decide(a, req, c, &token, go);
		else
			look_up(a, req, &token, go);
	}
}
