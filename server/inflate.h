/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip in memory, bounded. Pure. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

/* One gzip member, whole; ERR_LIMIT above `max` bytes or a ratio of 200:1, ERR_INVALID for
 * anything else, trailing bytes included. */
int gzip_inflate(const void *data, size_t len, size_t max, struct strbuf *out,
		 struct err *reterr) MUSTCHECK;
/* Level 1, for answers. */
void gzip_deflate(const void *data, size_t len, struct strbuf *out);
