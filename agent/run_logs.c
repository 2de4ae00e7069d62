/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/run_logs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct log_file {
	char *path;
	int64_t mtime_ns;
};

static bool is_log(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".log");
}

static int newest_first(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;

	return x->mtime_ns > y->mtime_ns ? -1 : x->mtime_ns < y->mtime_ns;
}

static void prune(DIR *d, const char *dir, size_t keep)
{
	struct log_file *v = NULL;
	size_t len = 0, cap = 0;
	struct dirent *e;
	struct stat st;

	while ((e = readdir(d))) {
		if (!is_log(e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) < 0)
			continue;
		GROW(v, len, cap);
		v[len++] = (struct log_file){.path = xasprintf("%s/%s", dir, e->d_name),
					     .mtime_ns = st.st_mtim.tv_sec * NS_PER_SEC +
							 st.st_mtim.tv_nsec};
	}
	if (len)
		qsort(v, len, sizeof(*v), newest_first);
	for (size_t i = 0; i < len; i++) {
		if (i >= keep)
			(void)unlink(v[i].path); /* somebody else may have removed it */
		free(v[i].path);
	}
	free(v);
}

int run_logs_prepare(const char *dir, size_t keep, struct err *reterr)
{
	DIR *d;

	if (mkdir(dir, 0750) < 0 && errno != EEXIST)
		return err_errno(reterr, errno, "%s: cannot make the directory for logs", dir);
	d = opendir(dir);
	if (!d)
		return err_errno(reterr, errno, "%s: cannot read the directory for logs", dir);
	prune(d, dir, keep);
	closedir(d);
	return 0;
}
