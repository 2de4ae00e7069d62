/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading small files of /proc and /sys below a root (""; a directory in tests). */
#pragma once

#include "common/base.h"

#define SYSREAD_MAX 4096

/* The first line without its newline and trailing blanks; false (and "") when there is none. */
bool sysread_line(char *buf, size_t cap, const char *root, const char *path_fmt, ...) PRINTF(4, 5);
/* The whole file, at most cap - 1 bytes, NUL-terminated; the number of bytes, 0 on failure. */
size_t sysread_all(char *buf, size_t cap, const char *root, const char *path_fmt, ...) PRINTF(4, 5);
/* Calls fn for each entry of a directory but those that begin with a dot, in the order of their
 * names (numbers by value). */
void sysread_dir(const char *root, const char *path, void (*fn)(void *user, const char *name),
		 void *user);
