/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an SQLSTATE means to us (docs/PROTOCOL.md has the table). Pure. */
#pragma once

#include "common/base.h"

/* Ours, for a row that no partition takes; PostgreSQL says 23514 there too. */
#define SQLSTATE_NO_PARTITION "53RSP"

enum sqlstate_act {
	SQLSTATE_RETRY,	     /* 40001, 40P01: the same again may work at once */
	SQLSTATE_CONN_LOST,  /* 57P0x, 08xxx: this connection is of no use */
	SQLSTATE_READ_ONLY,  /* 25006: we talk to a standby; drop all connections */
	SQLSTATE_OVERLOAD,   /* 53xxx, 55P03, 57014: later */
	SQLSTATE_DATA,	     /* 22xxx, 23514: this input is wrong, for ever */
	SQLSTATE_CONFLICT,   /* other 23xxx: a key exists or is missing */
	SQLSTATE_STALE_MARK, /* RS409 */
	SQLSTATE_NO_STREAM,  /* RS404 */
	SQLSTATE_FORBIDDEN,  /* RS403: the text is for people */
	SQLSTATE_BUG,	     /* 42xxx and the rest: schema or program */
};

enum sqlstate_act sqlstate_act(const char *state); /* NULL: the connection broke */
/* ERR_* for it. */
int sqlstate_err_code(const char *state);
