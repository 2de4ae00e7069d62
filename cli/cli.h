/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The `rigstat` command: one file a verb, and what verbs share.
 *
 * The result goes to stdout, everything else to stderr. Exit status: 0 done, 3 usage or bad
 * input, 4 server, network or disk; `gate` has 0 pass, 1 fail, 2 inconclusive besides. */
#pragma once

#include <stdio.h>

#include "common/err.h"
#include "common/strbuf.h"

enum { EXIT_DONE = 0, EXIT_GATE_FAIL = 1, EXIT_GATE_UNSURE = 2, EXIT_USAGE = 3, EXIT_SERVER = 4 };

struct verb {
	const char *name, *summary;
	const char *help;		   /* begins with two examples */
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit status */
};
/* Ended by an entry whose name is NULL. */
extern const struct verb verbs[];

/* "rigstat: text" on stderr; returns the exit status of the code. */
int cli_fail(const struct err *e);
/* The same for a usage error, with a hint at -h. */
int cli_usage(const char *verb, const struct err *e);
/* Control characters but newline and tab become '?': what a hostile server says does not reach the
 * terminal. */
void cli_clean(struct strbuf *out);
/* Writes the whole buffer to stdout; an error (a full disk, a closed pipe) is one of the exit
 * status, not silently lost. */
int cli_print(const struct strbuf *out);

/* Reads to the end, at most `max` bytes; `name` is for messages. */
int cli_read_fd(int fd, const char *name, size_t max, struct strbuf *ret,
		struct err *reterr) MUSTCHECK;
/* Reads a whole file ("-" = stdin) of at most `max` bytes. */
int cli_read_file(const char *path, size_t max, struct strbuf *ret, struct err *reterr) MUSTCHECK;
