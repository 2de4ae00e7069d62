/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters in PostgreSQL's binary form. Pure. */
#pragma once

#include "common/strbuf.h"
#include "server/db.h"

#define DB_PARAMS_MAX 1024

/* An owned copy of all parameters; the arrays have n entries. */
struct db_encoded {
	int n;
	unsigned int *types; /* OIDs */
	const char **values; /* into buf; NULL = null */
	int *lengths, *formats;
	struct strbuf buf;
};

void db_encode(struct db_encoded *ret, const struct db_param *params, size_t n);
void db_encoded_done(struct db_encoded *e);
/* Big-endian, 2 to 8 bytes: also for COPY BINARY. */
void db_put_be(struct strbuf *b, uint64_t v, size_t bytes);
