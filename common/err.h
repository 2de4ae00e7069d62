/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The error type. The caller owns it, usually on the stack; nothing is allocated.
 *
 * A function that can fail returns 0 or a negative ERR_*, takes `struct err *reterr` last and
 * fills it only on failure. The text says what, where and what to do, in one line. A caller may
 * put a place in front (err_prefix) but never replaces the text. Pure modules never log: the
 * edge (main, a loop callback, a finished request) logs once. */
#pragma once

#include "common/base.h"

enum err_code {
	ERR_NOMEM = -1,
	ERR_INVALID = -2,      /* the input is wrong */
	ERR_LIMIT = -3,	       /* a stated bound was exceeded */
	ERR_NOT_FOUND = -4,    /* no such thing */
	ERR_CONFLICT = -5,     /* the present state forbids it */
	ERR_BUSY = -6,	       /* try again later */
	ERR_TIMEOUT = -7,      /* a deadline passed */
	ERR_IO = -8,	       /* file or device */
	ERR_DB = -9,	       /* PostgreSQL */
	ERR_REMOTE = -10,      /* the other side of a connection */
	ERR_PERM = -11,	       /* a right is missing */
	ERR_UNSUPPORTED = -12, /* this box or build cannot do it */
	ERR_LOCKED = -13       /* somebody else holds it just now: try again later */
};

struct err {
	int code;
	char text[500];
};

int err_set(struct err *reterr, int code, const char *fmt, ...) PRINTF(3, 4);
/* Appends ": strerror" and picks the code from the errno value (EACCES -> ERR_PERM ...). */
int err_errno(struct err *reterr, int errnum, const char *fmt, ...) PRINTF(3, 4);
/* Puts a place in front of the text; returns the code that is already there. */
int err_prefix(struct err *reterr, const char *fmt, ...) PRINTF(2, 3);

/* "invalid", "not-found": stable, used in logs and problem documents. */
const char *err_name(int code);
/* HTTP status and exit status for a code: one table each. */
int err_http_status(int code);
int err_exit_status(int code);
