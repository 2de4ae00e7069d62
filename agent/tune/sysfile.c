/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/tune/value.h"

const char *const sysfile_roots[] = {"/sys", "/proc/sys", NULL};

static bool below(const char *path, const char *root)
{
	size_t len = strlen(root);

	return !strncmp(path, root, len) && path[len] == '/';
}

static bool below_any(const char *path, const char *const *roots)
{
	for (; *roots; roots++)
		if (below(path, *roots))
			return true;
	return false;
}

/* "net.ipv4.conf.eth0/1.rp_filter" -> "/proc/sys/net/ipv4/conf/eth0.1/rp_filter" */
static char *path_of_sysctl(const char *name)
{
	char *path = xasprintf("/proc/sys/%s", name);

	for (char *s = path + strlen("/proc/sys/"); *s; s++) {
		if (*s == '.')
			*s = '/';
		else if (*s == '/')
			*s = '.';
	}
	return path;
}

int sysfile_resolve(const char *spec, const char *const *roots, char **ret_path, struct err *reterr)
{
	CLEANUP(freep) char *path = NULL, *real = NULL;
	struct stat st;

	path = *spec == '/' ? xstrdup(spec) : path_of_sysctl(spec);
	real = realpath(path, NULL);
	if (!real)
		return err_errno(reterr, errno, "%s: cannot find", path);
	if (!below_any(path, roots) || !below_any(real, roots))
		return err_set(reterr, ERR_PERM,
			       "%s leads to %s: only files below /sys and /proc/sys can be set",
			       path, real);
	if (stat(real, &st) < 0)
		return err_errno(reterr, errno, "%s: cannot stat", real);
	if (!S_ISREG(st.st_mode))
		return err_set(reterr, ERR_INVALID, "%s: not a file that holds a value", real);
	*ret_path = TAKE(real);
	return 0;
}

/* The path was resolved before; a link that appeared since is an attack or a vanished device. */
static int open_no_links(const char *path, int flags, struct err *reterr)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY),
			       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0)
		return err_errno(reterr, errno, "%s: cannot open for %s", path,
				 flags & O_WRONLY ? "writing" : "reading");
	return fd;
}

int sysfile_read(const char *path, char *buf, struct err *reterr)
{
	int fd = open_no_links(path, O_RDONLY, reterr);
	ssize_t n;
	int saved;

	if (fd < 0)
		return fd;
	do
		n = read(fd, buf, TUNE_VALUE_MAX);
	while (n < 0 && errno == EINTR);
	saved = errno;
	close(fd);
	if (n < 0)
		return err_errno(reterr, saved, "%s: cannot read", path);
	if (n >= TUNE_VALUE_MAX)
		return err_set(reterr, ERR_LIMIT, "%s: holds more than one value", path);
	buf[n] = '\0';
	return 0;
}

int sysfile_probe_write(const char *path, struct err *reterr)
{
	int fd = open_no_links(path, O_WRONLY, reterr);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int sysfile_write(const char *path, const char *value, struct err *reterr)
{
	int fd = open_no_links(path, O_WRONLY, reterr);
	CLEANUP(freep) char *line = NULL;
	size_t len;
	ssize_t n;
	int saved;

	if (fd < 0)
		return fd;
	line = xasprintf("%s\n", value);
	len = strlen(line);
	do
		n = write(fd, line, len);
	while (n < 0 && errno == EINTR);
	saved = errno;
	close(fd);
	if (n < 0)
		return err_errno(reterr, saved, "%s: the kernel refuses '%s'", path, value);
	if ((size_t)n != len)
		return err_set(reterr, ERR_IO, "%s: took only %zd of %zu bytes", path, n, len);
	return 0;
}
