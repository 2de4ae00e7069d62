/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an input file, whatever its size.
 *
 * A regular file is mapped: its pages belong to the kernel, which drops them again, so a file
 * larger than memory can be read. A pipe is read into memory, up to PIPE_BYTES_MAX. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

#define PIPE_BYTES_MAX ((size_t)512 << 20)

struct input {
	const char *data; /* never NULL after input_open; not NUL-terminated */
	size_t len;
	void *map; /* NULL: the bytes are in `read` */
	struct strbuf read;
};

/* "-" is the standard input. ERR_LIMIT for a longer pipe. A file that is cut off while it is read
 * ends the process with a message and EXIT_SERVER. */
int input_open(const char *path, struct input *ret, struct err *reterr) MUSTCHECK;
void input_close(struct input *in);
/* The path as messages show it. */
const char *input_name(const char *path);
