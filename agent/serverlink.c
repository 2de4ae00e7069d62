/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/serverlink.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/curlloop.h"
#include "common/check.h"

struct serverlink {
	const struct agent_conf *conf;
	struct curlloop *curl;
	bool busy;
	void (*on_answer)(void *user, const struct http_answer *answer);
	void (*on_closed)(void *user);
	void *user, *closed_user;
	char auth[600];
};

void serverlink_put_escaped(const char *s, struct strbuf *out)
{
	for (; *s; s++) {
		if ((*s >= '0' && *s <= '9') || ((*s | 32) >= 'a' && (*s | 32) <= 'z') ||
		    strchr("-._~", *s))
			strbuf_putc(out, *s);
		else
			strbuf_printf(out, "%%%02X", (unsigned char)*s);
	}
}

void serverlink_put_agent_path(const struct agent_conf *conf, struct strbuf *out)
{
	strbuf_puts(out, "/api/v1/hosts/");
	serverlink_put_escaped(conf->host, out);
	strbuf_puts(out, "/agent");
}

static void put_auth(struct serverlink *l)
{
	char token[512];
	ssize_t n = -1;
	int fd;

	*l->auth = '\0';
	if (!l->conf->token_file)
		return;
	fd = open(l->conf->token_file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, token, sizeof(token) - 1);
		close(fd);
	}
	token[n > 0 ? n : 0] = '\0';
	token[strcspn(token, "\r\n \t")] = '\0';
	snprintf(l->auth, sizeof(l->auth), "Authorization: Bearer %s", token);
	explicit_bzero(token, sizeof(token));
}

int serverlink_open(uv_loop_t *loop, const struct agent_conf *conf, struct serverlink **ret,
		    struct err *reterr)
{
	const struct curlloop_conf cc = {.ca_file = conf->ca_file,
					 .pin = conf->server_pin,
					 .user_agent = "rigstat-agent/" RIGSTAT_VERSION};
	struct serverlink *l = xcalloc(1, sizeof(*l));
	int rc = curlloop_new(loop, &cc, &l->curl, reterr);

	CHECK(conf->server);
	l->conf = conf;
	if (rc)
		free(l);
	else
		*ret = l;
	return rc;
}

static void on_answer(void *user, const struct http_answer *answer)
{
	struct serverlink *l = user;

	l->busy = false;
	l->on_answer(l->user, answer);
}

void serverlink_send(struct serverlink *l, const char *method, const char *path,
		     const struct strbuf *json, int64_t timeout_ns,
		     void (*answer)(void *user, const struct http_answer *answer), void *user)
{
	static const char type[] = "Content-Type: application/json";
	CLEANUP(freep) char *url = xasprintf("%s%s", l->conf->server, path);
	const char *headers[3] = {0};
	struct http_request r = {
		.method = method, .url = url, .headers = headers, .timeout_ns = timeout_ns};
	struct transport *t = curlloop_transport(l->curl);
	size_t n = 0;

	CHECK(!l->busy);
	put_auth(l);
	if (*l->auth)
		headers[n++] = l->auth;
	if (json) {
		headers[n++] = type;
		r.body = json->data;
		r.body_len = json->len;
	}
	l->busy = true;
	l->on_answer = answer;
	l->user = user;
	t->send(t, &r, on_answer, l);
	explicit_bzero(l->auth, sizeof(l->auth));
}

bool serverlink_busy(const struct serverlink *l)
{
	return l->busy;
}

void serverlink_cancel(struct serverlink *l)
{
	struct transport *t = curlloop_transport(l->curl);

	if (l->busy)
		t->cancel(t);
	l->busy = false;
}

static void on_curl_closed(void *user)
{
	struct serverlink *l = user;

	if (l->on_closed)
		l->on_closed(l->closed_user);
	free(l);
}

void serverlink_close(struct serverlink *l, void (*on_closed)(void *user), void *user)
{
	l->on_closed = on_closed;
	l->closed_user = user;
	curlloop_close(TAKE(l->curl), on_curl_closed, l);
}

/* ---- one question ---- */

struct question {
	bool done;
	int status;
	char *body;
	char error[400];
};

static void on_reply(void *user, const struct http_answer *a)
{
	struct question *q = user;

	q->done = true;
	q->status = a->status;
	q->body = a->status ? xstrdup(a->body ? a->body : "") : NULL;
	snprintf(q->error, sizeof(q->error), "%s", a->error ? a->error : "no answer");
}

static int ask(const struct agent_conf *conf, const char *path, const struct strbuf *json,
	       int64_t timeout_ns, char **ret_body, struct err *reterr)
{
	struct question q = {0};
	struct serverlink *l;
	uv_loop_t loop;

	CHECK(uv_loop_init(&loop) == 0);
	if (!serverlink_open(&loop, conf, &l, reterr)) {
		serverlink_send(l, json ? "POST" : "GET", path, json, timeout_ns, on_reply, &q);
		while (!q.done && uv_run(&loop, UV_RUN_ONCE))
			;
		serverlink_close(l, NULL, NULL);
		if (!q.status)
			(void)err_set(reterr, ERR_REMOTE, "%s cannot be reached: %s", conf->server,
				      q.error);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	CHECK(uv_loop_close(&loop) == 0);
	*ret_body = q.body;
	return q.status;
}

int serverlink_get(const struct agent_conf *conf, const char *path, int64_t timeout_ns,
		   char **ret_body, struct err *reterr)
{
	return ask(conf, path, NULL, timeout_ns, ret_body, reterr);
}

int serverlink_post(const struct agent_conf *conf, const char *path, const struct strbuf *json,
		    int64_t timeout_ns, char **ret_body, struct err *reterr)
{
	return ask(conf, path, json, timeout_ns, ret_body, reterr);
}
