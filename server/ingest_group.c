/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of posts as one transaction: marks and records as the arrays of one prepared statement. */
#include <inttypes.h>

#include "common/check.h"
#include "common/log.h"
#include "server/db.h"
#include "server/ingest_internal.h"
#include "server/queries.h"

#define GROUP_POSTS_MAX 256
#define GROUP_BYTES_MAX (8u << 20)
#define GROUP_MS	30000
#define NO_CRC		(-1)

enum {
	MARK_HOST,
	MARK_EXPECT,
	MARK_EXPECT_CRC,
	MARK_NEXT,
	MARK_CRC,
	MARK_SAMPLES,
	MARK_GAP,
	MARKS
};
enum {
	PART_HOST,
	PART_RUN,
	PART_FIRST,
	PART_LAST,
	PART_FIRST_NS,
	PART_LAST_NS,
	PART_SAMPLES,
	PART_RUN_END,
	PARTS
};

/* Column by column, as the arrays of sql/queries/ingest_group.sql. */
struct group {
	struct ingest *in;
	struct post *posts[GROUP_POSTS_MAX];
	size_t n;
	int64_t marks[MARKS][GROUP_POSTS_MAX];
	unsigned char mark_streams[GROUP_POSTS_MAX * STREAM_ID_LEN];
	int64_t *parts[PARTS];
	unsigned char *part_streams;
	struct strbuf *bodies; /* borrowed from the requests */
	size_t n_parts, cap_parts;
	size_t bytes;
};

static void add_mark(struct group *g, const struct post *p)
{
	const struct stream *s = p->stream;
	const int64_t v[MARKS] = {
		[MARK_HOST] = s->host_id,
		[MARK_EXPECT] = (int64_t)s->next_seq,
		[MARK_EXPECT_CRC] = s->has_crc ? (int64_t)s->last_crc : NO_CRC,
		[MARK_NEXT] = (int64_t)p->batch.last + 1,
		[MARK_CRC] = p->batch.has_crc ? (int64_t)p->batch.last_crc : NO_CRC,
		[MARK_SAMPLES] = (int64_t)p->batch.samples,
		[MARK_GAP] = (int64_t)p->batch.gap_samples,
	};

	for (size_t i = 0; i < MARKS; i++)
		g->marks[i][g->n] = v[i];
	memcpy(g->mark_streams + g->n * STREAM_ID_LEN, s->id, STREAM_ID_LEN);
}

static void grow_parts(struct group *g)
{
	if (g->n_parts < g->cap_parts)
		return;
	g->cap_parts = g->cap_parts ? g->cap_parts * 2 : 64;
	for (size_t i = 0; i < PARTS; i++)
		g->parts[i] = xrealloc(g->parts[i], g->cap_parts, sizeof(int64_t));
	g->part_streams = xrealloc(g->part_streams, g->cap_parts, STREAM_ID_LEN);
	g->bodies = xrealloc(g->bodies, g->cap_parts, sizeof(*g->bodies));
}

static void add_part(struct group *g, const struct post *p, const struct ingest_part *part)
{
	const int64_t v[PARTS] = {
		[PART_HOST] = p->stream->host_id,	 [PART_RUN] = part->run,
		[PART_FIRST] = (int64_t)part->first_seq, [PART_LAST] = (int64_t)part->last_seq,
		[PART_FIRST_NS] = part->first_ns,	 [PART_LAST_NS] = part->last_ns,
		[PART_SAMPLES] = (int64_t)part->samples, [PART_RUN_END] = part->run_end,
	};

	grow_parts(g);
	for (size_t i = 0; i < PARTS; i++)
		g->parts[i][g->n_parts] = v[i];
	memcpy(g->part_streams + g->n_parts * STREAM_ID_LEN, p->stream->id, STREAM_ID_LEN);
	g->bodies[g->n_parts++] = (struct strbuf){
		.data = (char *)(uintptr_t)p->req->body + part->off, .len = part->len};
	g->bytes += part->len;
}

static void group_add(struct group *g, struct post *p)
{
	add_mark(g, p);
	for (size_t i = 0; i < p->batch.n; i++)
		add_part(g, p, &p->batch.parts[i]);
	g->posts[g->n++] = p;
	p->stream->in_group = true;
}

static void group_free(struct group *g)
{
	for (size_t i = 0; i < PARTS; i++)
		free(g->parts[i]);
	free(g->part_streams);
	free(g->bodies);
	free(g);
}

/* ---- the end of a group ---- */

static void stored(struct ingest *in, struct post *p)
{
	struct stream *s = p->stream;

	s->next_seq = p->batch.last + 1;
	s->has_crc = p->batch.has_crc;
	s->last_crc = p->batch.last_crc;
	if (in->failing_since_ns)
		log_info("ingest: records are stored again");
	in->failing_since_ns = 0;
	in->stats.stored_posts++;
	in->stats.stored_records_bytes += p->bytes;
	in->stats.stored_samples += p->batch.samples;
	in->stats.gap_samples += p->batch.gap_samples;
	post_finish(in, p, NULL);
}

/* One post of a failed group. */
static void failed(struct ingest *in, struct post *p, bool was_alone, const struct err *err)
{
	bool split = err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND ||
		     err->code == ERR_INVALID || err->code == ERR_LOCKED;

	if (!p->req) {
		post_finish(in, p, err); /* nobody waits any more */
		return;
	}
	if (split && !was_alone) {
		p->alone = true;
		return;
	}
	if (err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND) {
		ingest_reopen(in, p->stream); /* the marks moved: look again */
		return;
	}
	in->stats.wrong += err->code == ERR_INVALID;
	post_finish(in, p, err);
}

static void on_group(void *ctx, const struct db_result *res, const struct err *err)
{
	struct group *g = ctx;
	struct ingest *in = g->in;
	bool alone = g->n == 1;

	(void)res;
	in->group = NULL;
	if (err)
		ingest_note_failure(in, err);
	if (err && !alone) {
		in->stats.groups_split++;
		log_info("ingest: a group of %zu posts failed: %s", g->n, err->text);
	}
	for (size_t i = 0; i < g->n; i++) {
		g->posts[i]->stream->in_group = false;
		if (!err && in->on_stored)
			in->on_stored(in->ctx, g->posts[i]->stream->host_id);
		if (err)
			failed(in, g->posts[i], alone, err);
		else
			stored(in, g->posts[i]);
	}
	group_free(g);
	ingest_group_send(in);
}

/* ---- the next group ---- */

/* Streams take turns, each with one post. A post that must go alone is the first and only one of
 * its group. */
static void fill(struct ingest *in, struct group *g)
{
	struct stream *s = in->ring;

	for (size_t left = in->ring_len; left && g->n < GROUP_POSTS_MAX; left--) {
		struct stream *next = s->ring;
		struct post *p = ingest_next_post(in, s); /* may take s out of the ring */
		bool alone = p && p->alone;

		if (alone && g->n)
			break; /* it begins the next group */
		if (p) {
			p->alone = false;
			group_add(g, p);
		}
		s = next;
		if (alone || g->bytes >= GROUP_BYTES_MAX)
			break;
	}
	if (in->ring && s->ring)
		in->ring = s; /* who was not served is first in the next group */
}

/* The parameters are copied before db_query returns: the requests may end any time after. */
static void send(struct ingest *in, struct group *g)
{
	struct db_param p[18];
	size_t n = 0;

	p[n++] = P_I64S(g->marks[0], g->n);
	p[n++] = P_UUIDS(g->mark_streams, g->n);
	for (size_t i = 1; i < MARKS; i++)
		p[n++] = P_I64S(g->marks[i], g->n);
	p[n++] = P_I64S(g->parts[0], g->n_parts);
	p[n++] = P_UUIDS(g->part_streams, g->n_parts);
	for (size_t i = 1; i < PARTS; i++)
		p[n++] = P_I64S(g->parts[i], g->n_parts);
	p[n++] = P_BLOBS(g->bodies, g->n_parts);
	CHECK(n == ARRAY_LEN(p));
	in->group = g;
	in->stats.groups++;
	db_query(in->db, DB_INGEST, &Q_INGEST_GROUP, p, n, GROUP_MS, NULL, on_group, g);
}

void ingest_group_send(struct ingest *in)
{
	struct group *g;

	if (in->group || !in->ring)
		return;
	g = xcalloc(1, sizeof(*g));
	g->in = in;
	fill(in, g);
	if (g->n)
		send(in, g);
	else
		group_free(g);
}
