/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of posts as one transaction: marks, then records, as COPY in binary form. */
#include <inttypes.h>

#include "common/check.h"
#include "common/log.h"
#include "server/db.h"
#include "server/db_params.h"
#include "server/ingest_internal.h"
#include "server/pqloop.h"

#define GROUP_POSTS_MAX 256
#define GROUP_BYTES_MAX (8u << 20)
#define GROUP_MS	30000

static const char script[] =
	"begin;"
	"copy pg_temp.mark_in from stdin with (format binary);"
	"select rigstat.apply_marks();"
	"copy rigstat.record_staging (host_id, stream_id, run_no, first_seq, last_seq, first_ns,"
	" last_ns, samples, run_end, records) from stdin with (format binary);"
	"commit";

struct group {
	struct ingest *in;
	struct post *posts[GROUP_POSTS_MAX];
	size_t n;
	struct strbuf marks, records;
	struct pqloop_copy copies[2];
};

/* ---- COPY BINARY ---- */

static void copy_begin(struct strbuf *b)
{
	static const char head[] = "PGCOPY\n\377\r\n"; /* and its zero byte: 11 bytes */

	strbuf_add(b, head, sizeof(head));
	db_put_be(b, 0, 4);
	db_put_be(b, 0, 4);
}

static void put_i64(struct strbuf *b, uint64_t v)
{
	db_put_be(b, 8, 4);
	db_put_be(b, v, 8);
}

static void put_bytes(struct strbuf *b, const void *data, size_t len)
{
	db_put_be(b, len, 4);
	strbuf_add(b, data, len);
}

static void put_crc(struct strbuf *b, bool has, uint32_t crc)
{
	if (has)
		put_i64(b, crc);
	else
		db_put_be(b, UINT32_MAX, 4); /* null */
}

static void put_mark(struct strbuf *b, const struct post *p)
{
	const struct stream *s = p->stream;

	db_put_be(b, 8, 2);
	put_i64(b, (uint64_t)s->host_id);
	put_bytes(b, s->id, STREAM_ID_LEN);
	put_i64(b, s->next_seq);
	put_crc(b, s->has_crc, s->last_crc);
	put_i64(b, p->batch.last + 1);
	put_crc(b, p->batch.has_crc, p->batch.last_crc);
	put_i64(b, p->batch.samples);
	put_i64(b, p->batch.gap_samples);
}

static void put_part(struct strbuf *b, const struct post *p, const struct ingest_part *part)
{
	db_put_be(b, 10, 2);
	put_i64(b, (uint64_t)p->stream->host_id);
	put_bytes(b, p->stream->id, STREAM_ID_LEN);
	put_i64(b, part->run);
	put_i64(b, part->first_seq);
	put_i64(b, part->last_seq);
	put_i64(b, (uint64_t)part->first_ns);
	put_i64(b, (uint64_t)part->last_ns);
	put_i64(b, part->samples);
	db_put_be(b, 1, 4);
	strbuf_putc(b, part->run_end ? 1 : 0);
	put_bytes(b, p->req->body + part->off, part->len);
}

static void group_add(struct group *g, struct post *p)
{
	g->posts[g->n++] = p;
	p->stream->in_group = true;
	put_mark(&g->marks, p);
	for (size_t i = 0; i < p->batch.n; i++)
		put_part(&g->records, p, &p->batch.parts[i]);
}

static void group_free(struct group *g)
{
	strbuf_done(&g->marks);
	strbuf_done(&g->records);
	free(g);
}

/* ---- the end of a group ---- */

static void stored(struct ingest *in, struct post *p)
{
	struct stream *s = p->stream;

	s->next_seq = p->batch.last + 1;
	s->has_crc = p->batch.has_crc;
	s->last_crc = p->batch.last_crc;
	in->stats.stored_posts++;
	in->stats.stored_records_bytes += p->bytes;
	in->stats.stored_samples += p->batch.samples;
	in->stats.gap_samples += p->batch.gap_samples;
	post_finish(in, p, NULL);
}

/* One post of a failed group. */
static void failed(struct ingest *in, struct post *p, bool was_alone, const struct err *err)
{
	bool split =
		err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND || err->code == ERR_INVALID;

	if (!p->req) {
		post_finish(in, p, err); /* nobody waits any more */
		return;
	}
	if (split && !was_alone) {
		p->alone = true;
		return;
	}
	if (split && err->code != ERR_INVALID) {
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
	if (err && !alone) {
		in->stats.groups_split++;
		log_info("ingest: a group of %zu posts failed: %s", g->n, err->text);
	}
	for (size_t i = 0; i < g->n; i++) {
		g->posts[i]->stream->in_group = false;
		if (err)
			failed(in, g->posts[i], alone, err);
		else
			stored(in, g->posts[i]);
	}
	group_free(g);
	if (!err && in->on_stored)
		in->on_stored(in->ctx);
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
		if (alone || g->records.len >= GROUP_BYTES_MAX)
			break;
	}
	if (in->ring && s->ring)
		in->ring = s; /* who was not served is first in the next group */
}

void ingest_group_send(struct ingest *in)
{
	struct group *g;

	if (in->group || !in->ring)
		return;
	g = xcalloc(1, sizeof(*g));
	g->in = in;
	copy_begin(&g->marks);
	copy_begin(&g->records);
	fill(in, g);
	if (!g->n) {
		group_free(g);
		return;
	}
	db_put_be(&g->marks, 0xffff, 2);
	db_put_be(&g->records, 0xffff, 2);
	g->copies[0] = (struct pqloop_copy){g->marks.data, g->marks.len};
	g->copies[1] = (struct pqloop_copy){g->records.data, g->records.len};
	in->group = g;
	in->stats.groups++;
	db_script(in->db, DB_INGEST, script, g->copies, ARRAY_LEN(g->copies), GROUP_MS, on_group,
		  g);
}
