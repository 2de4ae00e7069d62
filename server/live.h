/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live pages: who watches which topics, and what they are told.
 *
 * A watcher is a request that is never finished (GET /api/v1/stream). Notes of all servers arrive
 * through PostgreSQL (live_note.h); each marks the topics that it concerns in every watcher, and
 * four times a second marked watchers are woken and write one event a topic. So the newest wins, a
 * slow reader costs one small mark a topic, and nothing is queued without bound. A beat every few
 * seconds finds readers that went away, and tells those who are there that silence is silence.
 *
 * A reader that comes back gets what it missed from a ring of notes, or `reset`: ask again for
 * everything. Tokens are looked at again when one is revoked and twice a minute. Loop thread only.
 */
#pragma once

#include "server/http.h"
#include "server/live_note.h"

struct db;
struct uv_loop_s;
struct live;

struct live *live_new(struct uv_loop_s *loop, struct server *server);
/* Ends its timer; after that live_free may be called when the loop has ended. */
void live_stop(struct live *l);
void live_free(struct live *l);
/* About once a second: tells all servers which hosts sent records to this one, beats, checks. */
void live_tick(struct live *l);

/* A note came from PostgreSQL. */
void live_hear(struct live *l, const struct live_note *n);
/* Notes come again, or not: then nobody may believe that silence means no change. */
void live_listening(struct live *l, bool up);
/* Records of this host were stored here. */
void live_stored(struct live *l, int64_t host_id);

struct live_stats {
	size_t watchers;
	uint64_t notes, events, merged, resets, refused, denied;
};
struct live_stats live_stats(const struct live *l);

/* Route. */
enum step api_stream(struct request *req);
