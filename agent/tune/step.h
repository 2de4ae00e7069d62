/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs one step of a tunable: a program with a small fixed environment, no shell, no terminal. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

/* Replaces `what` ("{value}") by `with` in every argument, waits until the program has ended or
 * kills its process group after timeout_ns. A failure's text ends with the last line that the
 * program wrote to stderr. `out` (may be NULL) gets at most 64 KiB of its standard output. */
int step_run(char *const *argv, const char *what, const char *with, int64_t timeout_ns,
	     struct strbuf *out, struct err *reterr) MUSTCHECK;
