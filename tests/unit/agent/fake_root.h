/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a made-up box below a directory that stands for "/". After cmocka.h. */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static inline void fake_root_put(const char *root, const char *path, const char *text)
{
	char full[300];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(full, 0755);
		*s = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}
