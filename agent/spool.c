/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing side of the spool: append, close segments, sync, quota, and life without a disk. */
#include "agent/spool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/log.h"

#define SYNC_NS		  NS_PER_SEC
#define SYNC_BYTES	  (1u << 20)
#define UNSYNCED_MAX	  (1u << 20)
#define RAM_SEGMENT_BYTES (256u << 10)
#define RETRY_NS	  (5 * NS_PER_SEC)
#define COUNT_BYTES	  (256u << 10)

void segment_name(char name[32], uint64_t first)
{
	snprintf(name, 32, "%016llx.seg", (unsigned long long)first);
}

uint64_t stream_floor(const struct stream *st)
{
	return st->len ? st->seg[0]->first : st->next;
}

/* Keeps the array sorted by first number. */
struct segment *stream_add_segment(struct stream *st, uint64_t first)
{
	struct segment *g = xcalloc(1, sizeof(*g));
	size_t at;

	GROW(st->seg, st->len, st->cap);
	for (at = st->len; at && st->seg[at - 1]->first > first; at--)
		st->seg[at] = st->seg[at - 1];
	st->seg[at] = g;
	st->len++;
	g->first = first;
	g->last = first - 1;
	g->created_ns = clock_boottime_ns();
	return g;
}

void stream_remove_segment(struct spool *s, struct stream *st, size_t i)
{
	struct segment *g = st->seg[i];
	char name[32];

	CHECK(g != s->writing);
	segment_name(name, g->first);
	if (!g->in_ram && unlinkat(st->dirfd, name, 0) && errno != ENOENT)
		spool_degrade(s, "cannot delete %s/%s/%s: %s", s->dir, st->hex, name,
			      strerror(errno));
	if (st->read_seg == g)
		st->read_seg = NULL;
	strbuf_done(&g->ram);
	free(g);
	st->len--;
	memmove(&st->seg[i], &st->seg[i + 1], (st->len - i) * sizeof(st->seg[0]));
}

void stream_add_hole(struct spool *s, struct stream *st, uint64_t from, uint64_t to,
		     uint64_t samples, const char *reason, const char *text)
{
	struct hole *last = st->holes ? &st->hole[st->holes - 1] : NULL;

	if (from > to)
		return;
	s->dropped_records += to - from + 1;
	s->dropped_samples += samples;
	if (last && last->to + 1 == from && from != st->acked && !strcmp(last->reason, reason) &&
	    !strcmp(last->text, text)) {
		last->to = to;
		last->samples += samples;
		return;
	}
	GROW(st->hole, st->holes, st->holes_cap);
	st->hole[st->holes++] = (struct hole){from, to, samples, reason, xstrdup(text), NULL, 0};
}

/* Samples of each number of g from `from` on; returns their sum. */
static uint64_t count_samples(struct spool *s, struct stream *st, const struct segment *g,
			      uint64_t from, uint32_t *each)
{
	struct strbuf bytes CLEANUP(strbuf_done) = {0};
	uint64_t sum = 0, at_seq = from, last;
	struct record_header h;
	struct err e;

	while (at_seq <= g->last && spool_read(s, st->hex, at_seq, COUNT_BYTES, &bytes, &last)) {
		for (size_t at = 0; at < bytes.len; at += h.length) {
			if (record_check(bytes.data + at, bytes.len - at, &h, &e) ||
			    h.seq > g->last)
				break;
			each[h.seq - from] = h.samples;
			sum += h.samples;
		}
		at_seq = last + 1;
	}
	return sum;
}

/* What of a segment is not delivered becomes a hole; the caller removes the segment. Of the oldest
 * one a part may be on its way to the server: which numbers are left is only known later. */
static void segment_to_hole(struct spool *s, struct stream *st, const struct segment *g,
			    const char *text)
{
	uint64_t from = g->first > st->acked ? g->first : st->acked, samples = g->samples;
	uint32_t *each = NULL;

	if (from > g->last)
		return;
	if (from == st->acked) {
		each = xcalloc(g->last - from + 1, sizeof(*each));
		samples = count_samples(s, st, g, from, each);
	}
	stream_add_hole(s, st, from, g->last, samples, "quota", text);
	if (each && st->hole[st->holes - 1].from == from) {
		st->hole[st->holes - 1].each = each;
		st->hole[st->holes - 1].each_len = g->last - from + 1;
	} else {
		free(each);
	}
}

void spool_degrade(struct spool *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->reason, sizeof(s->reason), fmt, ap);
	va_end(ap);
	s->degraded = true;
	s->retry_ns = clock_boottime_ns() + RETRY_NS;
}

/* ---- syncing ---- */

void spool_forget_unsynced(struct spool *s)
{
	strbuf_clear(&s->unsynced);
	s->unsynced_bytes = 0;
	s->unsynced_first = s->own->next;
	s->unsynced_whole = true;
}

static void note_unsynced(struct spool *s, const struct strbuf *record)
{
	if (s->conf.sync == SYNC_OFF)
		return;
	s->unsynced_bytes += record->len;
	if (s->unsynced.len + record->len > UNSYNCED_MAX) {
		strbuf_done(&s->unsynced);
		s->unsynced_whole = false;
	} else if (s->unsynced_whole) {
		strbuf_add(&s->unsynced, record->data, record->len);
	}
}

static bool may_sync(const struct spool *s)
{
	if (s->conf.sync == SYNC_OFF || s->sync_busy || !s->unsynced_bytes)
		return false;
	if (s->quiet && s->conf.sync != SYNC_ALWAYS)
		return false;
	return s->conf.sync == SYNC_ALWAYS || s->unsynced_bytes >= SYNC_BYTES ||
	       clock_boottime_ns() - s->last_sync_ns >= SYNC_NS;
}

bool spool_sync_begin(struct spool *s, struct spool_sync *ret)
{
	*ret = (struct spool_sync){.fds = 0};
	if (!may_sync(s))
		return false;
	for (; ret->fds < s->sync_fds; ret->fds++)
		ret->fd[ret->fds] = s->sync_fd[ret->fds];
	s->sync_fds = 0;
	if (s->fd >= 0)
		ret->fd[ret->fds] = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	ret->fds += s->fd >= 0 && ret->fd[ret->fds] >= 0;
	ret->file_system = s->sync_overflow && ret->fds;
	s->sync_overflow = false;
	ret->upto = s->own->next;
	ret->bytes = s->unsynced_bytes;
	s->sync_busy = true;
	s->last_sync_ns = clock_boottime_ns();
	return true;
}

void spool_sync_work(struct spool_sync *sync)
{
	for (size_t i = 0; i < sync->fds; i++) {
		if ((sync->file_system ? syncfs(sync->fd[i]) : fsync(sync->fd[i])) && !sync->error)
			sync->error = errno;
		sync->file_system = false; /* the others are done with the first */
		close(sync->fd[i]);
	}
	sync->fds = 0;
}

/* After a failed fsync the kernel may have dropped the pages and will report success next time,
 * so the segment is not trusted: its unsynced records are written again to a new one. */
static void after_failed_sync(struct spool *s, int error)
{
	struct strbuf again = s->unsynced;
	uint64_t first = s->unsynced_first;
	bool whole = s->unsynced_whole;
	size_t at = 0;

	s->unsynced = (struct strbuf){0};
	spool_finish_segment(s, false);
	for (size_t i = s->own->len; whole && i-- > 0;) {
		struct segment *g = s->own->seg[i];

		if (g->first >= first)
			stream_remove_segment(s, s->own, i);
		else if (g->last >= first)
			g->last = first - 1;
	}
	if (!whole)
		log_error("spool: fsync failed (%s); records %llu..%llu may not survive a power "
			  "cut",
			  strerror(error), (unsigned long long)first,
			  (unsigned long long)s->own->next - 1);
	if (++s->sync_failures > 1)
		spool_degrade(s, "fsync of %s fails: %s", s->dir, strerror(error));
	s->own->next = whole ? first : s->own->next;
	spool_forget_unsynced(s);
	while (whole && at < again.len) {
		struct record_header h;
		struct err e;

		CHECK(!record_check(again.data + at, again.len - at, &h, &e));
		spool_store(s, again.data + at, h.length, &h);
		at += h.length;
	}
	strbuf_done(&again);
}

void spool_sync_end(struct spool *s, const struct spool_sync *sync)
{
	size_t at = 0;

	s->sync_busy = false;
	if (sync->error) {
		after_failed_sync(s, sync->error);
		return;
	}
	s->sync_failures = 0;
	s->unsynced_bytes -= sync->bytes;
	if (!s->unsynced_bytes) {
		spool_forget_unsynced(s);
		return;
	}
	/* Records that came while the other thread was at work stay. */
	while (s->unsynced_whole && at < s->unsynced.len) {
		struct record_header h;
		struct err e;

		CHECK(!record_check(s->unsynced.data + at, s->unsynced.len - at, &h, &e));
		if (h.seq >= sync->upto)
			break;
		at += h.length;
	}
	if (s->unsynced_whole) {
		memmove(s->unsynced.data, s->unsynced.data + at, s->unsynced.len - at);
		s->unsynced.len -= at;
	}
	s->unsynced_first = sync->upto;
}

void spool_sync_now(struct spool *s)
{
	struct spool_sync sync;

	s->last_sync_ns = 0;
	if (!spool_sync_begin(s, &sync))
		return;
	spool_sync_work(&sync);
	spool_sync_end(s, &sync);
}

void spool_set_quiet(struct spool *s, bool quiet)
{
	s->quiet = quiet;
}

/* ---- segments ---- */

static bool enough_space(struct spool *s)
{
	struct statvfs v;
	uint64_t free_bytes, floor, part;

	if (fstatvfs(s->dirfd, &v))
		return true; /* the write will tell */
	free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	part = (uint64_t)v.f_blocks * v.f_frsize / 20;
	floor = s->conf.free_min < part ? s->conf.free_min : part;
	if (free_bytes >= floor)
		return true;
	spool_degrade(s, "only %llu MiB are free on the file system of %s, %llu are to stay free",
		      (unsigned long long)(free_bytes >> 20), s->dir,
		      (unsigned long long)(floor >> 20));
	return false;
}

static void want_dir_sync(struct spool *s)
{
	int fd;

	if (s->conf.sync == SYNC_OFF || s->sync_fds >= SYNC_FDS - 1)
		return;
	fd = fcntl(s->own->dirfd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		s->sync_fd[s->sync_fds++] = fd;
}

/* A new file for numbers from `first` on; false (and degraded) when there is no disk for it. */
static bool open_segment(struct spool *s, uint64_t first)
{
	unsigned char head[SEGMENT_HEADER_LEN];
	struct segment_header h = {.first_seq = first, .created_ns = clock_realtime_ns()};
	char name[32];

	if (s->own->dirfd < 0 || !enough_space(s))
		return false;
	memcpy(h.stream, s->own->id, sizeof(h.stream));
	memcpy(h.open_run, s->open_run, sizeof(h.open_run));
	segment_put_header(&h, head);
	segment_name(name, first);
	s->fd = openat(s->own->dirfd, name,
		       O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (s->fd < 0 || !spool_write_all(s->fd, head, sizeof(head))) {
		spool_degrade(s, "cannot write %s/%s/%s: %s", s->dir, s->own->hex, name,
			      strerror(errno));
		if (s->fd >= 0) {
			close(s->fd);
			(void)unlinkat(s->own->dirfd, name, 0);
		}
		s->fd = -1;
		return false;
	}
	s->writing = stream_add_segment(s->own, first);
	s->writing->bytes = sizeof(head);
	s->crc_of_crcs = 0;
	want_dir_sync(s);
	return true;
}

static size_t index_of(const struct stream *st, const struct segment *g)
{
	size_t i = 0;

	while (st->seg[i] != g)
		CHECK(++i < st->len);
	return i;
}

/* An empty file would stand in the way of the next one with these numbers. */
static void discard_writing(struct spool *s)
{
	struct segment *g = s->writing;

	close(s->fd);
	s->fd = -1;
	s->writing = NULL;
	stream_remove_segment(s, s->own, index_of(s->own, g));
}

/* Seals the segment that is written. Its fd waits for the next sync. */
void spool_finish_segment(struct spool *s, bool closed)
{
	unsigned char foot[SEGMENT_FOOTER_LEN];
	struct segment *g = s->writing;
	struct segment_footer f;

	if (!g)
		return;
	if (!g->records) {
		discard_writing(s);
		return;
	}
	f = (struct segment_footer){
		.flags = closed ? SEGMENT_CLOSED : 0,
		.records = (uint32_t)g->records,
		.crc_of_crcs = s->crc_of_crcs,
		.last_seq = g->last,
		.samples = g->samples,
	};
	memcpy(f.open_run, s->open_run, sizeof(f.open_run));
	segment_put_footer(&f, foot);
	if (spool_write_all(s->fd, foot, sizeof(foot))) {
		g->bytes += sizeof(foot);
		s->unsynced_bytes += sizeof(foot);
		g->sealed = true;
	} /* else recovery reads it without a footer */
	if (s->conf.sync != SYNC_OFF && s->sync_fds < SYNC_FDS - 1) {
		s->sync_fd[s->sync_fds++] = s->fd;
	} else {
		s->sync_overflow |= s->conf.sync != SYNC_OFF;
		close(s->fd);
	}
	s->fd = -1;
	s->writing = NULL;
}

static bool must_roll(const struct spool *s, size_t more)
{
	const struct segment *g = s->writing;

	return g && g->records &&
	       (g->bytes + more + SEGMENT_FOOTER_LEN > s->conf.segment_bytes ||
		clock_boottime_ns() - g->created_ns >= s->conf.segment_ns);
}

static bool store_on_disk(struct spool *s, const void *data, size_t len,
			  const struct record_header *h)
{
	unsigned char crc[4] = {(unsigned char)h->crc, (unsigned char)(h->crc >> 8),
				(unsigned char)(h->crc >> 16), (unsigned char)(h->crc >> 24)};

	if (must_roll(s, len))
		spool_finish_segment(s, false);
	if (!s->writing && !open_segment(s, h->seq))
		return false;
	if (!spool_write_all(s->fd, data, len)) {
		spool_degrade(s, "cannot write to %s: %s", s->dir, strerror(errno));
		if (ftruncate(s->fd, (off_t)s->writing->bytes))
			log_debug("spool: a torn tail stays for recovery to cut");
		spool_finish_segment(s, false);
		return false;
	}
	s->crc_of_crcs = crc32c(s->crc_of_crcs, crc, 4);
	s->writing->bytes += len;
	s->writing->records++;
	s->writing->samples += h->samples;
	s->writing->last = h->seq;
	return true;
}

/* Memory is a list of small segments, so that the oldest can be dropped whole. */
static void store_in_ram(struct spool *s, const void *data, size_t len,
			 const struct record_header *h)
{
	struct stream *st = s->own;
	struct segment *g = st->len ? st->seg[st->len - 1] : NULL;
	uint64_t total = 0;

	if (!g || !g->in_ram || g->sealed || g->bytes + len > RAM_SEGMENT_BYTES) {
		g = stream_add_segment(st, h->seq);
		g->in_ram = true;
	}
	strbuf_add(&g->ram, data, len);
	g->bytes += len;
	g->records++;
	g->samples += h->samples;
	g->last = h->seq;
	for (size_t i = 0; i < st->len; i++)
		total += st->seg[i]->in_ram ? st->seg[i]->bytes : 0;
	for (size_t i = 0; total > s->conf.ram_bytes && i + 1 < st->len;) {
		struct segment *old = st->seg[i];

		if (!old->in_ram) {
			i++;
			continue;
		}
		total -= old->bytes;
		segment_to_hole(s, st, old, "no disk for the spool and memory was full");
		stream_remove_segment(s, st, i);
	}
}

void spool_store(struct spool *s, const void *data, size_t len, const struct record_header *h)
{
	struct strbuf record = {.data = (char *)data, .len = len};

	CHECK(h->seq == s->own->next);
	s->own->next = h->seq + 1;
	if (!s->degraded && store_on_disk(s, data, len, h)) {
		note_unsynced(s, &record);
		return;
	}
	store_in_ram(s, data, len, h);
}

void spool_append(struct spool *s, struct record_writer *w, uint32_t run)
{
	struct record_header h;
	struct err e;

	record_finish(w, s->own->next, run, clock_boottime_ns(), clock_realtime_ns());
	if (record_check(w->buf.data, w->buf.len, &h, &e)) {
		/* Only a record above RECORD_MAX_LEN; its number becomes a hole. */
		stream_add_hole(s, s->own, s->own->next, s->own->next, w->samples, "rejected",
				e.text);
		s->own->next++;
		return;
	}
	spool_store(s, w->buf.data, w->buf.len, &h);
	if (s->conf.sync == SYNC_ALWAYS)
		spool_sync_now(s);
}

uint32_t spool_new_run(struct spool *s)
{
	return ++s->runs;
}

void spool_set_open_run(struct spool *s, const char *run_uid)
{
	if (!run_uid || !hex_read(run_uid, s->open_run, RUN_UID_LEN))
		memset(s->open_run, 0, sizeof(s->open_run));
}

/* ---- quota and upkeep ---- */

static void totals(const struct stream *st, uint64_t *bytes, uint64_t *n)
{
	for (size_t i = 0; i < st->len; i++)
		if (!st->seg[i]->in_ram) {
			*bytes += st->seg[i]->bytes;
			++*n;
		}
}

static void all_totals(const struct spool *s, uint64_t *bytes, uint64_t *n)
{
	*bytes = *n = 0;
	for (size_t i = 0; i < s->old_len; i++)
		totals(s->old[i], bytes, n);
	totals(s->own, bytes, n);
}

static bool drop_acked(struct spool *s, struct stream *st)
{
	for (size_t i = 0; i < st->len; i++)
		if (st->seg[i] != s->writing && st->seg[i]->last < st->acked) {
			stream_remove_segment(s, st, i);
			return true;
		}
	return false;
}

static bool drop_unsent(struct spool *s, struct stream *st)
{
	for (size_t i = 0; i < st->len; i++) {
		struct segment *g = st->seg[i];

		if (g == s->writing || g->in_ram)
			continue;
		segment_to_hole(s, st, g, "the spool's quota was used up");
		stream_remove_segment(s, st, i);
		return true;
	}
	return false;
}

static bool drop_one(struct spool *s)
{
	for (size_t i = 0; i < s->old_len; i++)
		if (drop_acked(s, s->old[i]))
			return true;
	if (drop_acked(s, s->own))
		return true;
	for (size_t i = 0; i < s->old_len; i++)
		if (drop_unsent(s, s->old[i]))
			return true;
	return drop_unsent(s, s->own);
}

void spool_enforce_quota(struct spool *s)
{
	uint64_t bytes, n;

	all_totals(s, &bytes, &n);
	while ((bytes > s->conf.bytes_max || n > s->conf.segments_max) && drop_one(s))
		all_totals(s, &bytes, &n);
}

/* Delivered segments stay while they are young and small together, for a server that has lost its
 * last commits. */
static void expire(struct spool *s, struct stream *st, int64_t now, uint64_t *kept)
{
	for (size_t i = st->len; i-- > 0;) {
		struct segment *g = st->seg[i];

		if (g == s->writing || g->last >= st->acked)
			continue;
		if (!g->acked_ns)
			g->acked_ns = now;
		*kept += g->bytes;
		if (g->in_ram || *kept > s->conf.retain_bytes ||
		    now - g->acked_ns >= s->conf.retain_ns)
			stream_remove_segment(s, st, i);
	}
}

static bool fill_from_ram(struct spool *s, const struct segment *g)
{
	const struct strbuf *data = &g->ram;

	if (!spool_write_all(s->fd, data->data, data->len))
		return false;
	for (size_t at = 0; at < data->len;) {
		struct record_header h;
		struct err e;

		CHECK(!record_check(data->data + at, data->len - at, &h, &e));
		s->crc_of_crcs = crc32c(s->crc_of_crcs, data->data + at + 40, 4);
		at += h.length;
	}
	s->writing->bytes += data->len;
	s->writing->records = g->records;
	s->writing->samples = g->samples;
	s->writing->last = g->last;
	s->unsynced_bytes += data->len;
	s->unsynced_whole = false;
	return true;
}

static bool ram_segment_to_disk(struct spool *s, struct segment *g)
{
	spool_finish_segment(s, false);
	if (!open_segment(s, g->first))
		return false;
	if (!fill_from_ram(s, g)) {
		spool_degrade(s, "cannot write to %s: %s", s->dir, strerror(errno));
		discard_writing(s);
		return false;
	}
	stream_remove_segment(s, s->own, index_of(s->own, g));
	spool_finish_segment(s, false);
	return true;
}

/* What memory took over goes to disk as segments of its own. */
static void ram_to_disk(struct spool *s)
{
	struct stream *st = s->own;
	size_t i = 0;

	while (i < st->len)
		if (!st->seg[i]->in_ram)
			i++;
		else if (!ram_segment_to_disk(s, st->seg[i]))
			return;
}

static void try_disk_again(struct spool *s)
{
	if (!s->degraded || clock_boottime_ns() < s->retry_ns)
		return;
	s->degraded = false;
	if (s->own->dirfd < 0 && !spool_reopen_dir(s))
		return;
	if (!enough_space(s))
		return;
	ram_to_disk(s);
	if (!s->degraded)
		s->reason[0] = '\0';
}

void spool_retry_now(struct spool *s)
{
	s->retry_ns = 0;
}

void spool_tick(struct spool *s)
{
	int64_t now = clock_boottime_ns();
	uint64_t kept = 0;

	try_disk_again(s);
	if (must_roll(s, 0))
		spool_finish_segment(s, false);
	expire(s, s->own, now, &kept);
	for (size_t i = s->old_len; i-- > 0;) {
		expire(s, s->old[i], now, &kept);
		if (!s->old[i]->len && s->old[i]->acked >= s->old[i]->next) {
			stream_delete(s, s->old[i]);
			s->old[i] = s->old[--s->old_len];
		}
	}
	spool_enforce_quota(s);
	if (!s->degraded && !enough_space(s))
		while (drop_acked(s, s->own))
			;
}

void spool_stats(const struct spool *s, struct spool_stats *ret)
{
	*ret = (struct spool_stats){
		.dropped_records = s->dropped_records,
		.dropped_samples = s->dropped_samples,
		.degraded = s->degraded,
	};
	all_totals(s, &ret->bytes, &ret->segments);
	for (size_t i = 0; i < s->own->len; i++)
		ret->ram_bytes += s->own->seg[i]->in_ram ? s->own->seg[i]->bytes : 0;
	ret->pending_records = s->own->next - s->own->acked;
	for (size_t i = 0; i < s->old_len; i++)
		ret->pending_records +=
			s->old[i]->next > s->old[i]->acked ? s->old[i]->next - s->old[i]->acked : 0;
	snprintf(ret->reason, sizeof(ret->reason), "%s", s->reason);
}
