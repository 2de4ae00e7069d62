/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ingest.c (requests, streams) and ingest_group.c (transactions) share. */
#pragma once

#include "server/ingest.h"
#include "server/ingest_check.h"

struct post;

/* A stream of posts; in a hash table by host and id. */
struct stream {
	struct stream *next;	    /* in its bucket */
	struct stream *ring, *prev; /* streams with posts, in turn; NULL outside */
	char *host;
	unsigned char id[STREAM_ID_LEN];
	int64_t host_id;
	bool known;    /* host_id and the marks are read */
	bool opening;  /* they are being read */
	bool doubtful; /* what is known of the host may have changed: open it anew */
	bool in_group;
	uint64_t next_seq;
	bool has_crc;
	uint32_t last_crc;
	struct post *first, *last; /* waiting, in order of arrival */
	int64_t used_ns;
};

struct post {
	struct post *next;
	struct stream *stream;
	struct request *req; /* NULL: the request has ended; forget the post when it may be */
	uint64_t first, last;
	struct ingest_batch batch; /* checked against the stream's marks... */
	uint64_t checked_at;	   /* ...when they said that this number is next; 0 never */
	bool looked_again;	   /* the marks were read for this post */
	bool alone;		   /* its group failed: the next one has only this post */
	unsigned int tries;
	size_t bytes;
};

struct group;

struct ingest {
	struct db *db;
	struct stream **buckets;
	struct stream *ring; /* next in turn */
	size_t ring_len;
	struct group *group; /* in flight */
	struct ingest_stats stats;
	int64_t failing_since_ns, failed_ns; /* monotonic; since 0: the last group was stored */
	char failure[500];
	void (*on_stored)(void *ctx, int64_t host_id);
	void *ctx;
};

/* ---- ingest.c ---- */
/* Takes the stream's first post off and ends it. */
void post_finish(struct ingest *in, struct post *p, const struct err *err);
/* The first post of a stream in turn that may go now: checked, and new. It stays the stream's
 * first. Answers on the way what needs no storing. NULL: none. */
struct post *ingest_next_post(struct ingest *in, struct stream *s);
/* The marks are doubtful: read them again before the next post. */
void ingest_reopen(struct ingest *in, struct stream *s);

/* The database did not take what it was given, for a reason that is not one post's. */
void ingest_note_failure(struct ingest *in, const struct err *err);

/* ---- ingest_group.c ---- */
/* Sends the next group, if none is in flight and there is something. */
void ingest_group_send(struct ingest *in);
