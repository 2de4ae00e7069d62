/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One watcher: which notes concern its topics, and the events that it is sent. */
#include "common/check.h"
#include "server/api_common.h"
#include "server/live_internal.h"
#include "server/server.h"

/* ---- what concerns whom ---- */

static uint32_t change_bit(enum live_note_kind kind, enum live_note_what what)
{
	return 1u << (kind * NOTE_WHATS + (kind == NOTE_DATA ? 0u : what));
}

_Static_assert(NOTE_KINDS *NOTE_WHATS <= 32, "a change is a bit of 32");

static bool has_host(const struct live_note *n, int64_t id)
{
	size_t lo = 0, hi = n->n_hosts;

	while (lo < hi) { /* sorted by the sender */
		size_t mid = lo + (hi - lo) / 2;

		if (n->hosts[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n->n_hosts && n->hosts[lo] == id;
}

/* An id of 0 in a note means several: it concerns everybody. */
static bool is_or_all(int64_t id, int64_t mine)
{
	return id == mine || !id;
}

static bool concerns_run(const struct topic *t, const struct live_note *n)
{
	bool all = !n->run;

	switch (t->kind) {
	case TOPIC_FLEET:
	case TOPIC_RUNS:
		return n->what != NOTE_PROGRESS;
	case TOPIC_EXPERIMENTS:
		return all || (n->experiment && n->what != NOTE_PROGRESS);
	case TOPIC_HOST:
		return all || n->host == t->id;
	case TOPIC_EXPERIMENT:
		return all || n->experiment == t->id;
	case TOPIC_RUN:
		return all || n->run == t->id;
	case TOPIC_KINDS:
		break;
	}
	return false;
}

static bool concerns(const struct topic *t, const struct live_note *n)
{
	switch (n->kind) {
	case NOTE_RUN:
		return concerns_run(t, n);
	case NOTE_DATA:
		return t->kind == TOPIC_FLEET ||
		       ((t->kind == TOPIC_HOST || t->kind == TOPIC_RUN) && has_host(n, t->host_id));
	case NOTE_HOST:
		return t->kind == TOPIC_FLEET ||
		       (t->kind == TOPIC_HOST && is_or_all(n->host, t->id));
	case NOTE_ASSIGNMENT:
		return t->kind == TOPIC_FLEET || t->kind == TOPIC_EXPERIMENTS ||
		       (t->kind == TOPIC_HOST && is_or_all(n->host, t->id)) ||
		       (t->kind == TOPIC_EXPERIMENT && is_or_all(n->experiment, t->id));
	case NOTE_EXPERIMENT:
		return t->kind == TOPIC_EXPERIMENTS ||
		       (t->kind == TOPIC_EXPERIMENT && is_or_all(n->experiment, t->id));
	case NOTE_TOKEN:
	case NOTE_KINDS:
		break;
	}
	return false;
}

bool watcher_mark(struct watcher *w, const struct live_note *n)
{
	bool any = false;

	for (size_t i = 0; i < w->n; i++) {
		struct topic *t = &w->topics[i];

		if (!concerns(t, n))
			continue;
		any = true;
		if (t->changes)
			t->merged++;
		t->changes |= change_bit(n->kind, n->what);
		if (n->run)
			t->run = n->run;
	}
	return any;
}

/* ---- events ---- */

static const char *const what_names[NOTE_WHATS] = {"new", "progress", "end", "changed"};

static void put_event(struct strbuf *out, const char *event, json_t *data)
{
	char *text CLEANUP(freep) = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII);

	CHECK(text);
	json_decref(data);
	strbuf_printf(out, "event: %s\ndata: %s\n\n", event, text);
}

static json_t *changes_json(uint32_t changes)
{
	json_t *list = json_array();

	for (unsigned int k = 0; k < NOTE_KINDS; k++)
		for (unsigned int w = 0; w < NOTE_WHATS; w++) {
			if (!(changes & 1u << (k * NOTE_WHATS + w)))
				continue;
			if (k == NOTE_DATA)
				json_array_append_new(list, json_string("data"));
			else
				json_array_append_new(list,
						      json_sprintf("%s.%s", live_note_kind_name(k),
								   what_names[w]));
		}
	return list;
}

static void put_change(struct watcher *w, struct topic *t, struct strbuf *out)
{
	json_t *data = json_pack("{s:s, s:o, s:o, s:i}", "topic", t->name, "changes",
				 changes_json(t->changes), "run", js_id('r', t->run), "merged",
				 (int)t->merged);

	strbuf_printf(out, "id: %s-%llu\n", w->live->epoch, (unsigned long long)w->live->serial);
	put_event(out, "change", data);
	w->live->stats.events++;
	w->live->stats.merged += t->merged;
	t->changes = 0;
	t->merged = 0;
	t->run = 0;
}

static void put_hello(struct watcher *w, struct strbuf *out)
{
	json_t *unknown = json_array();

	for (size_t i = 0; i < w->n; i++)
		if (!w->topics[i].id && w->topics[i].kind >= TOPIC_HOST)
			json_array_append_new(unknown, json_string(w->topics[i].name));
	strbuf_printf(out, "retry: 3000\nid: %s-%llu\n", w->live->epoch,
		      (unsigned long long)w->live->serial);
	put_event(out, "hello",
		  json_pack("{s:s, s:b, s:o}", "version", RIGSTAT_VERSION, "listening",
			    w->live->listening, "unknown", unknown));
}

static bool take_flag(bool *flag)
{
	bool was = *flag;

	*flag = false;
	return was;
}

static enum stream_next next(void *ctx, struct strbuf *out)
{
	struct watcher *w = ctx;
	size_t before = out->len;

	w->asleep = false;
	if (take_flag(&w->hello))
		put_hello(w, out);
	if (take_flag(&w->state))
		put_event(out, "state", json_pack("{s:b}", "listening", w->live->listening));
	if (take_flag(&w->reset)) {
		w->live->stats.resets++;
		strbuf_printf(out, "id: %s-%llu\n", w->live->epoch,
			      (unsigned long long)w->live->serial);
		put_event(out, "reset", json_object());
	}
	for (size_t i = 0; i < w->n; i++)
		if (w->topics[i].changes)
			put_change(w, &w->topics[i], out);
	if (take_flag(&w->beat) && out->len == before)
		put_event(out, "beat", json_object());
	if (w->denied) {
		put_event(out, "denied", json_object());
		return STREAM_END;
	}
	w->asleep = out->len == before;
	return w->asleep ? STREAM_WAIT : STREAM_MORE;
}

void watcher_wake(struct watcher *w)
{
	if (!w->asleep)
		return; /* still writing what came before: it looks again by itself */
	w->asleep = false;
	reply_stream_wake(w->req);
}

/* ---- life ---- */

void watcher_free(void *ctx)
{
	struct watcher *w = ctx;

	if (w->link) {
		*w->link = w->next;
		if (w->next)
			w->next->link = w->link;
		w->live->stats.watchers--;
	}
	free(w);
}

enum step watcher_join(struct watcher *w)
{
	struct live *l = w->live;

	w->next = l->watchers;
	w->link = &l->watchers;
	if (w->next)
		w->next->link = &w->next;
	l->watchers = w;
	l->stats.watchers++;
	w->hello = true;
	live_catch_up(l, w);
	return reply_events(w->req, next, w);
}
