/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool against damage: whatever happens to the files, every number is delivered once, as
 * the record that was written or inside a GAP record, and opening never fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/segment.h"
#include "agent/spool.h"
#include "common/clock.h"

#define UID "0123456789abcdef0123456789abcdef"

struct dir {
	char path[100];
};

static int on_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void dir_remove(struct dir *d)
{
	nftw(d->path, on_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static struct dir dir_make(void)
{
	struct dir d = {"/dev/shm/rigstat-spool-XXXXXX"}; /* fsync costs nothing there */

	if (access("/dev/shm", W_OK))
		snprintf(d.path, sizeof(d.path), "/tmp/rigstat-spool-XXXXXX");
	assert_non_null(mkdtemp(d.path));
	return d;
}

static struct spool *open_with(const struct dir *d, const struct spool_conf *more)
{
	struct spool_conf c = more ? *more : (struct spool_conf){0};
	struct spool *s = NULL;
	struct err e;

	c.dir = d->path;
	c.host = "box";
	if (spool_open(&c, &s, &e))
		fail_msg("spool_open: %s", e.text);
	return s;
}

/* Record number n holds the text "record n" and n samples. */
static void append(struct spool *s, size_t len)
{
	struct record_writer w = {0};
	uint64_t n = spool_next_seq(s);
	char text[4096];

	memset(text, 'x', sizeof(text));
	snprintf(text, sizeof(text), "{\"text\":\"record %" PRIu64 "\"", n);
	text[strlen(text)] = ' ';
	record_begin(&w);
	record_item_json(&w, ITEM_LOG, text, len);
	w.samples = (uint32_t)n;
	spool_append(s, &w, 1);
	record_writer_done(&w);
}

static void append_json(struct spool *s, enum item_type type, const char *json)
{
	struct record_writer w = {0};

	record_begin(&w);
	record_item_json(&w, type, json, strlen(json));
	spool_append(s, &w, 1);
	record_writer_done(&w);
}

/* What was delivered of one stream. */
struct ledger {
	uint64_t next, good, gaps, gap_samples;
	char reasons[400];
};

static uint64_t member(const struct record_item *it, const char *name)
{
	char key[40], text[1024];
	const char *at;

	snprintf(text, sizeof(text), "%.*s", (int)it->len, (const char *)it->data);
	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void note_gap(struct ledger *l, const struct record_item *it)
{
	char text[1024], *reason;

	snprintf(text, sizeof(text), "%.*s", (int)it->len, (const char *)it->data);
	reason = strstr(text, "\"reason\":\"");
	assert_non_null(reason);
	reason += 10;
	reason[strcspn(reason, "\"")] = '\0';
	snprintf(l->reasons + strlen(l->reasons), sizeof(l->reasons) - strlen(l->reasons), "%s ",
		 reason);
	l->gaps += member(it, "to_seq") - member(it, "from_seq") + 1;
	l->gap_samples += member(it, "samples");
}

static void check_body(struct ledger *l, const struct strbuf *body, uint64_t first, uint64_t last,
		       const char *stream)
{
	size_t at = 0;

	assert_int_equal(first, l->next);
	while (at < body->len) {
		struct record_header h;
		struct record_item it;
		struct reader r;
		struct err e;
		char text[64];

		if (record_check(body->data + at, body->len - at, &h, &e))
			fail_msg("a delivered record is damaged: %s", e.text);
		assert_int_equal(h.seq, l->next);
		r = record_payload(body->data + at, &h);
		assert_int_equal(record_next_item(&r, &it, &e), 1);
		if (it.type == ITEM_GAP && memmem(it.data, it.len, stream, 32)) {
			assert_int_equal(member(&it, "from_seq"), h.seq);
			note_gap(l, &it);
			l->next = member(&it, "to_seq") + 1;
		} else {
			snprintf(text, sizeof(text), "record %" PRIu64 "\"", h.seq);
			if (it.type == ITEM_LOG)
				assert_non_null(memmem(it.data, it.len, text, strlen(text)));
			l->good++;
			l->next++;
		}
		at += h.length;
	}
	assert_int_equal(l->next, last + 1);
}

/* Delivers one stream as the uploader would, in bodies of `bytes`. */
static struct ledger deliver(struct spool *s, const char *stream, size_t bytes)
{
	struct ledger l = {.next = 1};
	struct strbuf body = {0};
	uint64_t last;

	while (spool_read(s, stream, l.next, bytes, &body, &last)) {
		uint64_t first = l.next;

		assert_true(last >= first);
		check_body(&l, &body, first, last, stream);
		spool_acked(s, stream, l.next);
	}
	strbuf_done(&body);
	return l;
}

static char *one_file(const struct dir *d, const char *stream, size_t number)
{
	char path[200];
	struct dirent **names;
	int n;
	char *found = NULL;

	snprintf(path, sizeof(path), "%s/%s", d->path, stream);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0, seen = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && (size_t)seen++ == number)
			found = xasprintf("%s/%s", path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	assert_non_null(found);
	return found;
}

static char *slurp(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *data;

	assert_true(fd >= 0 && !fstat(fd, &st));
	data = xcalloc((size_t)st.st_size + 1, 1);
	*len = (size_t)read(fd, data, (size_t)st.st_size);
	close(fd);
	return data;
}

static void spit(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* As much as fits. */
static void fill(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, data, len) > 0);
	close(fd);
}

/* A spool as a killed process leaves it: `n` records, no footer. The handle is dropped by
 * copying the directory while it is open. */
static struct dir crashed(size_t n, size_t segment_bytes, char stream[STREAM_HEX])
{
	struct dir live = dir_make(), d = dir_make();
	const struct spool_conf c = {.sync = SYNC_OFF, .segment_bytes = segment_bytes};
	struct spool *s = open_with(&live, &c);
	char cmd[300];

	for (size_t i = 0; i < n; i++)
		append(s, 100);
	snprintf(stream, STREAM_HEX, "%s", spool_stream(s));
	snprintf(cmd, sizeof(cmd), "cp -r %s/. %s/", live.path, d.path);
	assert_int_equal(system(cmd), 0);
	spool_close(s);
	dir_remove(&live);
	return d;
}

static void test_write_and_read(void **state)
{
	static const size_t sizes[] = {1, 300, 4096, 1 << 20};
	const struct spool_conf c = {.segment_bytes = 2000};
	struct dir d = dir_make();
	struct spool *s = open_with(&d, &c);
	char stream[STREAM_HEX];
	struct spool_position pos;

	(void)state;
	snprintf(stream, sizeof(stream), "%s", spool_stream(s));
	assert_false(spool_pending(s, &pos));
	for (size_t i = 0; i < 50; i++)
		append(s, 100);
	assert_true(spool_pending(s, &pos));
	assert_true(pos.own && pos.acked == 1 && pos.next == 51);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct ledger l = deliver(s, stream, sizes[i]);

		assert_int_equal(l.good, 50);
		assert_int_equal(l.gaps, 0);
		spool_acked(s, stream, 1); /* the server has lost everything: again */
	}
	spool_acked(s, stream, 51);
	assert_false(spool_pending(s, &pos));
	spool_close(s);
	/* Closed as intended: the next process has nothing to say about it. */
	s = open_with(&d, NULL);
	assert_int_equal(spool_next_seq(s), 1);
	assert_true(spool_pending(s, &pos));
	assert_string_equal(pos.stream, stream);
	assert_int_equal(deliver(s, stream, 1000).good, 50);
	spool_close(s);
	dir_remove(&d);
}

static void test_F11_truncate_everywhere(void **state)
{
	char stream[STREAM_HEX];
	struct dir d = crashed(4, 0, stream);
	char *file = one_file(&d, stream, 0);
	size_t len;
	char *data = slurp(file, &len);

	(void)state;
	for (size_t cut = 0; cut <= len; cut++) {
		struct spool *s;
		struct ledger l;

		spit(file, data, cut);
		s = open_with(&d, NULL);
		l = deliver(s, stream, 1 << 20);
		assert_int_equal(l.gaps, 0); /* a torn tail was never promised */
		assert_int_equal(l.good, cut < 64 ? 0 : (cut - 64) / ((len - 64) / 4));
		spool_close(s);
		dir_remove(&d);
		assert_int_equal(mkdir(d.path, 0700), 0);
		*strrchr(file, '/') = '\0';
		assert_int_equal(mkdir(file, 0700), 0);
		file[strlen(file)] = '/';
	}
	free(file);
	free(data);
	dir_remove(&d);
}

static void test_F11_flip_any_byte(void **state)
{
	char stream[STREAM_HEX];
	struct dir d = crashed(4, 0, stream);
	char *file = one_file(&d, stream, 0);
	size_t len;
	char *data = slurp(file, &len);
	size_t record = (len - 64) / 4;

	(void)state;
	for (size_t at = 0; at < len; at++) {
		char *bad = xcalloc(len, 1), dir[200];
		struct spool *s;
		struct ledger l;

		memcpy(bad, data, len);
		bad[at] ^= 0x20;
		snprintf(dir, sizeof(dir), "%s/%s", d.path, stream);
		(void)mkdir(dir, 0700);
		spit(file, bad, len);
		free(bad);
		s = open_with(&d, NULL);
		l = deliver(s, stream, 1 << 20);
		if (at < 64) { /* the header: the place says the same */
			assert_int_equal(l.good, 4);
		} else if (at < 64 + 3 * record) { /* a middle record: a hole of one */
			assert_int_equal(l.good, 3);
			assert_int_equal(l.gaps, 1);
			assert_string_equal(l.reasons, "corrupt ");
		} else { /* the last record: a torn tail */
			assert_int_equal(l.good, 3);
			assert_int_equal(l.gaps, 0);
		}
		spool_close(s);
		dir_remove(&d);
		assert_int_equal(mkdir(d.path, 0700), 0);
	}
	free(file);
	free(data);
	dir_remove(&d);
}

static void test_F11_zero_tail_and_rubbish(void **state)
{
	static const char zeros[8192];
	char rubbish[3000];

	(void)state;
	for (size_t i = 0; i < sizeof(rubbish); i++)
		rubbish[i] = (char)(i * 2654435761u >> 11);
	for (int pass = 0; pass < 2; pass++) {
		char stream[STREAM_HEX];
		struct dir d = crashed(5, 0, stream);
		char *file = one_file(&d, stream, 0);
		int fd = open(file, O_WRONLY | O_APPEND);
		struct spool *s;
		struct ledger l;

		assert_true(write(fd, pass ? rubbish : zeros, pass ? sizeof(rubbish) : 8192) > 0);
		close(fd);
		s = open_with(&d, NULL);
		l = deliver(s, stream, 700);
		assert_int_equal(l.good, 5);
		assert_int_equal(l.gaps, 0);
		spool_close(s);
		free(file);
		dir_remove(&d);
	}
}

/* A lost segment, a copy of one under another name, two swapped, and one of another stream. */
static void test_F11_segments_mixed_up(void **state)
{
	char stream[STREAM_HEX], other[STREAM_HEX], to[200];
	struct dir d = crashed(40, 1500, stream), foreign = crashed(7, 0, other);
	char *first = one_file(&d, stream, 0), *second = one_file(&d, stream, 1);
	char *third = one_file(&d, stream, 2), *alien = one_file(&foreign, other, 0);
	size_t len1, len2, len3;
	char *data1 = slurp(first, &len1), *data2 = slurp(second, &len2);
	char *alien_data = slurp(alien, &len3);
	struct spool *s;
	struct ledger l;

	(void)state;
	snprintf(to, sizeof(to), "%s/%s/00000000000000ff.seg", d.path, stream);
	spit(to, data1, len1); /* a copy */
	snprintf(to, sizeof(to), "%s/%s/0000000000000100.seg", d.path, stream);
	spit(to, alien_data, len3); /* a stranger */
	spit(first, data2, len2);   /* swapped */
	spit(second, data1, len1);
	assert_int_equal(unlink(third), 0); /* lost */
	s = open_with(&d, NULL);
	l = deliver(s, stream, 1 << 20);
	assert_int_equal(l.next, 41);
	assert_int_equal(l.good + l.gaps, 40);
	assert_true(l.gaps > 0 && l.gaps < 40);
	spool_close(s);
	/* What was put aside is all still there: copy, stranger and the swapped two. */
	snprintf(to, sizeof(to), "%s/corrupt", d.path);
	free(first);
	free(second);
	free(third);
	free(alien);
	free(data1);
	free(data2);
	free(alien_data);
	{
		struct dirent **names;
		int n = scandir(to, &names, NULL, alphasort);

		assert_int_equal(n, 2 + 4);
		while (n--)
			free(names[n]);
		free(names);
	}
	dir_remove(&d);
	dir_remove(&foreign);
}

/* Damage that comes after opening is found when the bytes are read for delivery. */
static void test_F11_damage_after_opening(void **state)
{
	char stream[STREAM_HEX];
	struct dir d = crashed(6, 0, stream);
	char *file = one_file(&d, stream, 0);
	struct spool *s = open_with(&d, NULL);
	struct ledger l;
	size_t len;
	char *data = slurp(file, &len);

	(void)state;
	data[64 + (len - 64) / 6 * 2 + 60] ^= 1; /* in record 3 */
	spit(file, data, len);
	l = deliver(s, stream, 1 << 20);
	assert_int_equal(l.good, 5);
	assert_int_equal(l.gaps, 1);
	spool_close(s);
	free(data);
	free(file);
	dir_remove(&d);
}

static void test_crash_ends_the_open_run(void **state)
{
	struct dir live = dir_make(), d = dir_make();
	const struct spool_conf c = {.sync = SYNC_OFF, .segment_bytes = 1000};
	struct spool *s = open_with(&live, &c);
	struct strbuf body = {0};
	char cmd[300], stream[STREAM_HEX];
	uint64_t last;

	(void)state;
	spool_set_open_run(s, UID);
	append_json(s, ITEM_RUN_START, "{\"run_uid\":\"" UID "\",\"kind\":\"watch\"}");
	for (size_t i = 0; i < 30; i++)
		append(s, 100);
	snprintf(stream, sizeof(stream), "%s", spool_stream(s));
	snprintf(cmd, sizeof(cmd), "cp -r %s/. %s/", live.path, d.path);
	assert_int_equal(system(cmd), 0);
	spool_close(s);
	for (int start = 0; start < 2; start++) {
		s = open_with(&d, NULL);
		/* The first start says so on its own stream; the second has nothing to add. */
		assert_int_equal(spool_next_seq(s), start ? 1 : 2);
		if (!start) {
			assert_true(spool_read(s, spool_stream(s), 1, 1000, &body, &last));
			assert_non_null(memmem(body.data, body.len, "\"unclean_end\"", 13));
			assert_non_null(memmem(body.data, body.len, "\"aborted\"", 9));
			assert_non_null(memmem(body.data, body.len, UID, 32));
			assert_non_null(memmem(body.data, body.len, stream, 32));
		}
		assert_int_equal(deliver(s, stream, 500).good, 31);
		spool_acked(s, stream, 1);
		spool_close(s);
	}
	strbuf_done(&body);
	dir_remove(&live);
	dir_remove(&d);
}

static void test_quota(void **state)
{
	const struct spool_conf c = {.bytes_max = 20000, .segment_bytes = 2000, .sync = SYNC_OFF};
	struct dir d = dir_make();
	struct spool *s = open_with(&d, &c);
	struct spool_stats st;
	struct ledger l;

	(void)state;
	for (size_t i = 0; i < 400; i++) {
		append(s, 100);
		spool_tick(s);
		spool_stats(s, &st);
		assert_true(st.bytes <= 20000 + 2000);
	}
	assert_true(st.dropped_records > 200);
	l = deliver(s, spool_stream(s), 1000);
	assert_int_equal(l.good + l.gaps, 400);
	assert_int_equal(l.gaps, st.dropped_records);
	assert_int_equal(l.gap_samples, st.dropped_samples);
	assert_string_equal(l.reasons, "quota ");
	spool_close(s);
	dir_remove(&d);
}

/* The oldest segment is dropped while a part of it is delivered and another on its way: the gap
 * counts the samples of those records only that were lost. */
static void test_quota_drops_what_is_half_delivered(void **state)
{
	const struct spool_conf c = {.bytes_max = 8000, .segment_bytes = 2000, .sync = SYNC_OFF};
	struct dir d = dir_make();
	struct spool *s = open_with(&d, &c);
	struct ledger l = {.next = 8};
	struct strbuf body = {0};
	struct spool_stats st;
	uint64_t last, first = 0;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		append(s, 100);
	spool_acked(s, spool_stream(s), 5); /* 5 to 7 are on their way now */
	do {
		append(s, 100);
		spool_tick(s);
		spool_stats(s, &st);
	} while (!st.dropped_records);
	spool_acked(s, spool_stream(s), 8);
	assert_true(spool_read(s, spool_stream(s), 8, 1u << 20, &body, &last));
	check_body(&l, &body, 8, last, spool_stream(s));
	assert_string_equal(l.reasons, "quota ");
	first = 8 + l.gaps; /* the first that is left */
	assert_int_equal(l.gap_samples, (first - 1) * first / 2 - 7 * 8 / 2);
	strbuf_done(&body);
	spool_close(s);
	dir_remove(&d);
}

static void test_segments_quota_and_retention(void **state)
{
	const struct spool_conf c = {
		.segments_max = 5, .segment_bytes = 600, .sync = SYNC_OFF, .retain_ns = 1};
	struct dir d = dir_make();
	struct spool *s = open_with(&d, &c);
	struct spool_stats st;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		append(s, 100);
	spool_tick(s);
	spool_stats(s, &st);
	assert_true(st.segments <= 5 && st.dropped_records > 0);
	spool_acked(s, spool_stream(s), spool_next_seq(s));
	usleep(1000);
	spool_tick(s);
	spool_tick(s);
	spool_stats(s, &st);
	assert_true(st.segments <= 1); /* the one that is written */
	assert_int_equal(st.pending_records, 0);
	spool_close(s);
	dir_remove(&d);
}

/* The server goes back further than the spool has kept: what is gone is named as its loss. */
static void test_F5_server_rollback(void **state)
{
	const struct spool_conf c = {.segment_bytes = 600, .sync = SYNC_OFF, .retain_ns = 1};
	struct dir d = dir_make();
	struct spool *s = open_with(&d, &c);
	struct strbuf body = {0};
	struct ledger l = {.next = 3};
	uint64_t last;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		append(s, 100);
	spool_acked(s, spool_stream(s), 11);
	spool_tick(s);
	usleep(1000);
	spool_tick(s);
	append(s, 100);
	spool_acked(s, spool_stream(s), 3);
	assert_true(spool_read(s, spool_stream(s), 3, 10000, &body, &last));
	check_body(&l, &body, 3, last, spool_stream(s));
	assert_int_equal(l.next, 12);
	assert_string_equal(l.reasons, "server_rollback ");
	strbuf_done(&body);
	spool_close(s);
	dir_remove(&d);
}

/* No disk: records wait in memory, bounded; when it comes back they go there. */
static void test_no_disk(void **state)
{
	const struct spool_conf c = {.ram_bytes = 600 << 10, .sync = SYNC_OFF};
	struct dir base = dir_make(), d;
	struct spool_stats st;
	struct spool *s;
	struct ledger l;

	(void)state;
	snprintf(d.path, sizeof(d.path), "%.80s/spool", base.path);
	spit(d.path, "a file in the way", 17);
	s = open_with(&d, &c);
	for (size_t i = 0; i < 300; i++)
		append(s, 3000);
	spool_stats(s, &st);
	assert_true(st.degraded && *st.reason && st.ram_bytes <= 600 << 10);
	assert_true(st.dropped_records > 0);
	l = deliver(s, spool_stream(s), 10000);
	assert_int_equal(l.good + l.gaps, 300);
	assert_int_equal(l.gaps, st.dropped_records);
	spool_acked(s, spool_stream(s), 1);
	assert_int_equal(unlink(d.path), 0);
	usleep(1000);
	for (int i = 0; i < 80 && st.degraded; i++) {
		usleep(100000);
		spool_tick(s);
		spool_stats(s, &st);
	}
	assert_false(st.degraded);
	assert_int_equal(st.ram_bytes, 0);
	append(s, 100);
	l = deliver(s, spool_stream(s), 10000);
	assert_int_equal(l.good + l.gaps, 301);
	spool_close(s);
	dir_remove(&base);
}

/* A full file system of its own; needs root. */
static void test_F8_disk_full(void **state)
{
	const struct spool_conf c = {.sync = SYNC_OFF, .segment_bytes = 64 << 10};
	static const char filling[200 << 10];
	struct dir d = dir_make();
	struct spool_stats st;
	char filler[200], stream[STREAM_HEX];
	struct spool *s;
	struct ledger l;

	(void)state;
	if (mount("none", d.path, "tmpfs", 0, "size=256k"))
		skip();
	snprintf(filler, sizeof(filler), "%s/filler", d.path);
	fill(filler, filling, sizeof(filling));
	s = open_with(&d, &c);
	/* Over and over full, at any point inside a record, a header or a footer. */
	for (size_t i = 0; i < 150; i++) {
		append(s, 100 + i * 5);
		if (i % 10 == 9) {
			usleep(2000);
			assert_int_equal(truncate(filler, (off_t)(i * 1000)), 0);
			spool_retry_now(s);
			spool_tick(s);
			fill(filler, filling, sizeof(filling) - i * 1300);
		}
	}
	fill(filler, filling, sizeof(filling));
	for (size_t i = 0; i < 40; i++)
		append(s, 3000);
	spool_stats(s, &st);
	assert_true(st.degraded && st.ram_bytes > 0);
	l = deliver(s, spool_stream(s), 100000);
	assert_int_equal(l.good, 190);
	assert_int_equal(l.gaps, 0);
	spool_acked(s, spool_stream(s), 1);
	assert_int_equal(unlink(filler), 0);
	snprintf(stream, sizeof(stream), "%s", spool_stream(s));
	spool_close(s); /* the last chance for what is in memory */
	s = open_with(&d, NULL);
	l = deliver(s, stream, 100000);
	assert_int_equal(l.good, 190);
	assert_int_equal(l.gaps, 0);
	spool_close(s);
	assert_int_equal(umount(d.path), 0);
	dir_remove(&d);
}

static void test_rejected_and_fork(void **state)
{
	struct dir d = dir_make();
	struct spool *s = open_with(&d, NULL);
	char stream[STREAM_HEX], path[200];
	struct spool_position pos;
	struct ledger l;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		append(s, 100);
	spool_reject(s, spool_stream(s), 4, 4, "the server refused it");
	l = deliver(s, spool_stream(s), 1 << 20);
	assert_int_equal(l.good, 9);
	assert_int_equal(l.gap_samples, 4);
	assert_string_equal(l.reasons, "rejected ");
	snprintf(path, sizeof(path), "%s/rejected/%s-4-4.records", d.path, spool_stream(s));
	assert_int_equal(access(path, R_OK), 0);

	spool_acked(s, spool_stream(s), 6);
	snprintf(stream, sizeof(stream), "%s", spool_stream(s));
	spool_fork(s, stream);
	assert_int_equal(spool_generation(s), 1);
	assert_string_not_equal(spool_stream(s), stream);
	assert_int_equal(spool_next_seq(s), 2); /* a GAP about the old stream */
	append(s, 100);
	assert_true(spool_pending(s, &pos) && pos.own);
	assert_int_equal(deliver(s, spool_stream(s), 1000).good, 2);
	spool_close(s);
	dir_remove(&d);
}

static void test_F28_one_writer(void **state)
{
	struct dir d = dir_make();
	const struct spool_conf c = {.dir = d.path, .host = "box", .exclusive = true};
	struct spool *a = NULL, *b = NULL, *other;
	struct err e;

	(void)state;
	assert_int_equal(spool_open(&c, &a, &e), 0);
	append(a, 100);
	assert_int_equal(spool_open(&c, &b, &e), ERR_BUSY);
	assert_non_null(strstr(e.text, d.path));
	/* Another program beside it has its own stream and leaves a's alone. */
	other = open_with(&d, NULL);
	assert_string_not_equal(spool_stream(other), spool_stream(a));
	spool_rescan(a);
	spool_rescan(other);
	append(other, 100);
	spool_close(other);
	/* When it has ended, a delivers what it left. */
	spool_rescan(a);
	{
		struct spool_position pos;

		assert_true(spool_pending(a, &pos) && !pos.own && pos.next == 2);
	}
	spool_close(a);
	dir_remove(&d);
}

static void test_F12_failed_fsync(void **state)
{
	struct dir d = dir_make();
	struct spool *s = open_with(&d, NULL);
	struct spool_sync sync;
	struct ledger l;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		append(s, 100);
	usleep(1100000);
	assert_true(spool_sync_begin(s, &sync));
	append(s, 100); /* while the other thread is at work */
	spool_sync_work(&sync);
	assert_int_equal(sync.error, 0);
	spool_sync_end(s, &sync);
	append(s, 100);
	usleep(1100000);
	assert_true(spool_sync_begin(s, &sync));
	spool_sync_work(&sync);
	sync.error = EIO;
	spool_sync_end(s, &sync);
	append(s, 100);
	l = deliver(s, spool_stream(s), 300);
	assert_int_equal(l.good, 8);
	spool_acked(s, spool_stream(s), 1);
	{
		char stream[STREAM_HEX];

		snprintf(stream, sizeof(stream), "%s", spool_stream(s));
		spool_close(s);
		s = open_with(&d, NULL);
		l = deliver(s, stream, 300);
		assert_int_equal(l.good, 8);
		assert_int_equal(l.gaps, 0);
	}
	spool_close(s);
	dir_remove(&d);
}

/* Is a sync due? It is done then. */
static bool synced(struct spool *s)
{
	struct spool_sync sync;

	if (!spool_sync_begin(s, &sync))
		return false;
	spool_sync_work(&sync);
	assert_int_equal(sync.error, 0);
	spool_sync_end(s, &sync);
	return true;
}

/* always: on disk when append returns; interval: after a second or a MiB; off: never. */
static void test_sync_policies(void **state)
{
	static const enum sync_policy policies[] = {SYNC_ALWAYS, SYNC_INTERVAL, SYNC_OFF};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		const struct spool_conf c = {.sync = policies[i]};
		bool interval = policies[i] == SYNC_INTERVAL;
		struct dir d = dir_make();
		struct spool *s = open_with(&d, &c);

		append(s, 100);
		assert_int_equal(synced(s), interval); /* the first one is due at once */
		append(s, 100);
		assert_false(synced(s)); /* not within a second */
		while (spool_next_seq(s) < 600)
			append(s, 3000);
		assert_int_equal(synced(s), interval); /* but after a MiB */
		append(s, 100);
		usleep(1100000);
		assert_int_equal(synced(s), interval);
		spool_close(s);
		dir_remove(&d);
	}
}

static void test_quiet_holds_fsync(void **state)
{
	const struct spool_conf c = {.segment_bytes = 600};
	struct dir d = dir_make();
	struct spool *s = open_with(&d, &c);
	struct spool_sync sync;

	(void)state;
	spool_set_quiet(s, true);
	for (size_t i = 0; i < 60; i++) /* more segments than descriptors are kept */
		append(s, 100);
	usleep(1100000);
	assert_false(spool_sync_begin(s, &sync));
	spool_set_quiet(s, false);
	assert_true(spool_sync_begin(s, &sync));
	assert_true(sync.file_system && sync.fds <= ARRAY_LEN(sync.fd));
	spool_sync_work(&sync);
	assert_int_equal(sync.error, 0);
	spool_sync_end(s, &sync);
	assert_false(spool_sync_begin(s, &sync));
	assert_int_equal(deliver(s, spool_stream(s), 1000).good, 60);
	spool_close(s);
	dir_remove(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_F11_truncate_everywhere),
		cmocka_unit_test(test_F11_flip_any_byte),
		cmocka_unit_test(test_F11_zero_tail_and_rubbish),
		cmocka_unit_test(test_F11_segments_mixed_up),
		cmocka_unit_test(test_F11_damage_after_opening),
		cmocka_unit_test(test_crash_ends_the_open_run),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_quota_drops_what_is_half_delivered),
		cmocka_unit_test(test_segments_quota_and_retention),
		cmocka_unit_test(test_F5_server_rollback),
		cmocka_unit_test(test_no_disk),
		cmocka_unit_test(test_F8_disk_full),
		cmocka_unit_test(test_rejected_and_fork),
		cmocka_unit_test(test_F28_one_writer),
		cmocka_unit_test(test_F12_failed_fsync),
		cmocka_unit_test(test_sync_policies),
		cmocka_unit_test(test_quiet_holds_fsync),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
