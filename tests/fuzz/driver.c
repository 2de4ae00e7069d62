/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replays files (or every file of the named folders) through a fuzz target, for compilers
 * without libFuzzer. A missing folder is allowed: a target may have no regression yet. */
#include "common/base.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static void replay_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = xcalloc(size + 1, 1);
	size_t got;

	if (!f) {
		perror(path);
		exit(1);
	}
	got = fread(data, 1, size, f);
	fclose(f);
	/* An exact allocation lets ASan see a read past the end. */
	data = xrealloc(data, got, 1);
	(void)LLVMFuzzerTestOneInput(data, got);
	free(data);
	replayed++;
}

static void replay(const char *path)
{
	struct stat st;
	struct dirent *e;
	DIR *d;

	if (stat(path, &st))
		return;
	if (S_ISREG(st.st_mode)) {
		replay_file(path, (size_t)st.st_size);
		return;
	}
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char *child;

		if (e->d_name[0] == '.')
			continue;
		child = xasprintf("%s/%s", path, e->d_name);
		replay(child);
		free(child);
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("replayed %zu inputs\n", replayed);
	return replayed ? 0 : 1;
}
