/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sectioned `key = value` files (tunables.d, workloads.d), and splitting a command into words.
 *
 *   # comment            ; comment
 *   [section]
 *   key = value          the value runs to the end of the line, blanks at its ends are left out
 *
 * Nothing is allocated for the caller; the callback's strings are valid until it returns. */
#pragma once

#include "common/err.h"

/* Called for each section head (key NULL) and each pair. A negative return ends the reading. */
typedef int (*ini_fn)(void *user, unsigned int line, const char *section, const char *key,
		      const char *value, struct err *reterr);

/* Reads `len` bytes of text. `name` stands in front of error texts with the line number.
 * A pair before the first section has section "". */
int ini_parse(const char *name, const char *text, size_t len, ini_fn fn, void *user,
	      struct err *reterr) MUSTCHECK;

/* Reads a regular file of at most 1 MiB. When `trusted`, it must belong to root or to the caller
 * and be writable by nobody else, so that reading it as root gives no rights away. */
int ini_parse_file(const char *path, bool trusted, ini_fn fn, void *user,
		   struct err *reterr) MUSTCHECK;

/* Calls ini_parse_file for each *.conf of a directory, in the order of their names. A directory
 * that does not exist has no files. */
int ini_parse_dir(const char *dir, bool trusted, ini_fn fn, void *user,
		  struct err *reterr) MUSTCHECK;

/* Splits as a shell would, without expanding anything: blanks separate, '..', ".." and \ quote.
 * The result is an array ended by NULL; free with words_free. */
int words_split(const char *text, char ***ret, size_t *ret_len, struct err *reterr) MUSTCHECK;
void words_free(char **words);
/* For CLEANUP. */
void words_freep(char ***words);
