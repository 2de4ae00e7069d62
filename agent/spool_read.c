/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading side of the spool: ranges for delivery, holes as GAP records, acknowledgements. */
#include "agent/spool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/facts.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

#define WINDOW_MORE (64u << 10)

static struct stream *find_stream(struct spool *s, const char *hex, bool *ret_own)
{
	*ret_own = !strcmp(hex, s->own->hex);
	if (*ret_own)
		return s->own;
	for (size_t i = 0; i < s->old_len; i++)
		if (!strcmp(hex, s->old[i]->hex))
			return s->old[i];
	return NULL;
}

static void position_of(const struct stream *st, bool own, struct spool_position *ret)
{
	snprintf(ret->stream, sizeof(ret->stream), "%s", st->hex);
	ret->first = stream_floor(st);
	ret->acked = st->acked;
	ret->next = st->next;
	ret->own = own;
}

bool spool_pending(struct spool *s, struct spool_position *ret)
{
	for (size_t i = 0; i < s->old_len; i++)
		if (s->old[i]->acked < s->old[i]->next) {
			position_of(s->old[i], false, ret);
			return true;
		}
	if (s->own->acked >= s->own->next)
		return false;
	position_of(s->own, true, ret);
	return true;
}

/* ---- holes ---- */

static const struct hole *find_hole(const struct stream *st, uint64_t seq)
{
	for (size_t i = st->holes; i-- > 0;)
		if (st->hole[i].from <= seq && seq <= st->hole[i].to)
			return &st->hole[i];
	return NULL;
}

/* Where the next hole above seq begins, at most `end` + 1. */
static uint64_t next_hole(const struct stream *st, uint64_t seq, uint64_t end)
{
	for (size_t i = 0; i < st->holes; i++)
		if (st->hole[i].from > seq && st->hole[i].from <= end)
			end = st->hole[i].from - 1;
	return end;
}

/* Samples of from..to, which lie in h; false: not known. */
static bool hole_samples(const struct hole *h, uint64_t from, uint64_t to, uint64_t *ret)
{
	if (to != h->to || from - h->from > h->each_len)
		return false;
	*ret = h->samples;
	for (uint64_t i = 0; i < from - h->from; i++)
		*ret -= h->each[i];
	return true;
}

/* One GAP record with number `from`, standing for from..*to; *to may shrink to where another
 * reason begins. */
static void put_gap(struct spool *s, const struct stream *st, uint64_t from, uint64_t *to,
		    struct strbuf *out)
{
	const struct hole *h = find_hole(st, from);
	struct strbuf j CLEANUP(strbuf_done) = {0};
	struct record_writer *w = &s->gap_writer;
	const char *reason = "corrupt", *text = "the records were damaged on disk";
	uint64_t samples;

	if (h) {
		reason = h->reason;
		text = h->text;
		*to = h->to < *to ? h->to : *to;
	} else {
		*to = next_hole(st, from, *to);
		if (from < stream_floor(st) && !st->damaged) {
			reason = from < st->acked_max ? "server_rollback" : "quota";
			text = from < st->acked_max
				       ? "the server lost what it had acknowledged, and the spool "
					 "has deleted it since"
				       : "the spool no longer has these records";
		}
	}
	strbuf_printf(&j, "{\"stream\":\"%s\",\"from_seq\":%llu,\"to_seq\":%llu,", st->hex,
		      (unsigned long long)from, (unsigned long long)*to);
	if (h && hole_samples(h, from, *to, &samples))
		strbuf_printf(&j, "\"samples\":%llu,", (unsigned long long)samples);
	strbuf_printf(&j, "\"reason\":\"%s\",\"text\":", reason);
	json_put_string(&j, text);
	strbuf_putc(&j, '}');
	record_begin(w);
	record_item_json(w, ITEM_GAP, j.data, j.len);
	record_finish(w, from, 0, clock_boottime_ns(), clock_realtime_ns());
	strbuf_add(out, w->buf.data, w->buf.len);
}

/* ---- reading a segment ---- */

struct window {
	char *data;
	size_t len;
	size_t at;	 /* offset of data[0] among the segment's records */
	bool owned, end; /* end: nothing follows */
};

static void window_done(struct window *w)
{
	if (w->owned)
		free(w->data);
	*w = (struct window){0};
}

static bool load_window(const struct stream *st, const struct segment *g, size_t at, size_t want,
			struct window *w)
{
	char name[32];
	ssize_t n;
	int fd;

	window_done(w);
	w->at = at;
	if (g->in_ram) {
		if (at >= g->ram.len)
			return false;
		*w = (struct window){g->ram.data + at, g->ram.len - at, at, false, true};
		return true;
	}
	segment_name(name, g->first);
	fd = openat(st->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	w->data = xcalloc(want, 1);
	w->owned = true;
	n = pread(fd, w->data, want, (off_t)(SEGMENT_HEADER_LEN + at));
	close(fd);
	w->len = n > 0 ? (size_t)n : 0;
	w->end = w->len < want;
	return w->len > 0;
}

struct reading {
	struct spool *s;
	struct stream *st;
	struct strbuf *out;
	size_t bytes_max;
	uint64_t next; /* number that is wanted next */
	bool full;
};

static bool has_room(struct reading *r, size_t more)
{
	if (r->out->len && r->out->len + more > r->bytes_max)
		r->full = true;
	return !r->full;
}

static void fill_hole(struct reading *r, uint64_t to)
{
	while (r->next <= to && has_room(r, 512)) {
		uint64_t end = to;

		put_gap(r->s, r->st, r->next, &end, r->out);
		r->next = end + 1;
	}
}

static size_t skip_to_magic(const struct window *w, size_t at)
{
	const char magic[2] = {(char)(RECORD_MAGIC & 0xff), (char)(RECORD_MAGIC >> 8)};
	const char *found =
		at + 1 < w->len ? memmem(w->data + at + 1, w->len - at - 1, magic, 2) : NULL;

	return found ? (size_t)(found - w->data) : w->len;
}

/* Appends good records of g from r->next on. Damaged ones are passed over: the jump in the
 * numbers becomes a hole. */
static void read_segment(struct reading *r, struct segment *g)
{
	struct stream *st = r->st;
	size_t at = st->read_seg == g && st->read_seq == r->next ? st->read_at : 0;
	struct window w CLEANUP(window_done) = {0};
	size_t want = r->bytes_max + WINDOW_MORE, pos = 0;

	if (!load_window(st, g, at, want, &w))
		return;
	while (!r->full && r->next <= g->last) {
		struct record_header h;
		struct err e;
		int code =
			pos < w.len ? record_check(w.data + pos, w.len - pos, &h, &e) : ERR_LIMIT;

		if (code == ERR_LIMIT && !w.end) {
			if (!pos && want > RECORD_MAX_LEN)
				pos = 1; /* a false length: not a record */
			want = RECORD_MAX_LEN + WINDOW_MORE;
			if (!load_window(st, g, w.at + pos, want, &w))
				return;
			pos = 0;
			continue;
		}
		if (code) {
			if (pos >= w.len)
				return;
			pos = skip_to_magic(&w, pos);
			continue;
		}
		if (h.seq > g->last)
			return;
		if (h.seq >= r->next && !find_hole(st, h.seq)) {
			fill_hole(r, h.seq - 1);
			if (!has_room(r, h.length))
				break;
			strbuf_add(r->out, w.data + pos, h.length);
			r->next = h.seq + 1;
		}
		pos += h.length;
		st->read_seg = g;
		st->read_seq = r->next;
		st->read_at = w.at + pos;
	}
}

bool spool_read(struct spool *s, const char *stream, uint64_t from, size_t bytes_max,
		struct strbuf *out, uint64_t *ret_last)
{
	bool own;
	struct stream *st = find_stream(s, stream, &own);
	struct reading r = {.s = s, .st = st, .out = out, .bytes_max = bytes_max, .next = from};

	strbuf_clear(out);
	if (!st || from >= st->next)
		return false;
	for (size_t i = 0; i < st->len && !r.full; i++) {
		struct segment *g = st->seg[i];

		if (g->last < r.next || g->first > g->last)
			continue;
		if (g->first > r.next)
			fill_hole(&r, g->first - 1);
		if (r.full)
			break;
		read_segment(&r, g);
		if (!r.full && r.next <= g->last)
			fill_hole(&r, g->last); /* its end is damaged or cannot be read */
	}
	if (!r.full)
		fill_hole(&r, st->next - 1);
	*ret_last = r.next - 1;
	return out->len > 0;
}

/* ---- answers of the server ---- */

void spool_acked(struct spool *s, const char *stream, uint64_t next_seq)
{
	bool own;
	struct stream *st = find_stream(s, stream, &own);

	if (!st)
		return;
	/* A server that lost its last commits moves the mark back: deliver again. */
	st->acked = next_seq < st->next ? next_seq : st->next;
	if (st->acked_max < st->acked)
		st->acked_max = st->acked;
	for (size_t i = 0; i < st->len; i++)
		if (st->seg[i]->last >= st->acked)
			st->seg[i]->acked_ns = 0;
}

static void keep_rejected(struct spool *s, const char *hex, uint64_t from, uint64_t to,
			  const struct strbuf *bytes)
{
	char name[STREAM_HEX + 64];

	snprintf(name, sizeof(name), "%s-%llu-%llu.records", hex, (unsigned long long)from,
		 (unsigned long long)to);
	spool_put_aside(s, "rejected", name, bytes->data, bytes->len);
}

void spool_reject(struct spool *s, const char *stream, uint64_t from, uint64_t to,
		  const char *reason)
{
	struct strbuf bytes CLEANUP(strbuf_done) = {0};
	bool own;
	struct stream *st = find_stream(s, stream, &own);
	uint64_t last, samples = 0;

	if (!st || !spool_read(s, stream, from, RECORD_MAX_LEN, &bytes, &last))
		return;
	for (size_t at = 0; at < bytes.len;) {
		struct record_header h;
		struct err e;

		if (record_check(bytes.data + at, bytes.len - at, &h, &e))
			break;
		if (h.seq <= to)
			samples += h.samples;
		at += h.length;
	}
	keep_rejected(s, stream, from, to, &bytes);
	stream_add_hole(s, st, from, to, samples, "rejected", reason);
}

static void set_aside_stream(struct spool *s, struct stream *st)
{
	struct strbuf bytes CLEANUP(strbuf_done) = {0};
	uint64_t from = st->acked, last;

	while (spool_read(s, st->hex, from, RECORD_MAX_LEN, &bytes, &last)) {
		keep_rejected(s, st->hex, from, last, &bytes);
		from = last + 1;
	}
	while (st->len)
		stream_remove_segment(s, st, st->len - 1);
}

static void put_fork_gap(struct spool *s, const char *hex, uint64_t from, uint64_t to)
{
	char *json CLEANUP(freep) = xasprintf(
		"{\"stream\":\"%s\",\"from_seq\":%llu,\"to_seq\":%llu,\"reason\":\"rejected\","
		"\"text\":\"the server holds other bytes under these numbers: a restored snapshot "
		"or a cloned disk\"}",
		hex, (unsigned long long)from, (unsigned long long)to);

	record_begin(&s->gap_writer);
	record_item_json(&s->gap_writer, ITEM_GAP, json, strlen(json));
	spool_append(s, &s->gap_writer, 0);
}

void spool_fork(struct spool *s, const char *stream)
{
	bool own;
	struct stream *st = find_stream(s, stream, &own), *fresh;
	uint64_t from, to;
	struct err e;

	if (!st)
		return;
	if (own) {
		if (stream_create(&fresh, &e)) {
			log_error("spool: %s", e.text);
			return;
		}
		spool_finish_segment(s, true);
	}
	from = st->acked;
	to = st->next - 1;
	set_aside_stream(s, st);
	s->dropped_records += to - from + 1;
	if (own) {
		s->own = fresh;
		s->generation++;
		s->runs = 0;
		memset(s->open_run, 0, sizeof(s->open_run));
		spool_forget_unsynced(s);
		if (!s->degraded || s->dirfd >= 0)
			(void)spool_reopen_dir(s);
	} else {
		for (size_t i = 0; i < s->old_len; i++)
			if (s->old[i] == st)
				s->old[i] = s->old[--s->old_len];
	}
	put_fork_gap(s, st->hex, from, to);
	stream_delete(s, st);
}

unsigned int spool_generation(const struct spool *s)
{
	return s->generation;
}

int64_t spool_oldest_ns(struct spool *s)
{
	struct strbuf b CLEANUP(strbuf_done) = {0};
	struct spool_position pos;
	struct record_header h;
	uint64_t last;
	struct err err;

	if (!spool_pending(s, &pos) || !spool_read(s, pos.stream, pos.acked, 1, &b, &last) ||
	    record_check(b.data, b.len, &h, &err))
		return 0;
	return h.realtime_ns;
}
