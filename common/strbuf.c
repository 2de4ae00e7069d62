/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/strbuf.h"
#include "common/check.h"

#include <stdarg.h>
#include <stdio.h>

void strbuf_reserve(struct strbuf *b, size_t more)
{
	size_t need = b->len + more + 1;

	if (need <= b->cap)
		return;
	b->cap = need < 64 ? 64 : need + need / 2;
	b->data = xrealloc(b->data, b->cap, 1);
}

void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
	strbuf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_putc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	CHECK(len >= 0);
	strbuf_reserve(b, (size_t)len);
	(void)vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
	va_end(again);
	b->len += (size_t)len;
}

void strbuf_clear(struct strbuf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

char *strbuf_take(struct strbuf *b)
{
	char *p;

	strbuf_reserve(b, 0);
	b->data[b->len] = '\0';
	p = b->data;
	memset(b, 0, sizeof(*b));
	return p;
}

void strbuf_done(struct strbuf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void strbuf_put_xml(struct strbuf *b, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			strbuf_puts(b, "&lt;");
			break;
		case '>':
			strbuf_puts(b, "&gt;");
			break;
		case '&':
			strbuf_puts(b, "&amp;");
			break;
		case '"':
			strbuf_puts(b, "&quot;");
			break;
		case '\'':
			strbuf_puts(b, "&#39;");
			break;
		default:
			strbuf_putc(b, *s);
		}
	}
}

void strbuf_put_csv(struct strbuf *b, const char *s)
{
	bool formula = *s == '=' || *s == '@' || *s == '\t';

	if (!formula && !strpbrk(s, ",\"\r\n")) {
		strbuf_puts(b, s);
		return;
	}
	strbuf_putc(b, '"');
	if (formula)
		strbuf_putc(b, '\'');
	for (; *s; s++) {
		if (*s == '"')
			strbuf_putc(b, '"');
		strbuf_putc(b, *s);
	}
	strbuf_putc(b, '"');
}
