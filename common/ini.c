/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/ini.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/strbuf.h"

#define INI_FILE_MAX (1u << 20)

static const char blanks[] = " \t\r";

/* Cuts the blanks off both ends, in place. */
static char *trim(char *s)
{
	size_t len;

	s += strspn(s, blanks);
	len = strlen(s);
	while (len && strchr(blanks, s[len - 1]))
		s[--len] = '\0';
	return s;
}

struct ini_state {
	char section[128];
	ini_fn fn;
	void *user;
};

static int parse_line(struct ini_state *st, unsigned int number, char *line, struct err *reterr)
{
	char *s = trim(line), *eq, *key, *value;
	size_t len = strlen(s);

	if (!len || *s == '#' || *s == ';')
		return 0;
	if (*s == '[') {
		if (s[len - 1] != ']' || len - 2 >= sizeof(st->section))
			return err_set(reterr, ERR_INVALID, "a section head is [name]");
		s[len - 1] = '\0';
		snprintf(st->section, sizeof(st->section), "%s", trim(s + 1));
		return st->fn(st->user, number, st->section, NULL, NULL, reterr);
	}
	eq = strchr(s, '=');
	if (!eq || eq == s)
		return err_set(reterr, ERR_INVALID, "'%.40s' is neither [section] nor key = value",
			       s);
	*eq = '\0';
	key = trim(s);
	value = trim(eq + 1);
	return st->fn(st->user, number, st->section, key, value, reterr);
}

int ini_parse(const char *name, const char *text, size_t len, ini_fn fn, void *user,
	      struct err *reterr)
{
	struct ini_state st = {.fn = fn, .user = user};
	unsigned int number = 0;

	if (memchr(text, '\0', len))
		return err_set(reterr, ERR_INVALID, "%s: holds a NUL byte: not a text file", name);
	for (size_t pos = 0; pos < len;) {
		const char *end = memchr(text + pos, '\n', len - pos);
		size_t n = end ? (size_t)(end - text) - pos : len - pos;
		CLEANUP(freep) char *line = xstrndup(text + pos, n);
		int rc;

		rc = parse_line(&st, ++number, line, reterr);
		if (rc < 0)
			return err_prefix(reterr, "%s:%u: ", name, number);
		pos += n + 1;
	}
	return 0;
}

static int check_trust(const char *path, const struct stat *st, struct err *reterr)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(reterr, ERR_PERM, "%s: must belong to root (chown root)", path);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return err_set(reterr, ERR_PERM,
			       "%s: must not be writable by group or others (chmod go-w)", path);
	return 0;
}

static int read_file(int fd, const char *path, struct strbuf *b, struct err *reterr)
{
	char chunk[8192];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, errno, "%s: cannot read", path);
		strbuf_add(b, chunk, (size_t)n);
		if (b->len > INI_FILE_MAX)
			return err_set(reterr, ERR_LIMIT, "%s: larger than 1 MiB", path);
	}
	return 0;
}

int ini_parse_file(const char *path, bool trusted, ini_fn fn, void *user, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	int fd, rc = 0;
	struct stat st;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno(reterr, errno, "%s: cannot open", path);
	if (fstat(fd, &st) < 0)
		rc = err_errno(reterr, errno, "%s: cannot stat", path);
	else if (!S_ISREG(st.st_mode))
		rc = err_set(reterr, ERR_INVALID, "%s: not a regular file", path);
	else if (trusted)
		rc = check_trust(path, &st, reterr);
	if (!rc)
		rc = read_file(fd, path, &b, reterr);
	close(fd);
	if (rc)
		return rc;
	return b.len ? ini_parse(path, b.data, b.len, fn, user, reterr) : 0;
}

static int is_conf(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 5 && !strcmp(d->d_name + len - 5, ".conf");
}

int ini_parse_dir(const char *dir, bool trusted, ini_fn fn, void *user, struct err *reterr)
{
	struct dirent **names = NULL;
	int n, rc = 0;
	struct stat st;

	n = scandir(dir, &names, is_conf, alphasort);
	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0)
		return err_errno(reterr, errno, "%s: cannot list", dir);
	if (trusted) {
		if (stat(dir, &st) < 0)
			rc = err_errno(reterr, errno, "%s: cannot stat", dir);
		else
			rc = check_trust(dir, &st, reterr);
	}
	for (int i = 0; i < n; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, names[i]->d_name);

		if (!rc)
			rc = ini_parse_file(path, trusted, fn, user, reterr);
		free(names[i]);
	}
	free(names);
	return rc;
}

/* Copies one word with its quoting removed; *ps is left behind it. */
static int take_word(const char **ps, struct strbuf *b, struct err *reterr)
{
	const char *s = *ps;
	char quote = '\0';

	for (; *s && (quote || !strchr(" \t\n", *s)); s++) {
		if (quote ? *s == quote : *s == '\'' || *s == '"')
			quote = quote ? '\0' : *s;
		else if (*s == '\\' && quote != '\'') {
			if (!*++s)
				return err_set(reterr, ERR_INVALID,
					       "a backslash at the end quotes nothing");
			strbuf_putc(b, *s);
		} else {
			strbuf_putc(b, *s);
		}
	}
	if (quote)
		return err_set(reterr, ERR_INVALID, "a %c has no partner", quote);
	*ps = s;
	return 0;
}

int words_split(const char *text, char ***ret, size_t *ret_len, struct err *reterr)
{
	CLEANUP(words_freep) char **v = NULL;
	size_t len = 0, cap = 0;

	for (const char *s = text;;) {
		CLEANUP(strbuf_done) struct strbuf b = {0};
		int rc;

		s += strspn(s, " \t\n");
		if (cap < len + 2) {
			cap = cap ? cap * 2 : 8;
			v = xrealloc(v, cap, sizeof(*v));
		}
		v[len] = NULL;
		if (!*s)
			break;
		rc = take_word(&s, &b, reterr);
		if (rc)
			return rc;
		v[len++] = strbuf_take(&b);
		v[len] = NULL;
	}
	*ret = TAKE(v);
	*ret_len = len;
	return 0;
}

void words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

void words_freep(char ***words)
{
	words_free(TAKE(*words));
}
