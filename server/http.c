/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a request: MHD's callbacks note the event and step the exchange. Loop thread only. */
#include "server/http_server.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/audit.h"
#include "server/auth.h"
#include "server/http_internal.h"
#include "server/inflate.h"

#define HEADERS_MS	    10000 /* from the request line to the end of the headers */
#define BODY_MS		    30000
#define BODY_BYTES_MS	    256 /* and a millisecond more for so many bytes: 256 kB/s at least */
#define IDLE_MS		    75000
#define SEND_MS		    30000
#define SEND_BYTES_MS	    64
#define ROUTE_MS	    15000
#define BODIES_MAX	    (256ull << 20) /* of all requests together */
#define BODY_RESERVE	    (1u << 20)	   /* allocated at once; the rest as it comes */
#define REQUEST_HEADERS_MAX 100

struct route_stats {
	uint64_t count[6]; /* by status class */
	uint64_t ns;
};

struct http {
	struct mhdloop *mhd;
	struct server *server;
	struct http_exchange *exchanges;
	size_t n_exchanges, n_routes;
	struct route_stats *route_stats; /* one a route, and one for no route */
	uint64_t bodies, body_bytes;
	uint64_t serial;
	uint64_t refused;
	bool stopping;
	int64_t stop_at_ns;
	void (*on_idle)(void *ctx);
	void *idle_ctx;
};

static const char *const state_names[] = {
	"headers", "body", "begin", "wait", "reply", "sending", "paused",
};

void exchange_set_state(struct http_exchange *x, enum exchange_state to)
{
	static const unsigned int legal[] = {
		[X_HEADERS] = 1u << X_BODY | 1u << X_REPLY,
		[X_BODY] = 1u << X_BEGIN | 1u << X_REPLY,
		[X_BEGIN] = 1u << X_WAIT | 1u << X_REPLY,
		[X_WAIT] = 1u << X_REPLY,
		[X_REPLY] = 1u << X_SENDING,
		[X_SENDING] = 1u << X_PAUSED,
		[X_PAUSED] = 1u << X_SENDING,
	};

	CHECK(legal[x->state] & 1u << to);
	log_debug("http: %s %s -> %s", x->req.id, state_names[x->state], state_names[to]);
	x->state = to;
}

void exchange_resume(struct http_exchange *x)
{
	mhdloop_resume(x->http->mhd, x->conn);
}

void exchange_suspend(struct http_exchange *x)
{
	mhdloop_suspend(x->http->mhd, x->conn);
}

void exchange_replied(struct http_exchange *x, int status, struct MHD_Response *response)
{
	bool waiting = x->state == X_WAIT;

	CHECK(!x->response);
	x->response = response;
	x->status = status;
	audit_replied(&x->req, status, MHD_get_response_header(response, "Location"));
	exchange_set_state(x, X_REPLY);
	if (waiting)
		exchange_resume(x);
}

/* ---- making and ending an exchange ---- */

static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *conn)
{
	struct http *h = ctx;
	struct http_exchange *x = xcalloc(1, sizeof(*x));

	x->http = h;
	x->conn = conn;
	x->uri = xstrdup(uri);
	x->req.magic = REQUEST_MAGIC;
	x->req.server = h->server;
	x->req.x = x;
	x->req.url = x->uri;
	x->req.path = x->uri;
	x->req.arrived_ns = clock_monotonic_ns();
	(void)snprintf(x->req.id, sizeof(x->req.id), "%011llx%06llx%04llx",
		       (unsigned long long)(clock_realtime_ns() / NS_PER_MS) & 0xfffffffffff,
		       (unsigned long long)h->serial++ & 0xffffff,
		       (unsigned long long)(uintptr_t)h >> 12 & 0xffff);
	x->next = h->exchanges;
	x->link = &h->exchanges;
	if (x->next)
		x->next->link = &x->next;
	h->exchanges = x;
	h->n_exchanges++;
	mhdloop_set_deadline(conn, HEADERS_MS);
	return x;
}

static void count(struct http_exchange *x)
{
	struct http *h = x->http;
	size_t i = x->req.route ? (size_t)(x->req.route - routes) : h->n_routes;
	int64_t took = clock_monotonic_ns() - x->req.arrived_ns;

	h->route_stats[i].count[x->status / 100 <= 5 ? x->status / 100 : 0]++;
	h->route_stats[i].ns += (uint64_t)took;
	if (x->status >= 500)
		log_info("http: %s %d after %lld ms, request %s", x->uri, x->status,
			 (long long)(took / NS_PER_MS), x->req.id);
	else
		log_debug("http: %s %d after %lld us, request %s", x->uri, x->status,
			  (long long)(took / NS_PER_US), x->req.id);
}

static void on_completed(void *ctx, struct MHD_Connection *conn, void **con_cls,
			 enum MHD_RequestTerminationCode toe)
{
	struct http *h = ctx;
	struct http_exchange *x = *con_cls;

	(void)toe;
	if (!x)
		return;
	*con_cls = NULL;
	pending_cancel_all(&x->req.pending);
	if (x->req.ctx_free)
		x->req.ctx_free(x->req.ctx);
	count(x);
	if (x->stream)
		x->stream->x = NULL;
	if (x->response)
		MHD_destroy_response(x->response);
	for (size_t i = 0; i < x->n_headers; i++) {
		free(x->header_names[i]);
		free(x->header_values[i]);
	}
	h->bodies -= x->body_reserved;
	*x->link = x->next;
	if (x->next)
		x->next->link = x->link;
	h->n_exchanges--;
	strbuf_done(&x->body);
	free(x->uri);
	free(x->path_text);
	free(x->query_text);
	free(x->rest);
	free(x);
	mhdloop_set_deadline(conn, IDLE_MS);
}

/* ---- the headers ---- */

struct header_list {
	struct http_header v[REQUEST_HEADERS_MAX];
	size_t n;
	bool too_many;
};

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	struct header_list *l = cls;

	(void)kind;
	if (l->n == REQUEST_HEADERS_MAX) {
		l->too_many = true;
		return MHD_NO;
	}
	l->v[l->n++] = (struct http_header){name, value ? value : ""};
	return MHD_YES;
}

static enum step refuse(struct http_exchange *x, int status, const char *slug,
			const struct err *err)
{
	/* What follows on the connection is a body that nobody reads, or cannot be trusted. */
	x->close |= x->framing.content_length > 0;
	return reply_problem(&x->req, status, slug, NULL, "%s", err->text);
}

static int method_of(const char *text)
{
	static const struct {
		const char *text;
		enum http_method method;
	} table[] = {{"GET", HTTP_GET}, {"HEAD", HTTP_HEAD},   {"POST", HTTP_POST},
		     {"PUT", HTTP_PUT}, {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE}};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(text, table[i].text) == 0)
			return (int)table[i].method;
	return 0;
}

static void note_remote(struct http_exchange *x)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *sa = info ? info->client_addr : NULL;

	if (sa && sa->sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)sa)->sin_addr,
				x->remote, sizeof(x->remote));
	else if (sa && sa->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6,
				&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr,
				x->remote, sizeof(x->remote));
}

static bool check_framing(struct http_exchange *x, const char *version)
{
	struct header_list list = {.n = 0};
	struct err err;
	int status = 400;

	(void)MHD_get_connection_values(x->conn, MHD_HEADER_KIND, on_header, &list);
	x->close = true; /* until the shape is known to be good */
	if (list.too_many) {
		(void)err_set(&err, ERR_LIMIT, "more than %d headers", REQUEST_HEADERS_MAX);
		(void)refuse(x, 431, "too-many-headers", &err);
		return false;
	}
	if (http_check_headers(list.v, list.n, version, &x->framing, &status, &err) < 0) {
		(void)refuse(x, status, "bad-request", &err);
		return false;
	}
	x->close = false;
	return true;
}

static bool find_route(struct http_exchange *x)
{
	struct strbuf allow CLEANUP(strbuf_done) = {0};
	struct http_path path;
	struct err err;
	char *question;

	x->path_text = xstrdup(x->uri);
	question = strchr(x->path_text, '?');
	if (question) {
		*question = '\0';
		x->query_text = xstrdup(question + 1);
	}
	x->rest = xcalloc(1, strlen(x->path_text) + 1);
	if (http_split_path(x->path_text, &path, &err) < 0 ||
	    http_split_query(x->query_text, x->req.query, REQUEST_QUERY_PARAMS_MAX, &x->req.n_query,
			     &err) < 0) {
		(void)refuse(x, err_http_status(err.code),
			     err.code == ERR_NOT_FOUND ? "not-found" : "bad-request", &err);
		return false;
	}
	x->req.route = route_find(&x->req, &path, x->rest, strlen(x->uri) + 1, &allow);
	if (x->req.route)
		return true;
	if (allow.len) {
		reply_header(&x->req, "Allow", allow.data);
		(void)err_set(&err, ERR_INVALID, "this address answers %s", allow.data);
		(void)refuse(x, 405, "method-not-allowed", &err);
	} else {
		(void)err_set(&err, ERR_NOT_FOUND, "there is nothing at this address");
		(void)refuse(x, 404, "not-found", &err);
	}
	return false;
}

static bool check_body_size(struct http_exchange *x)
{
	struct http *h = x->http;
	uint64_t len = x->framing.content_length;
	struct err err;

	if (len > x->req.route->body_max) {
		(void)err_set(&err, ERR_LIMIT, "the body has %llu bytes; at most %zu are read here",
			      (unsigned long long)len, x->req.route->body_max);
		(void)refuse(x, 413, "too-large", &err);
		return false;
	}
	if (h->bodies + len > BODIES_MAX) {
		h->refused++;
		reply_header(&x->req, "Retry-After", "2");
		(void)err_set(&err, ERR_BUSY,
			      "too many bodies are being received: try again later");
		(void)refuse(x, 503, "busy", &err);
		return false;
	}
	return true;
}

/* The headers are complete: refuses early or waits for the body. */
static void on_headers(struct http_exchange *x, const char *method, const char *version)
{
	struct err err;

	note_remote(x);
	x->req.method = (enum http_method)method_of(method);
	if (!x->req.method) {
		(void)err_set(&err, ERR_INVALID, "this method is not known");
		(void)refuse(x, 405, "method-not-allowed", &err);
		return;
	}
	if (!check_framing(x, version) || !find_route(x) || !check_body_size(x))
		return;
	if (x->http->stopping) {
		(void)err_set(&err, ERR_BUSY, "the server is stopping");
		reply_header(&x->req, "Retry-After", "5");
		(void)refuse(x, 503, "busy", &err);
		return;
	}
	exchange_set_state(x, X_BODY);
	mhdloop_set_deadline(x->conn,
			     BODY_MS + (unsigned int)(x->framing.content_length / BODY_BYTES_MS));
}

/* ---- the body and the handler ---- */

/* False: the connection must be cut, because MHD takes no answer in the middle of a body. */
static bool on_body(struct http_exchange *x, const char *data, size_t len)
{
	struct http *h = x->http;

	if (x->body.len + len > x->framing.content_length || h->bodies + len > BODIES_MAX) {
		h->refused++;
		log_warn("http: request %s is cut off: bodies in memory are %llu bytes", x->req.id,
			 (unsigned long long)h->bodies);
		return false;
	}
	if (!x->body.cap)
		strbuf_reserve(&x->body, x->framing.content_length < BODY_RESERVE
						 ? x->framing.content_length + 1
						 : BODY_RESERVE);
	h->bodies += len;
	x->body_reserved += len;
	strbuf_add(&x->body, data, len);
	return true;
}

static bool inflate_body(struct http_exchange *x)
{
	struct strbuf plain = {0};
	struct err err;
	int rc;

	if (!x->framing.gzip || !x->body.len)
		return true;
	rc = gzip_inflate(x->body.data, x->body.len, x->req.route->body_max, &plain, &err);
	if (rc < 0) {
		strbuf_done(&plain);
		(void)reply_err(&x->req, &err);
		return false;
	}
	strbuf_done(&x->body);
	x->body = plain;
	return true;
}

static void on_authorized(struct request *req)
{
	struct http_exchange *x = req->x;
	enum step step = req->route->begin(req);

	if (step == STEP_DONE)
		CHECK(x->state == X_REPLY || x->state == X_SENDING);
}

/* The request is complete. */
static void on_request(struct http_exchange *x)
{
	unsigned int ms = x->req.route->deadline_ms ? x->req.route->deadline_ms : ROUTE_MS;

	exchange_set_state(x, X_BEGIN);
	x->http->body_bytes += x->body.len;
	x->deadline_ns = clock_monotonic_ns() + ms * NS_PER_MS;
	if (!inflate_body(x))
		return;
	strbuf_puts(&x->body, ""); /* ends it with a zero byte, also when empty */
	x->req.body = x->body.data ? x->body.data : "";
	x->req.body_len = x->body.len;
	auth_check(&x->req, on_authorized);
}

static enum MHD_Result queue_reply(struct http_exchange *x)
{
	enum MHD_Result rc;

	if (x->close)
		(void)MHD_add_response_header(x->response, "Connection", "close");
	exchange_set_state(x, X_SENDING);
	mhdloop_set_deadline(
		x->conn, x->stream ? 0 : SEND_MS + (unsigned int)(x->reply_len / SEND_BYTES_MS));
	rc = MHD_queue_response(x->conn, (unsigned int)x->status, x->response);
	MHD_destroy_response(TAKE(x->response)); /* MHD keeps its own reference */
	return rc;
}

static enum MHD_Result on_access(void *ctx, struct MHD_Connection *conn, const char *url,
				 const char *method, const char *version, const char *data,
				 size_t *size, void **con_cls)
{
	struct http_exchange *x = *con_cls;

	(void)ctx;
	(void)url;
	switch (x->state) {
	case X_HEADERS:
		on_headers(x, method, version);
		break;
	case X_BODY:
		if (*size) {
			if (!on_body(x, data, *size))
				return MHD_NO;
			*size = 0;
			break;
		}
		on_request(x);
		if (x->state == X_BEGIN) {
			exchange_set_state(x, X_WAIT);
			mhdloop_set_deadline(conn, 0);
			mhdloop_suspend(x->http->mhd, conn);
		}
		break;
	default:
		break;
	}
	return x->state == X_REPLY ? queue_reply(x) : MHD_YES;
}

/* ---- deadlines and the end ---- */

static void give_up(struct http_exchange *x, int status, const char *slug, const char *text)
{
	pending_cancel_all(&x->req.pending);
	reply_header(&x->req, "Retry-After", "2");
	(void)reply_problem(&x->req, status, slug, NULL, "%s", text);
}

static void on_tick(void *ctx, int64_t now_ns)
{
	struct http *h = ctx;
	bool cut = h->stopping && now_ns >= h->stop_at_ns;

	for (struct http_exchange *x = h->exchanges; x; x = x->next) {
		if (x->state == X_WAIT && cut)
			give_up(x, 503, "busy", "the server is stopping");
		else if (x->state == X_WAIT && now_ns >= x->deadline_ns)
			give_up(x, 503, "busy", "the answer took too long: try again later");
		else if (x->state == X_PAUSED && h->stopping)
			reply_stream_wake(&x->req);
		else if (cut && x->state != X_WAIT && x->state != X_PAUSED)
			mhdloop_cut(x->conn);
	}
	if (h->stopping && h->on_idle &&
	    (h->n_exchanges == 0 || (cut && mhdloop_stats(h->mhd).suspended == 0))) {
		void (*on_idle)(void *) = TAKE(h->on_idle);

		on_idle(h->idle_ctx);
	}
}

int http_start(struct uv_loop_s *loop, const struct mhdloop_options *o, struct server *server,
	       struct http **ret, struct err *reterr)
{
	struct http *h = xcalloc(1, sizeof(*h));
	const struct mhdloop_handler handler = {on_uri, on_access, on_completed, on_tick, h};
	int rc;

	h->server = server;
	while (routes[h->n_routes].begin)
		h->n_routes++;
	h->route_stats = xcalloc(h->n_routes + 1, sizeof(*h->route_stats));
	rc = mhdloop_new(loop, o, &handler, &h->mhd, reterr);
	if (rc < 0) {
		free(h->route_stats);
		free(h);
		return rc;
	}
	*ret = h;
	return 0;
}

const char *http_address(const struct http *h)
{
	return mhdloop_address(h->mhd);
}

bool exchange_stopping(const struct http_exchange *x)
{
	return x->http->stopping;
}

void http_stop(struct http *h, unsigned int grace_ms, void (*on_idle)(void *ctx), void *ctx)
{
	h->stopping = true;
	h->stop_at_ns = clock_monotonic_ns() + grace_ms * NS_PER_MS;
	h->on_idle = on_idle;
	h->idle_ctx = ctx;
	mhdloop_quiesce(h->mhd);
}

struct closing {
	struct http *http;
	void (*on_closed)(void *ctx);
	void *ctx;
};

static void on_mhd_closed(void *ctx)
{
	struct closing *c = ctx;

	free(c->http->route_stats);
	free(c->http);
	c->on_closed(c->ctx);
	free(c);
}

void http_close(struct http *h, void (*on_closed)(void *ctx), void *ctx)
{
	struct closing *c = xcalloc(1, sizeof(*c));

	*c = (struct closing){h, on_closed, ctx};
	mhdloop_close(h->mhd, on_mhd_closed, c);
}

/* ---- own state as Prometheus text ---- */

static const char *method_name(enum http_method m)
{
	switch (m) {
	case HTTP_GET:
		return "GET";
	case HTTP_HEAD:
		return "HEAD";
	case HTTP_POST:
		return "POST";
	case HTTP_PUT:
		return "PUT";
	case HTTP_PATCH:
		return "PATCH";
	case HTTP_DELETE:
		return "DELETE";
	}
	return "";
}

void http_put_metrics(const struct http *h, struct strbuf *out)
{
	struct mhdloop_stats m = mhdloop_stats(h->mhd);

	strbuf_puts(out, "# TYPE rigstat_http_requests_total counter\n");
	for (size_t i = 0; i <= h->n_routes; i++)
		for (int k = 0; k < 6; k++)
			if (h->route_stats[i].count[k])
				strbuf_printf(
					out,
					"rigstat_http_requests_total{method=\"%s\",route=\"%s\","
					"code=\"%dxx\"} %llu\n",
					i < h->n_routes ? method_name(routes[i].method) : "",
					i < h->n_routes ? routes[i].path : "", k,
					(unsigned long long)h->route_stats[i].count[k]);
	strbuf_puts(out, "# TYPE rigstat_http_request_seconds_total counter\n");
	for (size_t i = 0; i <= h->n_routes; i++)
		if (h->route_stats[i].ns)
			strbuf_printf(
				out,
				"rigstat_http_request_seconds_total{method=\"%s\",route=\"%s\"} "
				"%.6f\n",
				i < h->n_routes ? method_name(routes[i].method) : "",
				i < h->n_routes ? routes[i].path : "",
				(double)h->route_stats[i].ns / 1e9);
	strbuf_printf(out,
		      "# TYPE rigstat_http_connections gauge\nrigstat_http_connections %zu\n"
		      "# TYPE rigstat_http_suspended gauge\nrigstat_http_suspended %zu\n"
		      "# TYPE rigstat_http_connections_total counter\n"
		      "rigstat_http_connections_total %llu\n"
		      "# TYPE rigstat_http_cut_total counter\nrigstat_http_cut_total %llu\n"
		      "# TYPE rigstat_http_body_bytes_total counter\n"
		      "rigstat_http_body_bytes_total %llu\n"
		      "# TYPE rigstat_http_bodies_refused_total counter\n"
		      "rigstat_http_bodies_refused_total %llu\n",
		      m.connections, m.suspended, (unsigned long long)m.accepted,
		      (unsigned long long)m.cut, (unsigned long long)h->body_bytes,
		      (unsigned long long)h->refused);
}
