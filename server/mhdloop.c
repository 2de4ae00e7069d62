/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/mhdloop.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

#define TICK_MS	       250
#define HEADERS_MS     10000 /* from accept until the first request's line */
#define INACTIVITY_S   75
#define CONN_MEMORY    (7 * 1024) /* headers of a request; what an idle connection costs */
#define LISTEN_BACKLOG 1024

struct conn {
	struct conn *next, **link;
	struct mhdloop *m;
	int fd;
	int64_t deadline_ns; /* monotonic, 0 = none */
	bool suspended, cut;
};

struct mhdloop {
	uv_loop_t *loop;
	uv_poll_t poll;
	uv_timer_t timer, tick;
	uv_idle_t kick;
	struct MHD_Daemon *daemon;
	struct mhdloop_handler handler;
	struct conn *conns;
	struct mhdloop_stats stats;
	int listen_fd; /* owned by MHD until it is quiesced */
	bool quiesced, in_run;
	char address[80];
	unsigned int open_handles;
	void (*on_closed)(void *ctx);
	void *closed_ctx;
};

static void on_kick(uv_idle_t *kick);
static void on_timer(uv_timer_t *timer);

/* ---- MHD on the loop ---- */

static void run(struct mhdloop *m)
{
	MHD_UNSIGNED_LONG_LONG ms;

	CHECK(!m->in_run);
	m->in_run = true;
	(void)MHD_run(m->daemon);
	m->in_run = false;
	if (MHD_get_timeout(m->daemon, &ms) != MHD_YES)
		(void)uv_timer_stop(&m->timer);
	else if (ms == 0)
		(void)uv_idle_start(&m->kick, on_kick);
	else
		(void)uv_timer_start(&m->timer, on_timer, ms, 0);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
	run(CONTAINER_OF(timer, struct mhdloop, timer));
}

static void on_kick(uv_idle_t *kick)
{
	(void)uv_idle_stop(kick);
	run(CONTAINER_OF(kick, struct mhdloop, kick));
}

static void on_tick(uv_timer_t *tick)
{
	struct mhdloop *m = CONTAINER_OF(tick, struct mhdloop, tick);
	int64_t now = clock_monotonic_ns();

	for (struct conn *c = m->conns; c; c = c->next) {
		if (!c->deadline_ns || c->suspended || c->cut || now < c->deadline_ns)
			continue;
		c->cut = true;
		m->stats.cut++;
		(void)shutdown(c->fd, SHUT_RDWR); /* MHD sees the end and closes */
	}
	m->handler.on_tick(m->handler.ctx, now);
}

static struct conn *conn_of(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	CHECK(info && info->socket_context);
	return info->socket_context;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct mhdloop *m = cls;
	struct conn *c = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		c = xcalloc(1, sizeof(*c));
		c->m = m;
		c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd;
		c->deadline_ns = clock_monotonic_ns() + HEADERS_MS * NS_PER_MS;
		c->next = m->conns;
		c->link = &m->conns;
		if (c->next)
			c->next->link = &c->next;
		m->conns = c;
		m->stats.connections++;
		m->stats.accepted++;
		*socket_context = c;
		return;
	}
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	m->stats.connections--;
	free(c);
	*socket_context = NULL;
}

void mhdloop_set_deadline(struct MHD_Connection *conn, unsigned int ms)
{
	conn_of(conn)->deadline_ns = ms ? clock_monotonic_ns() + ms * NS_PER_MS : 0;
}

void mhdloop_cut(struct MHD_Connection *conn)
{
	struct conn *c = conn_of(conn);

	c->cut = true;
	(void)shutdown(c->fd, SHUT_RDWR);
}

void mhdloop_limit_send(struct MHD_Connection *conn, int bytes)
{
	(void)setsockopt(conn_of(conn)->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

void mhdloop_suspend(struct mhdloop *m, struct MHD_Connection *conn)
{
	struct conn *c = conn_of(conn);

	CHECK(!c->suspended);
	c->suspended = true;
	m->stats.suspended++;
	MHD_suspend_connection(conn);
}

void mhdloop_resume(struct mhdloop *m, struct MHD_Connection *conn)
{
	struct conn *c = conn_of(conn);

	CHECK(c->suspended);
	c->suspended = false;
	m->stats.suspended--;
	MHD_resume_connection(conn);
	(void)uv_idle_start(&m->kick, on_kick); /* many resumes, one MHD_run */
}

/* ---- the listening socket ---- */

/* "HOST:PORT" -> parts; "*" or an empty host is every address. */
static int split_address(const char *text, char *host, size_t cap, const char **ret_port,
			 struct err *reterr)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	const char *start = text;

	if (!colon || !colon[1])
		return err_set(reterr, ERR_INVALID,
			       "--listen %s: expected ADDRESS:PORT, e.g. 127.0.0.1:8420", text);
	if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
		start++;
		n -= 2;
	}
	if (n >= cap)
		return err_set(reterr, ERR_INVALID, "--listen %s: the address is too long", text);
	memcpy(host, start, n);
	host[n] = '\0';
	if (strcmp(host, "*") == 0)
		host[0] = '\0';
	*ret_port = colon + 1;
	return 0;
}

static int open_socket(const struct addrinfo *ai, bool reuse_port, const char *text,
		       struct err *reterr)
{
	int on = 1, off = 0;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(reterr, errno, "--listen %s: socket", text);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ai->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if ((reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
		int e = errno;

		close(fd);
		return err_errno(reterr, e, "--listen %s%s", text,
				 e == EADDRINUSE ? " (another program has this port)" : "");
	}
	return fd;
}

static int listen_on(const char *text, bool reuse_port, struct err *reterr)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *list, *pick;
	char host[256];
	const char *port = NULL;
	int rc = split_address(text, host, sizeof(host), &port, reterr);

	if (rc < 0)
		return rc;
	rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);
	if (rc != 0)
		return err_set(reterr, ERR_INVALID, "--listen %s: %s", text, gai_strerror(rc));
	/* For "every address" the IPv6 socket serves both families. */
	pick = list;
	for (struct addrinfo *ai = list; ai && !*host; ai = ai->ai_next)
		if (ai->ai_family == AF_INET6)
			pick = ai;
	rc = open_socket(pick, reuse_port, text, reterr);
	if (rc < 0 && pick != list && pick->ai_family == AF_INET6)
		rc = open_socket(list, reuse_port, text, reterr); /* no IPv6 here */
	freeaddrinfo(list);
	return rc;
}

static void name_address(struct mhdloop *m)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char host[64] = "?", port[8] = "?";

	if (getsockname(m->listen_fd, (struct sockaddr *)&ss, &len) == 0)
		(void)getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port,
				  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	(void)snprintf(m->address, sizeof(m->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s",
		       host, port);
}

/* ---- start and stop ---- */

static void on_mhd_log(void *cls, const char *fmt, va_list ap)
{
	char text[500];
	size_t n;

	(void)cls;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(text);
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	log_debug("mhd: %s", text);
}

/* http.c decodes paths and queries itself, strictly. */
static size_t keep_escaped(void *cls, struct MHD_Connection *conn, char *s)
{
	(void)cls;
	(void)conn;
	return strlen(s);
}

static struct MHD_Daemon *start_daemon(struct mhdloop *m, const struct mhdloop_options *o)
{
	struct MHD_OptionItem items[20];
	unsigned int flags = MHD_USE_EPOLL | MHD_USE_SUSPEND_RESUME | MHD_USE_TURBO |
			     MHD_USE_ERROR_LOG | (o->tls_cert ? MHD_USE_TLS : 0u);
	size_t n = 0;

#define ITEM(opt, v, p)                                                                            \
	(items[n++] = (struct MHD_OptionItem){(opt), (intptr_t)(v), (void *)(uintptr_t)(p)})
	ITEM(MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL);
	ITEM(MHD_OPTION_LISTEN_SOCKET, m->listen_fd, NULL);
	ITEM(MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONN_MEMORY, NULL);
	ITEM(MHD_OPTION_CONNECTION_LIMIT, o->connections_max, NULL);
	ITEM(MHD_OPTION_CONNECTION_TIMEOUT, INACTIVITY_S, NULL);
	ITEM(MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL);
	ITEM(MHD_OPTION_NOTIFY_CONNECTION, on_connection, m);
	ITEM(MHD_OPTION_NOTIFY_COMPLETED, m->handler.on_completed, m->handler.ctx);
	ITEM(MHD_OPTION_URI_LOG_CALLBACK, m->handler.on_uri, m->handler.ctx);
	ITEM(MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL);
	if (o->tls_cert) {
		ITEM(MHD_OPTION_HTTPS_MEM_CERT, 0, o->tls_cert);
		ITEM(MHD_OPTION_HTTPS_MEM_KEY, 0, o->tls_key);
	}
	ITEM(MHD_OPTION_END, 0, NULL);
#undef ITEM
	return MHD_start_daemon(flags, 0, NULL, NULL, m->handler.on_access, m->handler.ctx,
				MHD_OPTION_ARRAY, items, MHD_OPTION_END);
}

int mhdloop_new(uv_loop_t *loop, const struct mhdloop_options *o,
		const struct mhdloop_handler *handler, struct mhdloop **ret, struct err *reterr)
{
	struct mhdloop *m;
	const union MHD_DaemonInfo *info;
	int fd = listen_on(o->listen, o->reuse_port, reterr);

	if (fd < 0)
		return fd;
	m = xcalloc(1, sizeof(*m));
	m->loop = loop;
	m->handler = *handler;
	m->listen_fd = fd;
	name_address(m);
	m->daemon = start_daemon(m, o);
	if (!m->daemon) {
		close(fd);
		free(m);
		return err_set(reterr, ERR_INVALID, "the HTTP server does not start%s",
			       o->tls_cert ? ": check the TLS certificate and key" : "");
	}
	info = MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	CHECK(info && uv_poll_init(loop, &m->poll, info->epoll_fd) == 0);
	CHECK(uv_timer_init(loop, &m->timer) == 0 && uv_timer_init(loop, &m->tick) == 0 &&
	      uv_idle_init(loop, &m->kick) == 0);
	m->poll.data = m->timer.data = m->tick.data = m->kick.data = m;
	CHECK(uv_poll_start(&m->poll, UV_READABLE, on_ready) == 0);
	CHECK(uv_timer_start(&m->tick, on_tick, TICK_MS, TICK_MS) == 0);
	*ret = m;
	return 0;
}

const char *mhdloop_address(const struct mhdloop *m)
{
	return m->address;
}

struct mhdloop_stats mhdloop_stats(const struct mhdloop *m)
{
	return m->stats;
}

void mhdloop_quiesce(struct mhdloop *m)
{
	if (m->quiesced)
		return;
	m->quiesced = true;
	if (MHD_quiesce_daemon(m->daemon) != MHD_INVALID_SOCKET)
		close(m->listen_fd);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct mhdloop *m = handle->data;

	if (--m->open_handles)
		return;
	m->on_closed(m->closed_ctx);
	free(m);
}

void mhdloop_close(struct mhdloop *m, void (*on_closed)(void *ctx), void *ctx)
{
	uv_handle_t *const handles[] = {(uv_handle_t *)&m->poll, (uv_handle_t *)&m->timer,
					(uv_handle_t *)&m->tick, (uv_handle_t *)&m->kick};

	CHECK(m->stats.suspended == 0);
	m->on_closed = on_closed;
	m->closed_ctx = ctx;
	m->open_handles = ARRAY_LEN(handles);
	(void)uv_poll_stop(&m->poll);
	for (size_t i = 0; i < ARRAY_LEN(handles); i++)
		uv_close(handles[i], on_handle_closed);
	MHD_stop_daemon(m->daemon); /* calls on_completed for what is open */
	CHECK(m->stats.connections == 0);
}
