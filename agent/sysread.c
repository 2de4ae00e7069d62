/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/sysread.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static size_t read_path(char *buf, size_t cap, const char *root, const char *fmt, va_list ap)
{
	char path[PATH_MAX];
	int at = snprintf(path, sizeof(path), "%s", root);
	size_t len = 0;
	ssize_t n = 1;
	int fd;

	vsnprintf(path + at, sizeof(path) - (size_t)at, fmt, ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		while (len < cap - 1 && (n = read(fd, buf + len, cap - 1 - len)) > 0)
			len += (size_t)n;
		close(fd);
	}
	buf[len] = '\0';
	return len;
}

size_t sysread_all(char *buf, size_t cap, const char *root, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = read_path(buf, cap, root, fmt, ap);
	va_end(ap);
	return n;
}

bool sysread_line(char *buf, size_t cap, const char *root, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	read_path(buf, cap, root, fmt, ap);
	va_end(ap);
	n = strcspn(buf, "\n");
	while (n && (buf[n - 1] == ' ' || buf[n - 1] == '\t'))
		n--;
	buf[n] = '\0';
	return n > 0;
}

static int no_dots(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

void sysread_dir(const char *root, const char *path, void (*fn)(void *user, const char *name),
		 void *user)
{
	char full[PATH_MAX];
	struct dirent **names;
	int n;

	snprintf(full, sizeof(full), "%s%s", root, path);
	n = scandir(full, &names, no_dots, versionsort);
	if (n < 0)
		return;
	for (int i = 0; i < n; i++) {
		fn(user, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}
