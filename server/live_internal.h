/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What live.c, live_watcher.c and api_stream.c share. */
#pragma once

#include "server/live.h"

#define TOPICS_MAX     32
#define TOPIC_NAME_MAX 160
#define RING_MAX       4096 /* notes that a reader may have missed */

enum topic_kind {
	TOPIC_FLEET,
	TOPIC_RUNS,
	TOPIC_EXPERIMENTS,
	TOPIC_HOST,
	TOPIC_EXPERIMENT,
	TOPIC_RUN,
	TOPIC_KINDS
};

struct topic {
	enum topic_kind kind;
	char name[TOPIC_NAME_MAX]; /* as asked for: "host:olab-12" */
	int64_t id, host_id;	   /* 0: unknown here */
	/* what is to be told */
	uint32_t changes; /* bits of change_bit() */
	uint32_t merged;  /* notes that share the event with the newest */
	int64_t run;	  /* the newest run concerned, 0 none */
};

struct watcher {
	struct live *live;
	struct request *req;
	struct watcher *next, **link; /* link NULL: not joined yet */
	struct topic topics[TOPICS_MAX];
	size_t n;
	uint64_t after;	  /* Last-Event-ID of this server's epoch */
	bool has_after;	  /* it came back */
	bool foreign;	  /* ... with an id that is not ours */
	bool asleep;	  /* in STREAM_WAIT */
	bool hello, beat; /* to be written */
	bool reset, state, denied;
	bool checking; /* its token was in the question that is on its way */
};

/* A past note, without the hosts of NOTE_DATA. */
struct past {
	enum live_note_kind kind;
	enum live_note_what what;
	int64_t host, experiment, run;
};

struct live {
	struct server *server;
	struct uv_timer_s *flush;
	struct watcher *watchers;
	uint64_t serial;    /* of the newest note */
	uint64_t last_data; /* serial of the newest NOTE_DATA, which is not in the ring */
	struct past ring[RING_MAX];
	uint64_t ring_serial[RING_MAX];
	size_t n_ring, at_ring; /* at_ring: where the next goes */
	uint64_t ring_first;	/* serial before the oldest in the ring */
	char epoch[20];
	bool listening, checking, stopped;
	unsigned int ticks;
	int64_t *stored; /* hosts whose records came since the last tick, sorted, no doubles */
	size_t n_stored, cap_stored;
	struct live_stats stats;
};

/* Marks the topics of `w` that a note concerns; true when there was one. */
bool watcher_mark(struct watcher *w, const struct live_note *n);
/* Puts it among the others and begins the answer. */
enum step watcher_join(struct watcher *w);
void watcher_wake(struct watcher *w);
void watcher_free(void *ctx);
/* What a reader missed that has seen `after`. */
void live_catch_up(struct live *l, struct watcher *w);
