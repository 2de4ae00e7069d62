/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growable text or bytes. Zero-initialise with {0}; always NUL-terminated once something was
 * added. Aborts when memory is out; callers bound what they add. */
#pragma once

#include "common/base.h"

struct strbuf {
	char *data;
	size_t len, cap;
};

void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
void strbuf_reserve(struct strbuf *b, size_t more);
void strbuf_clear(struct strbuf *b);
/* Gives the buffer away; the caller frees it with free(). Never NULL. */
char *strbuf_take(struct strbuf *b) MUSTCHECK;
/* Frees the contents; for CLEANUP(strbuf_done). */
void strbuf_done(struct strbuf *b);

/* Escapes for XML/HTML text and attributes. */
void strbuf_put_xml(struct strbuf *b, const char *s);
/* One CSV field, quoted as RFC 4180 asks; cells that a spreadsheet would run get a leading '. */
void strbuf_put_csv(struct strbuf *b, const char *s);
