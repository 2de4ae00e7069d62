/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where records wait: the spool and its disk. */
#include "agent/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- spool ---- */

static bool can_write(const char *dir)
{
	CLEANUP(freep) char *path = xasprintf("%s/.check-XXXXXX", dir);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	unlink(path);
	return true;
}

static void check_space(struct checks *c, const char *dir)
{
	struct statvfs fs;
	uint64_t avail;

	if (statvfs(dir, &fs) < 0) {
		check_add(c, CHECK_WARN, "disk", NULL, "%s: %s", dir, strerror(errno));
		return;
	}
	avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (avail < c->conf->spool_free_min)
		check_add(
			c, CHECK_FAIL, "disk", "free some space, or name another --spool",
			"%s has %llu MiB left, less than the %llu MiB that the agent leaves free: "
			"records would be kept in memory only",
			dir, (unsigned long long)(avail >> 20),
			(unsigned long long)(c->conf->spool_free_min >> 20));
	else if (avail < c->conf->spool_free_min + c->conf->spool_bytes_max)
		check_add(c, CHECK_WARN, "disk", "free some space, or lower --spool-max",
			  "%s has %llu MiB left: the spool cannot grow to its bound", dir,
			  (unsigned long long)(avail >> 20));
	else
		check_add(c, CHECK_OK, "disk", NULL, "%llu MiB left for the spool",
			  (unsigned long long)(avail >> 20));
}

void check_storage(struct checks *c)
{
	const char *dir = c->conf->spool_dir;
	bool made = mkdir(dir, 0750) == 0;

	if (!made && errno != EEXIST) {
		check_add(c, CHECK_FAIL, "spool", "make it, or name another with --spool",
			  "%s cannot be made: %s", dir, strerror(errno));
		return;
	}
	if (!can_write(dir))
		check_add(c, CHECK_FAIL, "spool", "chown it to the agent's user, or name another",
			  "%s cannot be written: %s", dir, strerror(errno));
	else
		check_add(c, CHECK_OK, "spool", NULL, "%s can be written", dir);
	check_space(c, dir);
	if (made)
		(void)rmdir(dir);
}
