/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of foreign tools: bounded, with errors that name line and column. */
#pragma once

#include "common/import/scan.h"

/* A parsed document costs about ten times its text. */
#define JSON_BYTES_MAX ((size_t)32 << 20)

/* The next document in *s (any whitespace before it); *s is moved behind it. */
int json_next(struct span *s, const struct import_options *o, const char *begin, json_t **ret,
	      struct err *reterr) MUSTCHECK;
/* The only document: text before the first line that begins with '{' or '[' is skipped. */
int json_only(const char *data, size_t len, const struct import_options *o, json_t **ret,
	      struct err *reterr) MUSTCHECK;
/* From the first line that begins with '{' or '['; p = NULL when there is none. */
struct span json_begin(const char *data, size_t len);
/* True when the first non-blank byte is '{' or '[' and the head holds `"key"`. */
bool json_sniff(const char *data, size_t len, const char *key);

/* A whole number of 0 or more; strings of digits count. */
bool json_get_u64(const json_t *v, uint64_t *ret);
bool json_get_number(const json_t *v, double *ret);
/* NULL when absent or no string. */
const char *json_get_text(const json_t *object, const char *key);

/* A histogram written as an object: {"12": 3, "13": 5}. Keys are numbers, maybe with decimals. */
struct json_bin {
	double key;
	uint64_t n;
	const char *text; /* borrowed from the object */
};
/* Sorted by key; *ret is freed by the caller. Doubled keys and counts that are no whole numbers are
 * errors ("bin 12: ..."). */
int json_bins(const json_t *object, struct json_bin **ret, size_t *ret_len,
	      struct err *reterr) MUSTCHECK;

/* Writes "nan" and "-nan" (no JSON, but what printf makes of 0/0) as null; false when there are
 * none outside strings. */
bool json_repair_nan(const char *data, size_t len, struct strbuf *out);
