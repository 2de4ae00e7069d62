/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening: the directories, what earlier processes left in them, and repair. */
#include "agent/spool_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

#define SEGMENT_READ_MAX (64u << 20) /* a file above this is none of ours */
#define EMPTY_AGE_S	 60
#define ASIDE_FILES_MAX	 64
#define ASIDE_BYTES_MAX	 (64u << 20)

bool spool_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* ---- putting aside ---- */

/* Deletes the oldest files of a directory until there is room for one more. */
static void bound_dir(int dirfd, uint64_t more)
{
	for (;;) {
		int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
		char oldest[256] = "";
		int64_t oldest_s = INT64_MAX;
		uint64_t bytes = more, files = 0;
		struct dirent *e;
		struct stat st;

		while (d && (e = readdir(d))) {
			if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			    !S_ISREG(st.st_mode))
				continue;
			files++;
			bytes += (uint64_t)st.st_size;
			if (st.st_mtime < oldest_s) {
				oldest_s = st.st_mtime;
				snprintf(oldest, sizeof(oldest), "%s", e->d_name);
			}
		}
		if (d)
			closedir(d);
		if (!*oldest || (files < ASIDE_FILES_MAX && bytes <= ASIDE_BYTES_MAX) ||
		    unlinkat(dirfd, oldest, 0))
			return;
	}
}

static int open_subdir(int at, const char *name)
{
	if (at < 0 || (mkdirat(at, name, 0750) && errno != EEXIST))
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

void spool_put_aside(struct spool *s, const char *subdir, const char *name, const void *data,
		     size_t len)
{
	int dirfd = open_subdir(s->dirfd, subdir), fd = -1;

	if (dirfd >= 0) {
		bound_dir(dirfd, len);
		fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			    0640);
	}
	if (fd < 0 || !spool_write_all(fd, data, len))
		log_warn("spool: %s/%s/%s cannot be kept for inspection: %s", s->dir, subdir, name,
			 strerror(errno));
	if (fd >= 0)
		close(fd);
	if (dirfd >= 0)
		close(dirfd);
}

/* ---- streams ---- */

void stream_free(struct stream *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < st->len; i++) {
		strbuf_done(&st->seg[i]->ram);
		free(st->seg[i]);
	}
	for (size_t i = 0; i < st->holes; i++) {
		free(st->hole[i].text);
		free(st->hole[i].each);
	}
	free(st->seg);
	free(st->hole);
	if (st->dirfd >= 0)
		close(st->dirfd);
	free(st);
}

void stream_delete(struct spool *s, struct stream *st)
{
	if (s->dirfd >= 0 && unlinkat(s->dirfd, st->hex, AT_REMOVEDIR) && errno != ENOENT)
		log_warn("spool: cannot remove %s/%s: %s", s->dir, st->hex, strerror(errno));
	stream_free(st);
}

static struct stream *stream_alloc(const unsigned char id[STREAM_ID_LEN])
{
	struct stream *st = xcalloc(1, sizeof(*st));

	memcpy(st->id, id, STREAM_ID_LEN);
	hex_put(id, STREAM_ID_LEN, st->hex);
	st->dirfd = -1;
	st->acked = st->next = 1;
	return st;
}

/* Opens and locks; false when another process writes or drains it. */
static bool open_stream_dir(struct spool *s, struct stream *st)
{
	st->dirfd = openat(s->dirfd, st->hex, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (st->dirfd < 0)
		return false;
	if (!flock(st->dirfd, LOCK_EX | LOCK_NB))
		return true;
	close(st->dirfd);
	st->dirfd = -1;
	return false;
}

bool spool_reopen_dir(struct spool *s)
{
	if (s->dirfd < 0) {
		if (mkdir(s->dir, 0750) && errno != EEXIST) {
			spool_degrade(s, "cannot create %s: %s", s->dir, strerror(errno));
			return false;
		}
		s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (s->dirfd < 0 || (mkdirat(s->dirfd, s->own->hex, 0750) && errno != EEXIST) ||
	    !open_stream_dir(s, s->own)) {
		spool_degrade(s, "cannot write to %s: %s", s->dir, strerror(errno));
		return false;
	}
	return true;
}

int stream_create(struct stream **ret, struct err *reterr)
{
	unsigned char id[STREAM_ID_LEN];

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return err_errno(reterr, errno, "no random numbers for a stream id");
	*ret = stream_alloc(id);
	return 0;
}

/* ---- recovery of one segment ---- */

struct loaded {
	struct segment_header head;
	struct segment_scan scan;
	uint16_t flags;
	bool sealed, rewritten;
};

static char *read_file(int dirfd, const char *name, size_t *ret_len)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *data = NULL;
	size_t len = 0;
	struct stat st;
	ssize_t n = 1;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= SEGMENT_READ_MAX) {
		data = xcalloc((size_t)st.st_size + 1, 1);
		while (len < (size_t)st.st_size &&
		       (n = read(fd, data + len, (size_t)st.st_size - len)) > 0)
			len += (size_t)n;
	}
	close(fd);
	*ret_len = len;
	return data;
}

/* Header and footer alone, when both are good: 128 bytes instead of the whole file. */
static bool read_sealed(int dirfd, const char *name, struct loaded *l, uint64_t *ret_size)
{
	unsigned char head[SEGMENT_HEADER_LEN], foot[SEGMENT_FOOTER_LEN];
	struct segment_footer f;
	struct stat st;
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool ok;

	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	     st.st_size >= SEGMENT_HEADER_LEN + SEGMENT_FOOTER_LEN &&
	     pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	     pread(fd, foot, sizeof(foot), st.st_size - SEGMENT_FOOTER_LEN) ==
		     (ssize_t)sizeof(foot) &&
	     segment_read_header(head, sizeof(head), &l->head) &&
	     segment_read_footer(foot, sizeof(foot), &f);
	close(fd);
	if (!ok)
		return false;
	*ret_size = (uint64_t)st.st_size;
	l->flags = f.flags;
	l->sealed = true;
	l->scan.first = l->head.first_seq;
	l->scan.last = f.last_seq;
	l->scan.records = f.records;
	l->scan.samples = f.samples;
	memcpy(l->scan.open_run, f.open_run, RUN_UID_LEN);
	return true;
}

static void keep_record(void *user, const unsigned char *record, size_t len)
{
	strbuf_add(user, record, len);
}

/* Good records of a damaged file go to a new file of the same name; the damaged one is kept. */
static bool rewrite(struct spool *s, struct stream *st, const char *name, const char *data,
		    size_t len, const struct strbuf *good, const struct loaded *l)
{
	char aside[STREAM_HEX + 260], tmp[264];
	unsigned char head[SEGMENT_HEADER_LEN];
	bool ok;
	int fd;

	snprintf(aside, sizeof(aside), "%s-%s", st->hex, name);
	spool_put_aside(s, "corrupt", aside, data, len);
	st->damaged = true;
	if (!l->scan.records)
		return !unlinkat(st->dirfd, name, 0);
	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	segment_put_header(&l->head, head);
	fd = openat(st->dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return false;
	ok = spool_write_all(fd, head, sizeof(head)) &&
	     spool_write_all(fd, good->data, good->len) && !fsync(fd);
	close(fd);
	return ok && !renameat(st->dirfd, tmp, st->dirfd, name) && !fsync(st->dirfd);
}

static void cut_tail(struct spool *s, struct stream *st, const char *name, off_t end)
{
	int fd = openat(st->dirfd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || ftruncate(fd, end) || fsync(fd))
		log_warn("spool: cannot cut the torn end of %s/%s/%s: %s", s->dir, st->hex, name,
			 strerror(errno));
	if (fd >= 0)
		close(fd);
}

static bool name_fits(const char *name, const struct loaded *l)
{
	char want[32];

	segment_name(want, l->head.first_seq);
	return !strcmp(name, want);
}

/* Reads the whole of a file without a good footer, repairs it; false: nothing usable in it. */
static bool load_unsealed(struct spool *s, struct stream *st, const char *name, struct loaded *l,
			  uint64_t *ret_size)
{
	struct strbuf good CLEANUP(strbuf_done) = {0};
	size_t len = 0;
	char *data CLEANUP(freep) = read_file(st->dirfd, name, &len);
	bool damaged = false;

	if (!data)
		return false;
	if (!segment_read_header((unsigned char *)data, len, &l->head)) {
		/* The place of the file says what its header said. */
		damaged = true;
		memcpy(l->head.stream, st->id, STREAM_ID_LEN);
		l->head.first_seq = strtoull(name, NULL, 16);
	}
	if (memcmp(l->head.stream, st->id, STREAM_ID_LEN) || !name_fits(name, l))
		return true; /* the caller sets it aside */
	if (len < SEGMENT_HEADER_LEN)
		return unlinkat(st->dirfd, name, 0) > 0; /* false: torn at its creation */
	memcpy(l->scan.open_run, l->head.open_run, RUN_UID_LEN);
	segment_scan_records((unsigned char *)data + SEGMENT_HEADER_LEN, len - SEGMENT_HEADER_LEN,
			     &l->scan, keep_record, &good);
	damaged |= l->scan.bad_bytes || l->scan.order_broken ||
		   (l->scan.records && l->scan.first < l->head.first_seq);
	*ret_size = SEGMENT_HEADER_LEN + good.len;
	if (damaged) {
		l->rewritten = true;
		log_warn("spool: %s/%s/%s is damaged; %llu good records are kept, the file goes to "
			 "corrupt/",
			 s->dir, st->hex, name, (unsigned long long)l->scan.records);
		return rewrite(s, st, name, data, len, &good, l) && l->scan.records;
	}
	if (l->scan.torn)
		cut_tail(s, st, name, (off_t)(SEGMENT_HEADER_LEN + l->scan.good_end));
	return true;
}

static void set_aside_foreign(struct spool *s, struct stream *st, const char *name)
{
	char aside[STREAM_HEX + 300];
	size_t len = 0;
	char *data CLEANUP(freep) = read_file(st->dirfd, name, &len);

	snprintf(aside, sizeof(aside), "%s-%s", st->hex, name);
	log_warn("spool: %s/%s/%s does not belong there; it goes to corrupt/", s->dir, st->hex,
		 name);
	if (data)
		spool_put_aside(s, "corrupt", aside, data, len);
	st->damaged = true;
	(void)unlinkat(st->dirfd, name, 0);
}

static void load_segment(struct spool *s, struct stream *st, const char *name)
{
	struct loaded l = {0};
	struct segment *g;
	uint64_t size = 0;

	if (!read_sealed(st->dirfd, name, &l, &size) && !load_unsealed(s, st, name, &l, &size))
		return;
	/* A copy under another name, or one from another stream. */
	if (memcmp(l.head.stream, st->id, STREAM_ID_LEN) || !name_fits(name, &l)) {
		set_aside_foreign(s, st, name);
		return;
	}
	st->clean = l.flags & SEGMENT_CLOSED;
	memcpy(st->open_run, l.scan.open_run, RUN_UID_LEN);
	if (!l.scan.records && !l.sealed) { /* a crash right after its creation */
		(void)unlinkat(st->dirfd, name, 0);
		return;
	}
	g = stream_add_segment(st, l.head.first_seq);
	g->last = l.scan.records ? l.scan.last : g->first - 1;
	g->bytes = size;
	g->records = l.scan.records;
	g->samples = l.scan.samples;
	g->sealed = l.sealed;
	if (st->next <= g->last)
		st->next = g->last + 1;
	if (!l.scan.records && st->next < g->first)
		st->next = g->first;
}

static int is_segment(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 4 && (!strcmp(e->d_name + len - 4, ".seg"));
}

static int scan_dir(int dirfd, struct dirent ***names, int (*filter)(const struct dirent *))
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd);
	return scandir(path, names, filter, alphasort);
}

static void load_segments(struct spool *s, struct stream *st)
{
	struct dirent **names;
	int n = scan_dir(st->dirfd, &names, is_segment);

	for (int i = 0; i < n; i++) {
		load_segment(s, st, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	/* After a failed fsync a later file repeats the end of an earlier one. */
	for (size_t i = 0; i + 1 < st->len; i++)
		if (st->seg[i]->last >= st->seg[i + 1]->first)
			st->seg[i]->last = st->seg[i + 1]->first - 1;
}

/* ---- old streams ---- */

static const unsigned char no_run[RUN_UID_LEN];

static void put_unclean(struct record_writer *w, const struct stream *st)
{
	char uid[2 * RUN_UID_LEN + 1];
	char *json;

	record_begin(w);
	json = xasprintf("{\"stream\":\"%s\",\"from_seq\":%llu,\"to_seq\":%llu,\"reason\":"
			 "\"unclean_end\",\"text\":\"the agent ended without closing this stream; "
			 "what it measured in its last moments may be missing\"}",
			 st->hex, (unsigned long long)st->next, (unsigned long long)st->next);
	record_item_json(w, ITEM_GAP, json, strlen(json));
	free(json);
	if (!memcmp(st->open_run, no_run, RUN_UID_LEN))
		return;
	hex_put(st->open_run, RUN_UID_LEN, uid);
	json = xasprintf("{\"run_uid\":\"%s\",\"state\":\"aborted\",\"reason\":\"the agent ended "
			 "before the run did\",\"window_end\":\"stopped\",\"ended_ns\":%lld,"
			 "\"workload\":null,\"cost\":null,\"missed\":{},\"lost\":0,\"marks\":[]}",
			 uid, (long long)clock_realtime_ns());
	record_item_json(w, ITEM_RUN_END, json, strlen(json));
	free(json);
}

/* The closed flag goes into an empty segment of its own behind the last number, so that the
 * next start does not end the run again. */
static void mark_closed(struct spool *s, struct stream *st)
{
	unsigned char buf[SEGMENT_HEADER_LEN + SEGMENT_FOOTER_LEN];
	struct segment_header h = {.first_seq = st->next, .created_ns = clock_realtime_ns()};
	struct segment_footer f = {.flags = SEGMENT_CLOSED, .last_seq = st->next - 1};
	struct segment *g;
	char name[32];
	int fd;

	memcpy(h.stream, st->id, sizeof(h.stream));
	segment_put_header(&h, buf);
	segment_put_footer(&f, buf + SEGMENT_HEADER_LEN);
	segment_name(name, st->next);
	fd = openat(st->dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0 || !spool_write_all(fd, buf, sizeof(buf)) || fsync(fd))
		log_warn("spool: cannot close %s/%s: %s", s->dir, st->hex, strerror(errno));
	if (fd >= 0)
		close(fd);
	g = stream_add_segment(st, st->next);
	g->bytes = sizeof(buf);
	g->sealed = st->clean = true;
}

static void adopt(struct spool *s, struct stream *st)
{
	struct stat info;

	load_segments(s, st);
	if (!st->len) {
		/* Nothing was ever written, or its owner is just about to lock it. */
		if (!fstat(st->dirfd, &info) && time(NULL) - info.st_mtime > EMPTY_AGE_S)
			stream_delete(s, st);
		else
			stream_free(st);
		return;
	}
	if (!st->clean) {
		bool in_run = memcmp(st->open_run, no_run, RUN_UID_LEN) != 0;

		put_unclean(&s->gap_writer, st);
		spool_append(s, &s->gap_writer, in_run ? spool_new_run(s) : 0);
		spool_sync_now(s);
		mark_closed(s, st);
	}
	GROW(s->old, s->old_len, s->old_cap);
	s->old[s->old_len++] = st;
}

static int is_stream(const struct dirent *e)
{
	unsigned char id[STREAM_ID_LEN];

	return strlen(e->d_name) == 2 * STREAM_ID_LEN && hex_read(e->d_name, id, STREAM_ID_LEN);
}

static bool known(const struct spool *s, const char *hex)
{
	for (size_t i = 0; i < s->old_len; i++)
		if (!strcmp(s->old[i]->hex, hex))
			return true;
	return !strcmp(s->own->hex, hex);
}

void spool_rescan(struct spool *s)
{
	struct dirent **names;
	int n = s->dirfd >= 0 ? scan_dir(s->dirfd, &names, is_stream) : -1;

	for (int i = 0; i < n; i++) {
		unsigned char id[STREAM_ID_LEN];
		struct stream *st;

		if (!known(s, names[i]->d_name) && hex_read(names[i]->d_name, id, STREAM_ID_LEN)) {
			st = stream_alloc(id);
			if (open_stream_dir(s, st))
				adopt(s, st);
			else
				stream_free(st);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* ---- the spool ---- */

static uint64_t or_default(uint64_t v, uint64_t dflt)
{
	return v ? v : dflt;
}

static void fill_conf(struct spool *s, const struct spool_conf *conf)
{
	struct spool_conf *c = &s->conf;

	*c = *conf;
	c->dir = s->dir = xstrdup(conf->dir);
	c->host = s->host = xstrdup(conf->host ? conf->host : "");
	c->bytes_max = or_default(c->bytes_max, 256ull << 20);
	c->segments_max = or_default(c->segments_max, 4096);
	c->segment_bytes = or_default(c->segment_bytes, 4u << 20);
	if (c->segment_bytes > c->bytes_max / 4)
		c->segment_bytes = c->bytes_max / 4;
	c->segment_ns = (int64_t)or_default((uint64_t)c->segment_ns, 60 * NS_PER_SEC);
	c->retain_bytes = or_default(c->retain_bytes, 64u << 20);
	c->retain_ns = (int64_t)or_default((uint64_t)c->retain_ns, 900 * NS_PER_SEC);
	c->ram_bytes = or_default(c->ram_bytes, 4u << 20);
}

static void make_dirs(const char *path)
{
	char *p CLEANUP(freep) = xstrdup(path);

	for (char *slash = p + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(p, 0755);
		*slash = '/';
	}
	(void)mkdir(p, 0750);
}

static int open_dir(struct spool *s, struct err *reterr)
{
	struct stat st;

	make_dirs(s->dir); /* the open below says what is wrong */
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dirfd < 0) {
		/* Who may make a link there must not choose where we write. */
		if (errno == ELOOP || (!lstat(s->dir, &st) && S_ISLNK(st.st_mode)))
			spool_degrade(s, "%s is a symbolic link: name the directory itself",
				      s->dir);
		else
			spool_degrade(s, "cannot use %s: %s", s->dir, strerror(errno));
		return 0;
	}
	if (s->conf.exclusive && flock(s->dirfd, LOCK_EX | LOCK_NB))
		return err_set(reterr, ERR_BUSY,
			       "another rigstat-agent daemon uses the spool %s; stop it, or give "
			       "this one its own --spool",
			       s->dir);
	(void)spool_reopen_dir(s); /* degraded when refused */
	return 0;
}

int spool_open(const struct spool_conf *conf, struct spool **ret, struct err *reterr)
{
	struct spool *s CLEANUP(spool_closep) = xcalloc(1, sizeof(*s));
	int r;

	s->dirfd = s->fd = -1;
	s->unsynced_whole = true;
	s->unsynced_first = 1;
	fill_conf(s, conf);
	r = stream_create(&s->own, reterr);
	if (!r)
		r = open_dir(s, reterr);
	if (r)
		return r;
	spool_rescan(s);
	spool_enforce_quota(s);
	*ret = TAKE(s);
	return 0;
}

static void close_own(struct spool *s)
{
	bool closed = !memcmp(s->open_run, no_run, RUN_UID_LEN);

	if (!s->degraded && s->own->next > 1 && s->own->dirfd >= 0) {
		bool had = s->writing && s->writing->records;

		spool_finish_segment(s, closed);
		if (!had && closed)
			mark_closed(s, s->own);
	}
	spool_set_quiet(s, false);
	spool_sync_now(s);
	if (s->own->next == 1 && s->own->dirfd >= 0)
		(void)unlinkat(s->dirfd, s->own->hex, AT_REMOVEDIR);
}

static void report_lost(const struct spool *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->own->len; i++)
		if (s->own->seg[i]->in_ram && s->own->seg[i]->last >= s->own->acked)
			n += s->own->seg[i]->records;
	if (n)
		log_error("spool: %llu records were only in memory and are lost: %s",
			  (unsigned long long)n, s->reason);
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	if (s->own) {
		spool_set_quiet(s, false);
		spool_retry_now(s);
		spool_tick(s); /* a last chance for what is only in memory */
		close_own(s);
		report_lost(s);
	}
	stream_free(s->own);
	for (size_t i = 0; i < s->old_len; i++)
		stream_free(s->old[i]);
	free(s->old);
	for (size_t i = 0; i < s->sync_fds; i++)
		close(s->sync_fd[i]);
	strbuf_done(&s->unsynced);
	record_writer_done(&s->gap_writer);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->dir);
	free(s->host);
	free(s);
}

void spool_closep(struct spool **s)
{
	spool_close(TAKE(*s));
}

const char *spool_stream(const struct spool *s)
{
	return s->own->hex;
}

uint64_t spool_next_seq(const struct spool *s)
{
	return s->own->next;
}
