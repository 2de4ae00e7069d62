/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ingest: posts of records become committed staging rows, many agents' in one transaction.
 *
 * A post is checked, put on its stream (one agent process), and goes with at most one post of
 * each other stream into the next group; the answer follows COMMIT. One group is in flight:
 * while it commits, the next one fills. A failed group is taken apart and sent post by post.
 *
 * The marks kept here (next number, CRC of the last record of each stream) are a copy of
 * rigstat.ingest_stream that may be stale: rigstat.ingest_group() decides. Loop thread only. */
#pragma once

#include "server/http.h"

struct ingest;
struct db;

/* on_stored: records of a host were committed. */
struct ingest *ingest_new(struct db *db, void (*on_stored)(void *ctx, int64_t host_id), void *ctx);
/* Nothing may be in flight: after db_close. */
void ingest_free(struct ingest *in);
/* About once a second: forgets idle streams. */
void ingest_tick(struct ingest *in);

/* A host was retired or came back: every stream is opened anew at its next post. */
void ingest_forget(struct ingest *in);

struct ingest_stats {
	size_t streams, posts;
	uint64_t pending_bytes;
	uint64_t groups, groups_split, stored_posts, stored_records_bytes, stored_samples,
		gap_samples;
	uint64_t duplicates, gaps, forks, wrong, refused;
};
struct ingest_stats ingest_stats(const struct ingest *in);
/* Why nothing has been stored for a while although agents deliver (a full disk); NULL: all is
 * well. */
const char *ingest_problem(const struct ingest *in);

/* Routes. */
enum step api_ingest(struct request *req);
enum step api_ingest_next(struct request *req);
