/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/base.h"
#include "common/check.h"

#include <stdarg.h>
#include <stdio.h>

NORETURN static void out_of_memory(size_t bytes)
{
	fprintf(stderr, "rigstat: out of memory (%zu bytes)\n", bytes);
	abort();
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory(n * size);
	return p;
}

void *xrealloc(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n ? n : 1, size ? size : 1);

	if (!q)
		out_of_memory(n * size);
	return q;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *p = xcalloc(len + 1, 1);

	memcpy(p, s, len);
	return p;
}

char *xasprintf(const char *fmt, ...)
{
	char *p = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&p, fmt, ap);
	va_end(ap);
	if (len < 0)
		out_of_memory(0);
	return p;
}

void check_failed(const char *cond, const char *file, int line, const char *func)
{
	fprintf(stderr, "rigstat: check failed: %s (%s:%d, %s)\n", cond, file, line, func);
	abort();
}

void *obj_check(void *ptr, uint32_t magic, const char *type, const char *file, int line)
{
	uint32_t have = 0;

	if (ptr)
		memcpy(&have, ptr, sizeof(have));
	if (!ptr || have != magic)
		check_failed(type, file, line, "obj_check");
	return ptr;
}
