/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file of sysfs or /proc/sys, resolved so that no symbolic link leads elsewhere. */
#pragma once

#include <limits.h>

#include "common/err.h"

/* The directories that a path may end in after all links are followed, ended by NULL. */
extern const char *const sysfile_roots[];

/* "/sys/..." or "/proc/sys/..." as given, or a sysctl name such as "kernel.sched_rt_runtime_us"
 * ('/' inside a name stands for a dot of the file's name), to the real path below one of `roots`.
 * The result is malloc'd. */
int sysfile_resolve(const char *spec, const char *const *roots, char **ret_path,
		    struct err *reterr) MUSTCHECK;
/* `path` is a resolved one: a link in it is refused. Reads at most TUNE_VALUE_MAX - 1 bytes. */
int sysfile_read(const char *path, char *buf, struct err *reterr) MUSTCHECK;
/* Opens for writing without writing: tells a read-only file early. */
int sysfile_probe_write(const char *path, struct err *reterr) MUSTCHECK;
int sysfile_write(const char *path, const char *value, struct err *reterr) MUSTCHECK;
