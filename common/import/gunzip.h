/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded inflation: a small file cannot make a large one. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

#define GUNZIP_BYTES_MAX ((size_t)256 << 20)
/* Sparse histograms as text compress well: a real one of 200,000 rows reaches about 5, of zeros
 * only about 200. */
#define GUNZIP_RATIO_MAX 250
#define GUNZIP_FREE	 ((size_t)4 << 20) /* allowed whatever the ratio */

bool gunzip_is(const char *data, size_t len);
/* All members of a gzip file. */
int gunzip_bytes(const char *data, size_t len, struct strbuf *out, struct err *reterr) MUSTCHECK;
/* One zlib stream of at most `max` bytes. */
int inflate_bytes(const char *data, size_t len, size_t max, struct strbuf *out,
		  struct err *reterr) MUSTCHECK;
