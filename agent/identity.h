/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a box's identity: its token, and the next one until the server has taken it. A
 * directory of its own (DIR, mode 0700, of the user that the daemon runs as) holds them, mode
 * 0600, so that the daemon can renew its token and nothing else. All writes are to a new file
 * that then takes the name, and are on disk before it does. */
#pragma once

#include "common/err.h"
#include "common/token.h"

/* Makes DIR; as root it becomes the user rigstat's, when there is one. */
int identity_make_dir(const char *dir, struct err *reterr) MUSTCHECK;
/* The token in DIR/name: the one that is there, after an attempt whose end is not known, or a new
 * one. `text` gets its whole. */
int identity_pending(const char *dir, const char *name, char text[TOKEN_TEXT_LEN + 1],
		     struct token_text *ret, struct err *reterr) MUSTCHECK;
/* DIR/name becomes `path`, with owner and mode of what stood there. */
int identity_promote(const char *dir, const char *name, const char *path,
		     struct err *reterr) MUSTCHECK;
/* Removes DIR/name. */
void identity_drop(const char *dir, const char *name);
/* A whole file, atomically; an existing one keeps its owner and mode, a new one gets `mode`. */
int identity_write(const char *path, const void *data, size_t len, unsigned int mode,
		   struct err *reterr) MUSTCHECK;
/* The directory of a path, malloc'd. */
char *identity_dir_of(const char *path) MUSTCHECK;
