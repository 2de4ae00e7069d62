/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All watchers: notes in, marks, the timer that wakes, beats, and tokens looked at again. */
#include <inttypes.h>
#include <stdio.h>
#include <uv.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/auth.h"
#include "server/db.h"
#include "server/live_internal.h"
#include "server/queries.h"
#include "server/server.h"

#define FLUSH_MS    250 /* four updates a second at most */
#define BEAT_TICKS  5
#define CHECK_TICKS 30
#define TELL_MS	    5000
#define STORED_MAX  100000 /* hosts between two ticks; more than any lab has */

static void on_flush(uv_timer_t *timer);

struct live *live_new(struct uv_loop_s *loop, struct server *server)
{
	struct live *l = xcalloc(1, sizeof(*l));

	l->server = server;
	(void)snprintf(l->epoch, sizeof(l->epoch), "%" PRIx64,
		       (uint64_t)(clock_realtime_ns() / NS_PER_US));
	l->flush = xcalloc(1, sizeof(*l->flush));
	CHECK(uv_timer_init(loop, l->flush) == 0);
	l->flush->data = l;
	return l;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

void live_stop(struct live *l)
{
	l->stopped = true;
	uv_close((uv_handle_t *)l->flush, on_closed);
}

void live_free(struct live *l)
{
	CHECK(!l->watchers);
	free(l->stored);
	free(l);
}

struct live_stats live_stats(const struct live *l)
{
	return l->stats;
}

/* ---- notes ---- */

static bool is_marked(const struct watcher *w)
{
	if (w->hello || w->beat || w->reset || w->state || w->denied)
		return true;
	for (size_t i = 0; i < w->n; i++)
		if (w->topics[i].changes)
			return true;
	return false;
}

/* The first mark starts the clock; what comes until it rings shares the event. */
static void flush_soon(struct live *l)
{
	if (!l->stopped && !uv_is_active((uv_handle_t *)l->flush))
		CHECK(uv_timer_start(l->flush, on_flush, FLUSH_MS, 0) == 0);
}

static void on_flush(uv_timer_t *timer)
{
	struct live *l = timer->data;

	for (struct watcher *w = l->watchers; w; w = w->next)
		if (is_marked(w))
			watcher_wake(w);
}

static void remember(struct live *l, const struct live_note *n)
{
	if (n->kind == NOTE_DATA) {
		l->last_data = l->serial;
		return;
	}
	if (l->n_ring == RING_MAX)
		l->ring_first = l->ring_serial[l->at_ring];
	else
		l->n_ring++;
	l->ring_serial[l->at_ring] = l->serial;
	l->ring[l->at_ring] = (struct past){n->kind, n->what, n->host, n->experiment, n->run};
	l->at_ring = (l->at_ring + 1) % RING_MAX;
}

void live_hear(struct live *l, const struct live_note *n)
{
	bool any = false;

	if (n->kind == NOTE_TOKEN) {
		l->ticks = 0; /* the next tick asks */
		return;
	}
	l->serial++;
	l->stats.notes++;
	remember(l, n);
	for (struct watcher *w = l->watchers; w; w = w->next)
		any |= watcher_mark(w, n);
	if (any)
		flush_soon(l);
}

/* Records came for all we know: they are not in the ring, but their pages ask for what is new. */
static void mark_data(struct watcher *w)
{
	struct live_note n = {.kind = NOTE_DATA, .n_hosts = 1};

	for (size_t i = 0; i < w->n; i++) {
		n.hosts[0] = w->topics[i].host_id;
		(void)watcher_mark(w, &n);
	}
}

void live_catch_up(struct live *l, struct watcher *w)
{
	if (w->foreign || (w->has_after && (w->after < l->ring_first || w->after > l->serial))) {
		w->reset = true;
		return;
	}
	if (!w->has_after)
		return;
	for (size_t i = 0; i < l->n_ring; i++) {
		size_t k = (l->at_ring + RING_MAX - l->n_ring + i) % RING_MAX;
		const struct past *p = &l->ring[k];
		struct live_note n = {.kind = p->kind,
				      .what = p->what,
				      .host = p->host,
				      .experiment = p->experiment,
				      .run = p->run};

		if (l->ring_serial[k] > w->after)
			(void)watcher_mark(w, &n);
	}
	if (l->last_data > w->after)
		mark_data(w);
}

void live_listening(struct live *l, bool up)
{
	if (l->listening == up)
		return;
	l->listening = up;
	for (struct watcher *w = l->watchers; w; w = w->next) {
		w->state = true;
		w->reset |= up; /* notes were lost meanwhile */
	}
	if (l->watchers)
		flush_soon(l);
}

/* ---- telling all servers about records that came to this one ---- */

void live_stored(struct live *l, int64_t host_id)
{
	size_t lo = 0, hi = l->n_stored;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->stored[mid] < host_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if ((lo < l->n_stored && l->stored[lo] == host_id) || l->n_stored == STORED_MAX)
		return;
	GROW(l->stored, l->n_stored, l->cap_stored);
	memmove(&l->stored[lo + 1], &l->stored[lo], (l->n_stored - lo) * sizeof(*l->stored));
	l->stored[lo] = host_id;
	l->n_stored++;
}

static void on_told(void *ctx, const struct db_result *res, const struct err *err)
{
	(void)ctx;
	(void)res;
	if (err)
		log_debug("live: %s", err->text); /* the next second tells again */
}

static void tell_stored(struct live *l)
{
	for (size_t i = 0; i < l->n_stored; i += NOTE_HOSTS_MAX) {
		struct strbuf note CLEANUP(strbuf_done) = {0};
		size_t n = l->n_stored - i < NOTE_HOSTS_MAX ? l->n_stored - i : NOTE_HOSTS_MAX;

		live_note_put_data(&note, l->stored + i, n);
		db_query(l->server->db, DB_QUERY, &Q_LIVE_TELL,
			 (struct db_param[]){P_TEXT(note.data)}, 1, TELL_MS, NULL, on_told, NULL);
	}
	l->n_stored = 0;
}

/* ---- tokens again ---- */

static bool is_good(const struct db_result *r, const char *id)
{
	for (size_t i = 0; i < db_rows(r); i++)
		if (strcmp(db_text(r, i, 0), id) == 0)
			return true;
	return false;
}

static void deny(struct watcher *w)
{
	w->denied = true;
	w->live->stats.denied++;
	watcher_wake(w);
}

static void on_good(void *ctx, const struct db_result *r, const struct err *err)
{
	struct live *l = ctx;

	l->checking = false;
	for (struct watcher *w = l->watchers; w; w = w->next) {
		if (w->checking && !err && !is_good(r, w->req->token_id))
			deny(w);
		w->checking = false;
	}
}

static void check_tokens(struct live *l)
{
	const char **ids CLEANUP(freep) = xcalloc(l->stats.watchers + 1, sizeof(*ids));
	bool open = auth_is_open(l->server->auth);
	size_t n = 0;

	if (l->checking)
		return;
	for (struct watcher *w = l->watchers; w; w = w->next) {
		if (w->denied)
			continue;
		if (*w->req->token_id) {
			w->checking = true;
			ids[n++] = w->req->token_id;
		} else if (!open) {
			deny(w); /* the server was opened to nobody since */
		}
	}
	if (!n)
		return;
	l->checking = true;
	db_query(l->server->db, DB_QUERY, &Q_TOKENS_GOOD, (struct db_param[]){P_TEXTS(ids, n)}, 1,
		 TELL_MS, NULL, on_good, l);
}

void live_tick(struct live *l)
{
	if (l->n_stored)
		tell_stored(l);
	/* Twice after a note about tokens: whether any exist is known a moment later. */
	if (l->watchers && (l->ticks % CHECK_TICKS == 0 || l->ticks == 2))
		check_tokens(l);
	if (l->watchers && l->ticks % BEAT_TICKS == 0) {
		for (struct watcher *w = l->watchers; w; w = w->next)
			w->beat = true;
		flush_soon(l);
	}
	l->ticks++;
}
