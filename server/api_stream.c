/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /stream?topics=fleet,host:olab-12: server-sent events until the reader goes away. */
#include <stdio.h>

#include "common/check.h"
#include "common/parse.h"
#include "server/api_common.h"
#include "server/db.h"
#include "server/live_internal.h"
#include "server/queries.h"
#include "server/server.h"

#define WATCHERS_MAX	   4096 /* of this server */
#define WATCHERS_TOKEN_MAX 256	/* of one token */

static enum step bad_topics(struct request *req, const char *detail)
{
	(void)reply_fault(req,
			  &(struct fault){.status = 400,
					  .slug = "invalid-parameter",
					  .parameter = "topics",
					  .hint = "topics=fleet,runs,experiments,host:NAME,"
						  "experiment:e_1,run:r_1"},
			  "topics: %s", detail);
	return STEP_DONE;
}

/* One entry of the list. NULL: it is good. */
static const char *read_topic(const char *text, size_t len, struct topic *t)
{
	static const char *const names[TOPIC_KINDS] = {"fleet", "runs",	       "experiments",
						       "host:", "experiment:", "run:"};

	if (len >= TOPIC_NAME_MAX)
		return "a name is too long";
	memcpy(t->name, text, len);
	t->name[len] = '\0';
	for (unsigned int k = 0; k < TOPIC_KINDS; k++) {
		size_t n = strlen(names[k]);
		bool named = names[k][n - 1] == ':';

		if (strncmp(t->name, names[k], n) || named != (t->name[n] != '\0'))
			continue;
		t->kind = (enum topic_kind)k;
		return NULL;
	}
	return "there is no such topic";
}

/* Names may hold a comma no more than hosts may: the list is split at each. */
static bool read_topics(struct watcher *w)
{
	const char *text = request_query(w->req, "topics");

	if (!text || !*text) {
		(void)bad_topics(w->req, "say what to watch");
		return false;
	}
	while (*text) {
		size_t len = strcspn(text, ",");
		const char *wrong = w->n == TOPICS_MAX ? "there are more than 32"
						       : read_topic(text, len, &w->topics[w->n++]);

		if (wrong) {
			(void)bad_topics(w->req, wrong);
			return false;
		}
		text += len + (text[len] == ',');
	}
	return true;
}

/* Last-Event-ID of the browser, or `after` for those who open a stream by hand. */
static void read_after(struct watcher *w)
{
	const char *text = request_header(w->req, "Last-Event-ID");
	size_t n = strlen(w->live->epoch);
	int64_t after;

	if (!text || !*text)
		text = request_query(w->req, "after");
	if (!text || !*text)
		return;
	w->foreign = strncmp(text, w->live->epoch, n) || text[n] != '-' ||
		     parse_i64(text + n + 1, &after, NULL) || after < 0;
	if (w->foreign)
		return;
	w->has_after = true;
	w->after = (uint64_t)after;
}

static bool is_full(struct watcher *w)
{
	struct live *l = w->live;
	size_t same = 0;

	for (struct watcher *o = l->watchers; o && *w->req->token_id; o = o->next)
		same += strcmp(o->req->token_id, w->req->token_id) == 0;
	if (l->stats.watchers < WATCHERS_MAX && same < WATCHERS_TOKEN_MAX)
		return false;
	l->stats.refused++;
	reply_header(w->req, "Retry-After", "10");
	(void)reply_problem(w->req, 503, "too-many-streams",
			    "One stream a browser is enough: its tabs share it.",
			    same < WATCHERS_TOKEN_MAX ? "Too many pages watch this server."
						      : "Too many pages watch with this token.");
	return true;
}

static void set_id(struct watcher *w, const char *kind, const char *name, int64_t id, int64_t host)
{
	size_t n = strlen(kind);

	for (size_t i = 0; i < w->n; i++) {
		struct topic *t = &w->topics[i];

		if (strncmp(t->name, kind, n) || t->name[n] != ':' || strcmp(t->name + n + 1, name))
			continue;
		t->id = id;
		t->host_id = host;
	}
}

static void on_topics(void *ctx, const struct db_result *r, const struct err *err)
{
	struct watcher *w = ctx;

	if (err) {
		(void)reply_err(w->req, err);
		return;
	}
	for (size_t i = 0; i < db_rows(r); i++)
		set_id(w, db_text(r, i, 0), db_text(r, i, 1), db_i64(r, i, 2), db_i64(r, i, 3));
	if (!is_full(w))
		(void)watcher_join(w);
}

/* What the topics mean is looked up once; a box that is made later is news of `fleet`. False:
 * there is nothing to look up. */
static bool look_up(struct watcher *w)
{
	const char *hosts[TOPICS_MAX], *experiments[TOPICS_MAX];
	int64_t runs[TOPICS_MAX];
	size_t n[3] = {0};
	struct err err;

	for (size_t i = 0; i < w->n; i++) {
		struct topic *t = &w->topics[i];
		const char *name = strchr(t->name, ':');

		if (t->kind == TOPIC_HOST)
			hosts[n[0]++] = name + 1;
		else if (t->kind == TOPIC_EXPERIMENT)
			experiments[n[1]++] = name + 1;
		else if (t->kind == TOPIC_RUN && !request_id(name + 1, 'r', &runs[n[2]], &err))
			n[2]++;
	}
	if (!n[0] && !n[1] && !n[2])
		return false;
	db_query(w->live->server->db, DB_QUERY, &Q_LIVE_TOPICS,
		 (struct db_param[]){P_TEXTS(hosts, n[0]), P_TEXTS(experiments, n[1]),
				     P_I64S(runs, n[2])},
		 3, DB_DEADLINE_MS, &w->req->pending, on_topics, w);
	return true;
}

enum step api_stream(struct request *req)
{
	static const char *const names[] = {"topics", "after", NULL};
	struct watcher *w;

	if (!api_params(req, names))
		return STEP_DONE;
	w = xcalloc(1, sizeof(*w));
	w->live = req->server->live;
	w->req = req;
	req->ctx = w;
	req->ctx_free = watcher_free;
	if (!read_topics(w) || is_full(w))
		return STEP_DONE;
	read_after(w);
	if (!look_up(w))
		return watcher_join(w);
	return STEP_WAIT;
}
