/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every importer needs: lines with their number, words, cells and numbers inside them, and
 * errors that name the place. Everything is a span of the file's own bytes; nothing is copied and
 * nothing depends on the locale. */
#pragma once

#include "common/import/import.h"

/* Bytes inside the file; not NUL-terminated. */
struct span {
	const char *p;
	size_t len;
};
#define SPAN_ARG(s) ((int)((s).len > 60 ? 60 : (s).len)), ((s).p) /* for "%.*s" in messages */

struct scan {
	const char *source;
	const char *begin, *p, *end; /* p: start of the next line */
	size_t no;		     /* number of the line that was read last, from 1 */
	struct span line;
};

void scan_init(struct scan *s, const char *data, size_t len, const struct import_options *o);
/* The next line without its end ("\n" or "\r\n"); false at the end of the file. */
bool scan_line(struct scan *s, struct span *ret);
/* ERR_INVALID "source:line:column: text"; `at` points into the present line, NULL = no column. */
int scan_error(const struct scan *s, const char *at, struct err *reterr, const char *fmt, ...)
	PRINTF(4, 5);
/* Puts "source:line: " in front of an error that is already there. */
int scan_prefix(const struct scan *s, struct err *reterr);
const char *import_source(const struct import_options *o);

bool span_is(struct span s, const char *text);
bool span_is_nocase(struct span s, const char *text);
bool span_starts(struct span s, const char *text);
/* The place of `text` in s, NULL when absent. */
const char *span_find(struct span s, const char *text);
struct span span_trim(struct span s);
/* What follows `at`, which points into s. */
struct span span_from(struct span s, const char *at);
char *span_dup(struct span s) MUSTCHECK;

/* Consumes the text at the front of *s; false and untouched when it is not there. */
bool span_skip(struct span *s, const char *text);
/* Consumes blanks, then the word up to the next blank; false when nothing is left. */
bool span_word(struct span *s, struct span *ret);
size_t span_count_words(struct span s);
/* Consumes everything up to `sep` and the separator; the last field ends the span with p = NULL. */
bool span_field(struct span *s, char sep, struct span *ret);
/* As span_field with RFC 4180 quotes; a quoted cell is put into `buf` (cleared first). */
bool span_cell(struct span *s, char sep, struct strbuf *buf, struct span *ret);

/* The whole span is the number. */
bool span_u64(struct span s, uint64_t *ret);
bool span_i64(struct span s, int64_t *ret);
bool span_double(struct span s, double *ret);
/* Number of digits after the decimal point of a decimal number. */
unsigned int span_decimals(struct span s);

/* v * unit for times; false when it leaves the int64 range. */
bool scale_ns(double v, double unit_ns, int64_t *ret);
/* A length of time in ns; 0, which is unknown, for one that cannot be: not above 0, or 30 years. */
int64_t duration_ns(double seconds);
/* ns of "ns", "us", "ms", "s" and their long forms ("usecs", "milliseconds" ...); 0 if unknown. */
double unit_word_ns(struct span s);
const char *unit_ns_name(int64_t unit_ns);

/* The text is a row that says that rows were left out: "...", "More histogram entries". */
bool span_is_elision(struct span s);
/* First 64 kB at most: what a sniffer may look at. */
struct span sniff_head(const char *data, size_t len);
