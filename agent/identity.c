/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVICE_USER "rigstat"

static void closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

char *identity_dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int sync_dir_of(const char *path, struct err *reterr)
{
	char *dir CLEANUP(freep) = identity_dir_of(path);
	int fd CLEANUP(closep) = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_errno(reterr, errno, "%s", dir);
	return 0;
}

int identity_make_dir(const char *dir, struct err *reterr)
{
	struct stat st;
	int fd CLEANUP(closep) = -1;
	bool made = mkdir(dir, 0700) == 0;
	const struct passwd *user;

	if (!made && errno != EEXIST)
		return err_errno(reterr, errno, "%s cannot be made", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(reterr, errno, "%s", dir);
	user = made && geteuid() == 0 ? getpwnam(SERVICE_USER) : NULL;
	if (user && fchown(fd, user->pw_uid, user->pw_gid) < 0)
		return err_errno(reterr, errno, "%s cannot be given to user " SERVICE_USER, dir);
	if (st.st_mode & 077 && fchmod(fd, 0700) < 0)
		return err_errno(reterr, errno, "%s is open to others", dir);
	return 0;
}

/* Whom a new file belongs to: the owner of the one that it replaces, or of the directory. */
static void owner_of(const char *path, struct stat *ret, bool *ret_exists)
{
	char *dir CLEANUP(freep) = identity_dir_of(path);

	*ret_exists = lstat(path, ret) == 0 && S_ISREG(ret->st_mode);
	if (!*ret_exists && stat(dir, ret) < 0)
		memset(ret, 0, sizeof(*ret));
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int identity_write(const char *path, const void *data, size_t len, unsigned int mode,
		   struct err *reterr)
{
	char *temp CLEANUP(freep) = xasprintf("%s.new", path);
	int fd CLEANUP(closep) = -1;
	struct stat st;
	bool exists;

	owner_of(path, &st, &exists);
	if (unlink(temp) < 0 && errno != ENOENT)
		return err_errno(reterr, errno, "%s", temp);
	/* O_EXCL: never through a link that somebody has put there. */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(reterr, errno, "%s cannot be written", temp);
	if ((geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) < 0) ||
	    fchmod(fd, exists ? st.st_mode & 0777 : mode) < 0 || write_all(fd, data, len) < 0 ||
	    fsync(fd) < 0 || rename(temp, path) < 0) {
		(void)err_errno(reterr, errno, "%s cannot be written", path);
		(void)unlink(temp);
		return reterr->code;
	}
	return sync_dir_of(path, reterr);
}

static bool read_token(const char *path, char text[TOKEN_TEXT_LEN + 1], struct token_text *ret)
{
	char buf[TOKEN_TEXT_LEN + 2] = "";
	int fd CLEANUP(closep) = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	bool good;

	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	good = token_parse(buf, ret);
	if (good)
		memcpy(text, buf, TOKEN_TEXT_LEN + 1);
	explicit_bzero(buf, sizeof(buf));
	return good;
}

int identity_pending(const char *dir, const char *name, char text[TOKEN_TEXT_LEN + 1],
		     struct token_text *ret, struct err *reterr)
{
	char *path CLEANUP(freep) = xasprintf("%s/%s", dir, name);
	char line[TOKEN_TEXT_LEN + 1];
	int rc;

	if (read_token(path, text, ret))
		return 0;
	token_mint(text, ret);
	memcpy(line, text, TOKEN_TEXT_LEN);
	line[TOKEN_TEXT_LEN] = '\n';
	rc = identity_write(path, line, sizeof(line), 0600, reterr);
	explicit_bzero(line, sizeof(line));
	return rc;
}

int identity_promote(const char *dir, const char *name, const char *path, struct err *reterr)
{
	char *from CLEANUP(freep) = xasprintf("%s/%s", dir, name);
	struct stat st;
	bool exists;

	owner_of(path, &st, &exists);
	if (exists && ((geteuid() == 0 && lchown(from, st.st_uid, st.st_gid) < 0) ||
		       chmod(from, st.st_mode & 0777) < 0))
		return err_errno(reterr, errno, "%s", from);
	if (rename(from, path) < 0)
		return err_errno(reterr, errno, "%s cannot become %s", from, path);
	return sync_dir_of(path, reterr);
}

void identity_drop(const char *dir, const char *name)
{
	char *path CLEANUP(freep) = xasprintf("%s/%s", dir, name);

	(void)unlink(path);
}
