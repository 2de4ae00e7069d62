/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/renewal.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/random.h>

#include "agent/command.h"
#include "agent/identity.h"
#include "agent/serverlink.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"

#define FIRST_MS   2000 /* all rests: and up to an eighth more */
#define USUAL_MS   (6 * 3600 * 1000)
#define RETRY_MS   (10 * 60 * 1000)
#define HELD_MS	   30000
#define SOON_MS	   1000 /* the shortest rest: short lives are for tests */
#define TIMEOUT_NS (20 * NS_PER_SEC)

enum state {
	R_RESTING,  /* the timer, then we ask how long the token lives */
	R_ASKING,   /* the answer to that */
	R_RENEWING, /* the answer to the successor's digest */
	R_CLOSING   /* the timer's end */
};

struct renewal {
	uv_loop_t *loop;
	const struct agent_conf *conf;
	struct serverlink *link; /* only while a question is open */
	uv_timer_t timer;
	enum state state;
	bool hold, warned;
	struct strbuf body;
};

int64_t renewal_due_ns(int64_t created_ns, int64_t expires_ns)
{
	return expires_ns ? expires_ns - (expires_ns - created_ns) / 3 : INT64_MAX;
}

/* ---- the successor, for the daemon and for `rotate` ---- */

static char *next_name(const char *token_file)
{
	const char *slash = strrchr(token_file, '/');

	return xasprintf("%s.next", slash ? slash + 1 : token_file);
}

/* The body of POST /token/rotate, for the successor that waits beside the token file. */
static int put_successor(const struct agent_conf *conf, struct strbuf *out, struct err *reterr)
{
	char *dir CLEANUP(freep) = identity_dir_of(conf->token_file);
	char *name CLEANUP(freep) = next_name(conf->token_file);
	char text[TOKEN_TEXT_LEN + 1];
	struct token_text token;

	if (identity_pending(dir, name, text, &token, reterr))
		return reterr->code;
	explicit_bzero(text, sizeof(text));
	strbuf_clear(out);
	strbuf_printf(out, "{\"token_id\":\"%s\",\"token_sha256\":\"", token.id);
	for (size_t i = 0; i < SHA256_LEN; i++)
		strbuf_printf(out, "%02x", token.digest[i]);
	strbuf_puts(out, "\"}");
	return 0;
}

static int promote(const struct agent_conf *conf, struct err *reterr)
{
	char *dir CLEANUP(freep) = identity_dir_of(conf->token_file);
	char *name CLEANUP(freep) = next_name(conf->token_file);

	return identity_promote(dir, name, conf->token_file, reterr);
}

/* The server will not take it: the next attempt makes another. */
static void drop_successor(const struct agent_conf *conf)
{
	char *dir CLEANUP(freep) = identity_dir_of(conf->token_file);
	char *name CLEANUP(freep) = next_name(conf->token_file);

	identity_drop(dir, name);
}

/* ---- the daemon ---- */

static void on_timer(uv_timer_t *timer);

static void rest(struct renewal *r, int64_t ms)
{
	uint32_t random = 0;

	CHECK(getrandom(&random, sizeof(random), 0) == sizeof(random));
	r->state = R_RESTING;
	ms = ms > USUAL_MS ? USUAL_MS : ms;
	ms = ms < SOON_MS ? SOON_MS : ms;
	uv_timer_start(&r->timer, on_timer, (uint64_t)ms + random % ((uint64_t)ms / 8), 0);
}

static void end_question(struct renewal *r, int64_t rest_ms)
{
	if (r->link)
		serverlink_close(TAKE(r->link), NULL, NULL);
	rest(r, rest_ms);
}

static void on_renewed(void *user, const struct http_answer *a)
{
	struct renewal *r = user;
	struct err err;

	if (a->status == 200 && promote(r->conf, &err)) {
		log_error("%s", err.text);
	} else if (a->status == 200) {
		log_info("the token was renewed: %s", r->conf->token_file);
		end_question(r, FIRST_MS);
		return;
	} else {
		if (a->status == 409)
			drop_successor(r->conf);
		log_warn("the token could not be renewed: HTTP %d %s; trying again", a->status,
			 a->error ? a->error : "");
	}
	end_question(r, RETRY_MS);
}

static void renew(struct renewal *r)
{
	struct err err;

	if (put_successor(r->conf, &r->body, &err)) {
		if (!r->warned)
			log_warn("the token ends soon and the daemon cannot renew it (%s): run "
				 "rigstat-agent rotate as root",
				 err.text);
		r->warned = true;
		end_question(r, RETRY_MS);
		return;
	}
	r->state = R_RENEWING;
	serverlink_send(r->link, "POST", "/api/v1/token/rotate", &r->body, TIMEOUT_NS, on_renewed,
			r);
}

static int64_t time_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	int64_t ns;

	return text && clock_parse_rfc3339(text, &ns) ? ns : 0;
}

static void on_life(void *user, const struct http_answer *a)
{
	struct renewal *r = user;
	json_t *o = a->status == 200 ? json_loads(a->body, JSON_REJECT_DUPLICATES, NULL) : NULL;
	int64_t created = time_of(o, "created"), expires = time_of(o, "expires");
	int64_t due = renewal_due_ns(created, expires), now = clock_realtime_ns();

	json_decref(o);
	if (a->status != 200)
		end_question(r, a->status == 404 ? USUAL_MS : RETRY_MS);
	else if (due <= now)
		renew(r);
	else
		end_question(r, due == INT64_MAX ? USUAL_MS : (due - now) / NS_PER_MS + SOON_MS);
}

static void on_timer(uv_timer_t *timer)
{
	struct renewal *r = timer->data;
	struct err err;

	if (r->hold) {
		rest(r, HELD_MS);
		return;
	}
	if (serverlink_open(r->loop, r->conf, &r->link, &err)) {
		log_warn("%s", err.text);
		rest(r, RETRY_MS);
		return;
	}
	r->state = R_ASKING;
	serverlink_send(r->link, "GET", "/api/v1/token", NULL, TIMEOUT_NS, on_life, r);
}

struct renewal *renewal_open(uv_loop_t *loop, const struct agent_conf *conf)
{
	struct renewal *r;

	if (!conf->server || !conf->token_file)
		return NULL;
	r = xcalloc(1, sizeof(*r));
	r->loop = loop;
	r->conf = conf;
	CHECK(!uv_timer_init(loop, &r->timer));
	r->timer.data = r;
	rest(r, FIRST_MS);
	return r;
}

void renewal_hold(struct renewal *r, bool hold)
{
	if (!r)
		return;
	r->hold = hold;
	if (!hold || r->state == R_RESTING || r->state == R_CLOSING)
		return;
	serverlink_cancel(r->link);
	end_question(r, HELD_MS);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct renewal *r = handle->data;

	strbuf_done(&r->body);
	free(r);
}

void renewal_close(struct renewal *r)
{
	if (!r)
		return;
	r->state = R_CLOSING;
	if (r->link)
		serverlink_close(TAKE(r->link), NULL, NULL);
	uv_close((uv_handle_t *)&r->timer, on_timer_closed);
}

/* ---- rigstat-agent rotate ---- */

static int rotate(const struct agent_conf *conf, struct err *reterr)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	char *answer CLEANUP(freep) = NULL;
	const char *detail;
	json_t *o;
	int status;

	if (!conf->server || !conf->token_file)
		return err_set(reterr, ERR_INVALID,
			       "%s names no server or no token-file: rigstat-agent enroll writes "
			       "both",
			       conf->file);
	if (put_successor(conf, &body, reterr))
		return reterr->code;
	status = serverlink_post(conf, "/api/v1/token/rotate", &body, TIMEOUT_NS, &answer, reterr);
	if (!status)
		return reterr->code;
	if (status == 200)
		return promote(conf, reterr);
	if (status == 409)
		drop_successor(conf);
	o = json_loads(answer, 0, NULL);
	detail = json_string_value(json_object_get(o, "detail"));
	if (!detail || !text_is_clean(detail, strlen(detail)))
		detail = "";
	(void)err_set(reterr, status >= 500 ? ERR_BUSY : ERR_PERM,
		      "the server refuses: HTTP %d %s%s", status, detail,
		      status == 401 ? " The present token is over: enrol again (rigstat-agent "
				      "enroll)."
				    : "");
	json_decref(o);
	return reterr->code;
}

int cmd_rotate(int argc, char **argv)
{
	struct agent_conf conf;
	bool wants_help;
	int rest, r;
	struct err err;

	agent_conf_init(&conf);
	r = agent_conf_args(&conf, argc, argv, NULL, NULL, &rest, &wants_help, &err);
	if (!r && wants_help) {
		printf("usage: rigstat-agent rotate [OPTIONS]\n\nReplaces the token of this box by "
		       "a new one with the same rights. The old one is over when the\nnew one is "
		       "first used; a running daemon takes the new one by itself, and renews "
		       "tokens that\nend in any case.\n\n  --config FILE         read this instead "
		       "of /etc/rigstat/agent.conf\n  --token-file FILE     the token, when the "
		       "file does not name it\n  --server URL          the server, when the file "
		       "does not name it\n");
	} else {
		if (!r && rest != argc)
			r = err_set(&err, ERR_INVALID, "rotate takes no argument \"%s\"",
				    argv[rest]);
		if (!r)
			r = rotate(&conf, &err);
		if (!r)
			printf("%s holds the new token.\n", conf.token_file);
	}
	if (r)
		log_error("%s", err.text);
	agent_conf_done(&conf);
	return r ? err_exit_status(r) : 0;
}
