/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/findings.h"

#include <stdio.h>

static const char *const words[] = {
	[CHECK_OK] = "OK", [CHECK_WARN] = "WARN", [CHECK_FAIL] = "FAIL"};

void findings_addv(struct findings *f, enum check_level level, const char *name, const char *fix,
		   const char *fmt, va_list ap)
{
	char text[500];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	GROW(f->v, f->len, f->cap);
	f->v[f->len++] = (struct finding){.level = level,
					  .name = name,
					  .text = xstrdup(text),
					  .fix = fix ? xstrdup(fix) : NULL};
}

void findings_add(struct findings *f, enum check_level level, const char *name, const char *fix,
		  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_addv(f, level, name, fix, fmt, ap);
	va_end(ap);
}

size_t findings_count(const struct findings *f, enum check_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < f->len; i++)
		n += f->v[i].level == level;
	return n;
}

void findings_done(struct findings *f)
{
	for (size_t i = 0; i < f->len; i++) {
		free(f->v[i].text);
		free(f->v[i].fix);
	}
	free(f->v);
	f->v = NULL;
	f->len = f->cap = 0;
}

void findings_put_text(const struct findings *f, struct strbuf *out)
{
	for (size_t i = 0; i < f->len; i++) {
		const struct finding *v = &f->v[i];

		strbuf_printf(out, "%-4s  %-16s  %s\n", words[v->level], v->name, v->text);
		if (v->fix)
			strbuf_printf(out, "%24sto do: %s\n", "", v->fix);
	}
}
