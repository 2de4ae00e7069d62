/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start and ordered stop of everything on the loop. */
#include "server/server.h"

#include <signal.h>
#include <sys/resource.h>
#include <uv.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/notify.h"
#include "server/auth.h"
#include "server/compact.h"
#include "server/assignments.h"
#include "server/db.h"
#include "server/http_server.h"
#include "server/ingest.h"
#include "server/live.h"
#include "server/mhdloop.h"
#include "server/live_note.h"
#include "server/track.h"
#include "server/work.h"

#define QUERY_CONNECTIONS  4
#define INGEST_CONNECTIONS 4
#define DB_QUEUE_MAX	   512
#define WORK_QUEUE_MAX	   64
#define CONNECTIONS_MAX	   20000
#define RESERVED_FILES	   128 /* for PostgreSQL, files and libraries */
#define STOP_GRACE_MS	   5000
#define TICK_MS		   1000

struct process {
	struct server server; /* first */
	uv_loop_t loop;
	uv_signal_t term, intr;
	uv_timer_t tick;
	void (*on_second)(void *ctx);
	void *ctx;
	bool stopping;
};

static void on_uv_closed(uv_handle_t *handle)
{
	(void)handle;
}

/* ---- stop: each step starts the next ---- */

static void on_db_closed(void *ctx)
{
	struct process *p = ctx;

	p->server.db = NULL;
	ingest_free(TAKE(p->server.ingest));
	live_stop(p->server.live);
	uv_close((uv_handle_t *)&p->term, on_uv_closed);
	uv_close((uv_handle_t *)&p->intr, on_uv_closed);
	uv_close((uv_handle_t *)&p->tick, on_uv_closed);
}

static void on_http_closed(void *ctx)
{
	struct process *p = ctx;

	p->server.http = NULL;
	compact_stop(p->server.compact);
	track_stop(p->server.track);
	db_close(p->server.db, on_db_closed, p);
}

static void on_http_idle(void *ctx)
{
	struct process *p = ctx;

	http_close(p->server.http, on_http_closed, p);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct process *p = handle->data;

	if (p->stopping)
		return;
	p->stopping = true;
	p->server.ready = false;
	notify_service("STOPPING=1");
	log_info("stopping on signal %d", number);
	assignments_stop();
	http_stop(p->server.http, STOP_GRACE_MS, on_http_idle, p);
}

/* ---- start ---- */

static void on_tick(uv_timer_t *tick)
{
	struct process *p = tick->data;

	if (notify_watchdog_ns())
		notify_service("WATCHDOG=1"); /* the loop turns, also while stopping */
	if (p->stopping)
		return;
	if (p->server.ingest)
		ingest_tick(p->server.ingest);
	compact_tick(p->server.compact);
	track_tick(p->server.track);
	auth_tick(p->server.auth);
	assignments_tick();
	live_tick(p->server.live);
	if (p->on_second)
		p->on_second(p->ctx);
}

/* A box was retired, reserved or let go: who waits looks again, what is remembered is doubtful. */
static void on_hosts_changed(struct process *p)
{
	assignments_wake();
	if (p->server.ingest)
		ingest_forget(p->server.ingest);
}

static void on_notify(void *ctx, const char *payload)
{
	struct process *p = ctx;
	struct live_note note;
	struct err err;

	log_debug("notify: %s", payload);
	if (live_note_read(payload, &note, &err) < 0) {
		log_debug("%s: %s", err.text, payload); /* a newer server may say more */
		return;
	}
	if (note.kind == NOTE_TOKEN)
		auth_forget(p->server.auth);
	if ((note.kind == NOTE_ASSIGNMENT && note.what == NOTE_NEW) || note.kind == NOTE_TOKEN)
		assignments_wake();
	if (note.kind == NOTE_HOST && note.what == NOTE_CHANGED)
		on_hosts_changed(p);
	live_hear(p->server.live, &note);
}

static void on_listen(void *ctx, bool up)
{
	struct process *p = ctx;

	live_listening(p->server.live, up);
	if (up)
		on_hosts_changed(p); /* what changed meanwhile was told to nobody */
}

static void on_stored(void *ctx, int64_t host_id)
{
	struct process *p = ctx;

	live_stored(p->server.live, host_id);
}

static void start_handles(struct process *p)
{
	p->term.data = p->intr.data = p->tick.data = p;
	CHECK(uv_signal_init(&p->loop, &p->term) == 0 && uv_signal_init(&p->loop, &p->intr) == 0 &&
	      uv_timer_init(&p->loop, &p->tick) == 0);
	CHECK(uv_signal_start(&p->term, on_signal, SIGTERM) == 0 &&
	      uv_signal_start(&p->intr, on_signal, SIGINT) == 0 &&
	      uv_timer_start(&p->tick, on_tick, TICK_MS, TICK_MS) == 0);
}

/* As many connections as the limit of open files allows. */
static unsigned int connections_max(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 512;
	if (l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &l) < 0)
			log_warn("the limit of open files cannot be raised");
		(void)getrlimit(RLIMIT_NOFILE, &l);
	}
	if (l.rlim_cur > CONNECTIONS_MAX + RESERVED_FILES)
		return CONNECTIONS_MAX;
	return l.rlim_cur > 2 * RESERVED_FILES ? (unsigned int)l.rlim_cur - RESERVED_FILES
					       : RESERVED_FILES;
}

static void say_ready(struct process *p)
{
	const char *scheme = p->server.options.tls_cert ? "https" : "http";
	char *state CLEANUP(freep) = xasprintf("READY=1\nSTATUS=listening on %s://%s", scheme,
					       http_address(p->server.http));

	p->server.ready = true;
	log_info("listening on %s://%s", scheme, http_address(p->server.http));
	notify_service(state);
}

int server_run(const struct server_options *options, const char *conninfo, bool tokens_exist,
	       void (*tick)(void *ctx), void *ctx, struct err *reterr)
{
	struct process p = {.on_second = tick, .ctx = ctx};
	const struct db_options db = {.conninfo = conninfo,
				      .query_connections = QUERY_CONNECTIONS,
				      .ingest_connections = INGEST_CONNECTIONS,
				      .queue_max = DB_QUEUE_MAX,
				      .on_notify = on_notify,
				      .on_listen = on_listen,
				      .ctx = &p};
	const struct mhdloop_options http = {.listen = options->listen,
					     .reuse_port = options->reuse_port,
					     .connections_max = connections_max(),
					     .tls_cert = options->tls_cert,
					     .tls_key = options->tls_key};
	int rc;

	CHECK(uv_loop_init(&p.loop) == 0);
	(void)signal(SIGPIPE, SIG_IGN);
	p.server.options = *options;
	p.server.started_ns = clock_realtime_ns();
	rc = http_start(&p.loop, &http, &p.server, &p.server.http, reterr);
	if (rc < 0) {
		CHECK(uv_loop_close(&p.loop) == 0);
		return rc;
	}
	p.server.work = work_new(&p.loop, WORK_QUEUE_MAX);
	p.server.db = db_new(&p.loop, &db);
	p.server.ingest = ingest_new(p.server.db, on_stored, &p);
	p.server.live = live_new(&p.loop, &p.server);
	p.server.auth = auth_new(p.server.db, tokens_exist, options->anonymous_read);
	p.server.compact = compact_new(p.server.db, p.server.work, &options->keep);
	p.server.track = track_new(p.server.db, p.server.work);
	db_start(p.server.db);
	start_handles(&p);
	say_ready(&p);
	CHECK(uv_run(&p.loop, UV_RUN_DEFAULT) == 0);
	auth_free(p.server.auth);
	compact_free(p.server.compact);
	live_free(p.server.live);
	track_free(p.server.track);
	work_free(p.server.work);
	CHECK(uv_loop_close(&p.loop) == 0);
	log_info("stopped");
	return 0;
}
