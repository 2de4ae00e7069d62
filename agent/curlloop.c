/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One curl multi handle with one easy handle on a libuv loop, after curl's multi-uv example.
 *
 * Traps: a socket's uv_poll is stopped in the socket callback, before curl closes the fd, and
 * its memory lives until the close callback. A negative poll status becomes CURL_CSELECT_ERR.
 * curl's timeout of -1 stops the timer. Inside curl's callbacks the multi handle is not used:
 * answers are given from socket_action(), after it returned. */
#include "agent/curlloop.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "common/check.h"
#include "common/strbuf.h"

#define ANSWER_MAX	(64u << 10)
#define CONNECT_MS	10000L
#define USER_TIMEOUT_MS 30000
#define CURLLOOP_MAGIC	0x43554c50u
#define SOCKET_MAGIC	0x534f434bu

struct curlloop {
	uint32_t magic;
	struct transport transport;
	uv_loop_t *loop;
	uv_timer_t timer;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	char *ca_file, *user_agent, *pin;
	char error[CURL_ERROR_SIZE];
	struct strbuf answer;
	bool busy, fresh, too_long;
	void (*on_answer)(void *user, const struct http_answer *a);
	void *user;
	size_t handles; /* open uv handles */
	bool closing;
	void (*on_closed)(void *user);
	void *closed_user;
};

struct socket {
	uint32_t magic;
	uv_poll_t poll;
	struct curlloop *c;
	curl_socket_t fd;
};

/* ---- memory ---- */

static void handle_closed(struct curlloop *c)
{
	if (--c->handles || !c->closing)
		return;
	strbuf_done(&c->answer);
	free(c->ca_file);
	free(c->pin);
	free(c->user_agent);
	if (c->on_closed)
		c->on_closed(c->closed_user);
	free(c);
}

static void on_timer_closed(uv_handle_t *h)
{
	handle_closed(OBJ_CAST(h->data, struct curlloop, CURLLOOP_MAGIC));
}

static void on_socket_closed(uv_handle_t *h)
{
	struct socket *s = OBJ_CAST(h->data, struct socket, SOCKET_MAGIC);
	struct curlloop *c = s->c;

	free(s);
	handle_closed(c);
}

/* ---- answers ---- */

static void drop_request(struct curlloop *c)
{
	curl_multi_remove_handle(c->multi, c->easy);
	/* The easy handle keeps no pointer to the header with the token. */
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	for (struct curl_slist *h = c->headers; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl_slist_free_all(c->headers);
	c->headers = NULL;
	c->busy = false;
}

/* What to do about it, where curl's own words do not say. */
static const char *explain(struct curlloop *c, CURLcode code)
{
	size_t len = strlen(c->error);
	const char *more = NULL;

	switch (code) {
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
		return "the server has another key than the pinned one: if it was changed on "
		       "purpose, enrol again or set server-pin anew (rigstat-server pin prints "
		       "it); else somebody is in between";
	case CURLE_UNSUPPORTED_PROTOCOL:
		if (c->pin)
			return "a pinned server is spoken to by https:// only";
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		more = strstr(c->error, "not yet valid") || strstr(c->error, "expired")
			       ? "; is this box's clock right?"
			       : "; give ca-file, or the server's pin";
		break;
	default:
		break;
	}
	if (!len)
		return curl_easy_strerror(code);
	if (more && len + strlen(more) < sizeof(c->error))
		memcpy(c->error + len, more, strlen(more) + 1);
	return c->error;
}

static void give_answer(struct curlloop *c, CURLcode code)
{
	struct http_answer a = {.retry_after_ns = -1};
	curl_off_t retry = 0;
	long status = 0;

	if (code == CURLE_OK) {
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		if (!curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry) && retry > 0 &&
		    retry < INT64_MAX / NS_PER_SEC)
			a.retry_after_ns = retry * NS_PER_SEC;
		a.status = (int)status;
		a.body = c->answer.len ? c->answer.data : "";
		a.body_len = c->answer.len;
	} else {
		a.error = c->too_long ? "the answer is longer than 64 KiB" : explain(c, code);
	}
	drop_request(c);
	c->on_answer(c->user, &a);
}

static void take_finished(struct curlloop *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left)))
		if (m->msg == CURLMSG_DONE && c->busy) {
			give_answer(c, m->data.result);
			return; /* one request at a time: there is no other message */
		}
}

static void socket_action(struct curlloop *c, curl_socket_t fd, int events)
{
	int running;

	if (curl_multi_socket_action(c->multi, fd, events, &running) != CURLM_OK)
		return; /* the request's own timeout ends it */
	take_finished(c);
}

/* ---- curl's callbacks ---- */

static size_t on_body(char *data, size_t size, size_t n, void *user)
{
	struct curlloop *c = OBJ_CAST(user, struct curlloop, CURLLOOP_MAGIC);

	if (c->answer.len + size * n > ANSWER_MAX) {
		c->too_long = true;
		return 0;
	}
	strbuf_add(&c->answer, data, size * n);
	return size * n;
}

/* A peer that vanishes without a FIN is noticed in half a minute, not in a quarter of an hour. */
static int on_sockopt(void *user, curl_socket_t fd, curlsocktype type)
{
	unsigned int ms = USER_TIMEOUT_MS;

	(void)user;
	(void)type;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return CURL_SOCKOPT_OK;
}

static void on_poll(uv_poll_t *p, int status, int events)
{
	struct socket *s = OBJ_CAST(p->data, struct socket, SOCKET_MAGIC);
	int flags = 0;

	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	socket_action(s->c, s->fd, flags);
}

static struct socket *new_socket(struct curlloop *c, curl_socket_t fd)
{
	struct socket *s = xcalloc(1, sizeof(*s));

	s->magic = SOCKET_MAGIC;
	s->c = c;
	s->fd = fd;
	if (uv_poll_init_socket(c->loop, &s->poll, fd)) {
		free(s);
		return NULL;
	}
	s->poll.data = s;
	c->handles++;
	curl_multi_assign(c->multi, fd, s);
	return s;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *per_socket)
{
	struct curlloop *c = OBJ_CAST(user, struct curlloop, CURLLOOP_MAGIC);
	struct socket *s = per_socket;
	int events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s) {
			uv_poll_stop(&s->poll);
			curl_multi_assign(c->multi, fd, NULL);
			uv_close((uv_handle_t *)&s->poll, on_socket_closed);
		}
		return 0;
	}
	if (!s)
		s = new_socket(c, fd);
	if (!s)
		return -1;
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	return uv_poll_start(&s->poll, events, on_poll) ? -1 : 0;
}

static void on_timeout(uv_timer_t *t)
{
	socket_action(OBJ_CAST(t->data, struct curlloop, CURLLOOP_MAGIC), CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer(CURLM *multi, long ms, void *user)
{
	struct curlloop *c = OBJ_CAST(user, struct curlloop, CURLLOOP_MAGIC);

	(void)multi;
	if (c->closing)
		return 0;
	if (ms < 0)
		return uv_timer_stop(&c->timer);
	return uv_timer_start(&c->timer, on_timeout, (uint64_t)ms, 0);
}

/* ---- requests ---- */

static void set_fixed_options(struct curlloop *c)
{
	CURL *e = c->easy;

	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_PROXY, ""); /* no proxy from the environment */
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, 20L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, 60L);
	curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN, 600L);
	curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, on_sockopt);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(e, CURLOPT_USERAGENT, c->user_agent);
	if (c->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, c->ca_file);
	if (!c->pin)
		return;
	curl_easy_setopt(e, CURLOPT_PINNEDPUBLICKEY, c->pin);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "https");
	/* As with ssh: who has the key is the server, whatever its certificate says. */
	if (!c->ca_file) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static void set_request(struct curlloop *c, const struct http_request *r)
{
	CURL *e = c->easy;

	c->headers = curl_slist_append(NULL, "Expect:");
	for (size_t i = 0; r->headers && r->headers[i]; i++)
		c->headers = curl_slist_append(c->headers, r->headers[i]);
	curl_easy_setopt(e, CURLOPT_URL, r->url);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)(r->timeout_ns / NS_PER_MS));
	curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, c->fresh ? 1L : 0L);
	curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, c->fresh ? 0L : 60L);
	if (strcmp(r->method, "POST")) {
		curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	} else {
		curl_easy_setopt(e, CURLOPT_POST, 1L);
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, r->body);
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
	}
}

static void on_send(struct transport *t, const struct http_request *r,
		    void (*on_answer)(void *user, const struct http_answer *a), void *user)
{
	struct curlloop *c = CONTAINER_OF(t, struct curlloop, transport);

	CHECK(!c->busy && !c->closing);
	c->busy = true;
	c->too_long = false;
	c->error[0] = '\0';
	c->on_answer = on_answer;
	c->user = user;
	strbuf_clear(&c->answer);
	set_request(c, r);
	c->fresh = false;
	/* Only starts curl's timer; the request itself begins from the loop. */
	CHECK(curl_multi_add_handle(c->multi, c->easy) == CURLM_OK);
}

static void on_cancel(struct transport *t)
{
	struct curlloop *c = CONTAINER_OF(t, struct curlloop, transport);

	if (c->busy)
		drop_request(c);
}

static void on_drop_connections(struct transport *t)
{
	CONTAINER_OF(t, struct curlloop, transport)->fresh = true;
}

/* ---- life ---- */

int curlloop_new(uv_loop_t *loop, const struct curlloop_conf *conf, struct curlloop **ret,
		 struct err *reterr)
{
	struct curlloop *c;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(reterr, ERR_UNSUPPORTED, "libcurl cannot be initialised");
	c = xcalloc(1, sizeof(*c));
	c->magic = CURLLOOP_MAGIC;
	c->loop = loop;
	c->ca_file = conf->ca_file ? xstrdup(conf->ca_file) : NULL;
	c->pin = conf->pin ? xstrdup(conf->pin) : NULL;
	c->user_agent = xstrdup(conf->user_agent);
	c->transport = (struct transport){on_send, on_cancel, on_drop_connections};
	CHECK(!uv_timer_init(loop, &c->timer));
	c->timer.data = c;
	c->handles = 1;
	c->multi = curl_multi_init();
	c->easy = curl_easy_init();
	CHECK(c->multi && c->easy);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, 1L);
	set_fixed_options(c);
	*ret = c;
	return 0;
}

struct transport *curlloop_transport(struct curlloop *c)
{
	return &c->transport;
}

void curlloop_close(struct curlloop *c, void (*on_closed)(void *user), void *user)
{
	c->closing = true;
	c->on_closed = on_closed;
	c->closed_user = user;
	if (c->busy)
		drop_request(c);
	curl_easy_cleanup(c->easy);
	curl_multi_cleanup(c->multi); /* its socket callbacks close the poll handles */
	uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}
