/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flat set of facts, "cpu.model" = "..." or a number; written as JSON with sorted keys and no
 * spaces, so that equal facts have equal bytes and one SHA-256. What is not known is absent. */
#pragma once

#include "common/err.h"
#include "common/sha256.h"
#include "common/strbuf.h"

struct fact {
	char *key, *value;
	bool number;
};

struct facts {
	struct fact *v;
	size_t len, cap;
};

/* Replaces an earlier value of the key. Bytes that are no clean UTF-8 become '?'. */
void facts_set(struct facts *f, const char *key, const char *value);
void facts_set_number(struct facts *f, const char *key, int64_t value);
void facts_printf(struct facts *f, const char *key, const char *fmt, ...) PRINTF(3, 4);
const char *facts_get(const struct facts *f, const char *key); /* NULL when absent */
void facts_json(struct facts *f, struct strbuf *out);	       /* sorts */
void facts_done(struct facts *f);

/* Appends text as a JSON string with its quotes. */
void json_put_string(struct strbuf *out, const char *s);
