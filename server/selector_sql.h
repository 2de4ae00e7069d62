/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selectors as SQL conditions with parameters. The statement has rigstat.run as r, rigstat.host
 * as h and rigstat.experiment as e. The meaning is that of selector_match. */
#pragma once

#include "common/model/selector.h"
#include "server/sql_text.h"

/* Appends the conditions, each in parentheses and with " and " before it, and their parameters to
 * q. ERR_INVALID: an id that is none; ret_fault (may be NULL) gets the column. */
int selector_sql(const struct selector *s, struct sql *q, struct strbuf *out,
		 struct selector_fault *ret_fault, struct err *reterr) MUSTCHECK;

/* Appends " and <expr> like $n": a prefix-free glob, so "olab-*" or a whole name. */
void sql_glob(struct sql *q, const char *expr, const char *pattern, struct strbuf *out);
