/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/facts.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/parse.h"

#define VALUE_MAX 4096

static struct fact *find(const struct facts *f, const char *key)
{
	for (size_t i = 0; i < f->len; i++)
		if (!strcmp(f->v[i].key, key))
			return &f->v[i];
	return NULL;
}

static void put(struct facts *f, const char *key, char *value, bool number)
{
	struct fact *at = find(f, key);

	if (at) {
		free(at->value);
	} else {
		GROW(f->v, f->len, f->cap);
		at = &f->v[f->len++];
		at->key = xstrdup(key);
	}
	at->value = value;
	at->number = number;
}

void facts_set(struct facts *f, const char *key, const char *value)
{
	char *copy = xstrndup(value, strnlen(value, VALUE_MAX));
	size_t len = strlen(copy);

	if (!text_is_clean(copy, len))
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)copy[i] >= 0x7f || (unsigned char)copy[i] < 0x20)
				copy[i] = '?';
	put(f, key, copy, false);
}

void facts_set_number(struct facts *f, const char *key, int64_t value)
{
	put(f, key, xasprintf("%lld", (long long)value), true);
}

void facts_printf(struct facts *f, const char *key, const char *fmt, ...)
{
	char buf[VALUE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	facts_set(f, key, buf);
}

const char *facts_get(const struct facts *f, const char *key)
{
	const struct fact *at = find(f, key);

	return at ? at->value : NULL;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct fact *)a)->key, ((const struct fact *)b)->key);
}

void json_put_string(struct strbuf *out, const char *s)
{
	strbuf_putc(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\') {
			strbuf_putc(out, '\\');
			strbuf_putc(out, *s);
		} else if (c < 0x20) {
			strbuf_printf(out, "\\u%04x", c);
		} else {
			strbuf_putc(out, *s);
		}
	}
	strbuf_putc(out, '"');
}

void facts_json(struct facts *f, struct strbuf *out)
{
	if (f->len)
		qsort(f->v, f->len, sizeof(f->v[0]), by_key);
	strbuf_putc(out, '{');
	for (size_t i = 0; i < f->len; i++) {
		if (i)
			strbuf_putc(out, ',');
		json_put_string(out, f->v[i].key);
		strbuf_putc(out, ':');
		if (f->v[i].number)
			strbuf_puts(out, f->v[i].value);
		else
			json_put_string(out, f->v[i].value);
	}
	strbuf_putc(out, '}');
}

void facts_done(struct facts *f)
{
	for (size_t i = 0; i < f->len; i++) {
		free(f->v[i].key);
		free(f->v[i].value);
	}
	free(f->v);
	*f = (struct facts){0};
}
