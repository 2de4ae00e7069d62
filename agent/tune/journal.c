/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/tune/value.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/strbuf.h"

#define JOURNAL_MAX (8u << 20)
#define FIELDS_MAX  5

static const char *const kind_names[] = {[TARGET_PATH] = "path", [TARGET_NAMED] = "named"};

/* ---- the book: what the lines say ---- */

static void entry_done(struct journal_entry *e)
{
	for (size_t i = 0; i < e->ours_len; i++)
		free(e->ours[i]);
	free(e->ours);
	free(e->target);
	free(e->old);
}

static void book_done(struct journal_book *b)
{
	for (size_t i = 0; i < b->len; i++)
		entry_done(&b->v[i]);
	free(b->v);
	*b = (struct journal_book){0};
}

struct journal_entry *journal_find(struct journal *j, enum target_kind kind, const char *target)
{
	for (size_t i = 0; i < j->book.len; i++)
		if (!j->book.v[i].done && j->book.v[i].kind == kind &&
		    !strcmp(j->book.v[i].target, target))
			return &j->book.v[i];
	return NULL;
}

bool journal_is_ours(const struct journal_entry *e, const char *value)
{
	for (size_t i = 0; i < e->ours_len; i++)
		if (value_equal(e->ours[i], value))
			return true;
	return false;
}

static void book_set(struct journal *j, enum target_kind kind, const char *target, const char *old,
		     const char *value)
{
	struct journal_entry *e = journal_find(j, kind, target);

	if (!e) {
		GROW(j->book.v, j->book.len, j->book.cap);
		e = &j->book.v[j->book.len++];
		*e = (struct journal_entry){
			.kind = kind, .target = xstrdup(target), .old = xstrdup(old)};
	}
	if (journal_is_ours(e, value))
		return;
	GROW(e->ours, e->ours_len, e->ours_cap);
	e->ours[e->ours_len++] = xstrdup(value);
}

/* ---- lines ---- */

static void put_field(struct strbuf *b, const char *s)
{
	strbuf_putc(b, '\t');
	for (; *s; s++) {
		if (*s == '\t')
			strbuf_puts(b, "\\t");
		else if (*s == '\n')
			strbuf_puts(b, "\\n");
		else if (*s == '\\')
			strbuf_puts(b, "\\\\");
		else
			strbuf_putc(b, *s);
	}
}

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
			*to++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : *s;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* Splits "crc\tverb\tfield..." in place; 0 when the checksum or form is wrong. */
static size_t split_line(char *line, char *fields[FIELDS_MAX])
{
	size_t n = 0;
	char *end, *rest = strchr(line, '\t');
	unsigned long crc;

	if (!rest)
		return 0;
	crc = strtoul(line, &end, 16);
	if (end != rest || crc != crc32c(0, rest, strlen(rest)))
		return 0;
	for (char *s = rest; s && n < FIELDS_MAX; n++) {
		*s++ = '\0';
		fields[n] = s;
		s = strchr(s, '\t');
	}
	for (size_t i = 0; i < n; i++)
		unescape(fields[i]);
	return n;
}

static bool find_kind(const char *name, enum target_kind *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
		if (!strcmp(kind_names[i], name)) {
			*ret = (enum target_kind)i;
			return true;
		}
	return false;
}

static bool read_line(struct journal *j, char *line)
{
	char *f[FIELDS_MAX];
	size_t n = split_line(line, f);
	struct journal_entry *e;
	enum target_kind kind;

	if (n == 2 && !strcmp(f[0], "boot")) {
		snprintf(j->book.boot_id, sizeof(j->book.boot_id), "%s", f[1]);
		return true;
	}
	if (n < 3 || !find_kind(f[1], &kind))
		return false;
	if (n == 5 && !strcmp(f[0], "set")) {
		book_set(j, kind, f[2], f[3], f[4]);
		return true;
	}
	if (n != 3 || strcmp(f[0], "done") != 0)
		return false;
	e = journal_find(j, kind, f[2]);
	if (e)
		e->done = true;
	return true;
}

static int append_line(struct journal *j, const char *const *fields, size_t n, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf rest = {0}, line = {0};
	off_t before = lseek(j->fd, 0, SEEK_END);
	ssize_t done;

	for (size_t i = 0; i < n; i++)
		put_field(&rest, fields[i]);
	strbuf_printf(&line, "%08x%s\n", crc32c(0, rest.data, rest.len), rest.data);
	done = write(j->fd, line.data, line.len);
	if (done == (ssize_t)line.len && fsync(j->fd) == 0)
		return 0;
	(void)err_errno(reterr, done >= 0 && done != (ssize_t)line.len ? ENOSPC : errno,
			"%s: cannot write the journal, so nothing is changed", j->path);
	if (before >= 0 && ftruncate(j->fd, before) < 0)
		return err_prefix(reterr, "(half a line stays behind) ");
	return reterr ? reterr->code : ERR_IO;
}

/* ---- the file ---- */

static int read_text(struct journal *j, struct strbuf *b, struct err *reterr)
{
	char chunk[8192];
	ssize_t n;

	while ((n = pread(j->fd, chunk, sizeof(chunk), (off_t)b->len)) > 0) {
		strbuf_add(b, chunk, (size_t)n);
		if (b->len > JOURNAL_MAX)
			return err_set(reterr, ERR_LIMIT, "%s: larger than 8 MiB: not a journal",
				       j->path);
	}
	return n < 0 ? err_errno(reterr, errno, "%s: cannot read", j->path) : 0;
}

static int load(struct journal *j, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	size_t pos = 0;
	int rc = read_text(j, &b, reterr);

	if (rc)
		return rc;
	while (pos < b.len) {
		char *end = memchr(b.data + pos, '\n', b.len - pos);

		if (!end)
			break;
		*end = '\0';
		if (strlen(b.data + pos) != (size_t)(end - b.data) - pos ||
		    !read_line(j, b.data + pos))
			j->book.damaged++;
		pos = (size_t)(end - b.data) + 1;
	}
	/* A torn last line: its write never happened. Cut it, or the next line would join it. */
	if (pos < b.len && ftruncate(j->fd, (off_t)pos) < 0)
		return err_errno(reterr, errno, "%s: cannot cut a torn line", j->path);
	return 0;
}

static int take_lock(struct journal *j, int64_t wait_ns, struct err *reterr)
{
	static const struct timespec pause = {.tv_nsec = 20 * NS_PER_MS};
	int64_t end = clock_monotonic_ns() + wait_ns;
	struct flock fl;

	for (;;) {
		fl = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
		if (fcntl(j->fd, F_SETLK, &fl) == 0)
			return 0;
		if (errno != EACCES && errno != EAGAIN)
			return err_errno(reterr, errno, "%s: cannot lock", j->path);
		if (clock_monotonic_ns() >= end)
			break;
		nanosleep(&pause, NULL);
	}
	fl = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(j->fd, F_GETLK, &fl) < 0 || fl.l_type == F_UNLCK)
		fl.l_pid = 0;
	return err_set(reterr, ERR_BUSY,
		       "%s: process %ld holds it: another experiment has settings changed", j->path,
		       (long)fl.l_pid);
}

/* Makes the directory of the file, and its entry in it, as lasting as the file. */
static int sync_dir(const char *path, struct err *reterr)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	const char *dir = dirname(copy);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) < 0)
		rc = err_errno(reterr, errno, "%s: cannot make it lasting", dir);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_file(struct journal *j, struct err *reterr)
{
	CLEANUP(freep) char *copy = xstrdup(j->path);
	const char *dir = dirname(copy);

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_errno(reterr, errno, "%s: cannot make the journal's directory", dir);
	j->fd = open(j->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (j->fd < 0)
		return err_errno(reterr, errno, "%s: cannot open the journal", j->path);
	return sync_dir(j->path, reterr);
}

int journal_open(struct journal *j, const char *path, const char *boot_id, int64_t wait_ns,
		 struct err *reterr)
{
	int rc;

	*j = (struct journal){.fd = -1, .path = xstrdup(path)};
	snprintf(j->boot_id, sizeof(j->boot_id), "%s", boot_id);
	rc = open_file(j, reterr);
	if (!rc)
		rc = take_lock(j, wait_ns, reterr);
	if (!rc)
		rc = load(j, reterr);
	if (rc)
		journal_close(j);
	return rc;
}

int journal_note(struct journal *j, enum target_kind kind, const char *target, const char *old,
		 const char *value, struct err *reterr)
{
	const char *const first[] = {"boot", j->boot_id};
	const char *const fields[] = {"set", kind_names[kind], target, old, value};
	int rc = 0;

	if (!*j->book.boot_id) {
		rc = append_line(j, first, ARRAY_LEN(first), reterr);
		if (!rc)
			snprintf(j->book.boot_id, sizeof(j->book.boot_id), "%s", j->boot_id);
	}
	if (!rc)
		rc = append_line(j, fields, ARRAY_LEN(fields), reterr);
	if (!rc)
		book_set(j, kind, target, old, value);
	return rc;
}

int journal_mark_done(struct journal *j, struct journal_entry *e, struct err *reterr)
{
	const char *const fields[] = {"done", kind_names[e->kind], e->target};

	e->done = true;
	return append_line(j, fields, ARRAY_LEN(fields), reterr);
}

static int write_copy(struct journal *j, struct err *reterr)
{
	CLEANUP(freep) char *path = xasprintf("%s.earlier-boot", j->path);
	CLEANUP(strbuf_done) struct strbuf b = {0};
	int fd, rc = read_text(j, &b, reterr);

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(reterr, errno, "%s: cannot keep a copy", path);
	if (b.len && write(fd, b.data, b.len) != (ssize_t)b.len)
		rc = err_errno(reterr, errno ? errno : ENOSPC, "%s: cannot keep a copy", path);
	close(fd);
	return rc;
}

int journal_clear(struct journal *j, bool keep_copy, struct err *reterr)
{
	int rc = keep_copy ? write_copy(j, reterr) : 0;

	if (rc)
		return rc;
	if (ftruncate(j->fd, 0) < 0 || fsync(j->fd) < 0)
		return err_errno(reterr, errno, "%s: cannot empty the journal", j->path);
	book_done(&j->book);
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
	freep(&j->path);
	book_done(&j->book);
}

int journal_boot_id(char *buf, struct err *reterr)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	FILE *f = fopen(path, "re");
	int n;

	if (!f)
		return err_errno(reterr, errno, "%s: cannot open", path);
	n = fscanf(f, "%63s", buf);
	fclose(f);
	return n == 1 ? 0 : err_set(reterr, ERR_IO, "%s: is empty", path);
}
