/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `rigstat-agent check` and `rigstat doctor` found, a line each: a level, a sentence and,
 * unless it is OK, what to do about it. */
#pragma once

#include <stdarg.h>

#include "common/strbuf.h"

enum check_level { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct finding {
	enum check_level level;
	const char *name; /* "turbo"; static */
	char *text, *fix; /* fix is NULL when there is nothing to do */
};

struct findings {
	struct finding *v;
	size_t len, cap;
};

/* `fix` may be NULL; the text is cut at 500 bytes. */
void findings_addv(struct findings *f, enum check_level level, const char *name, const char *fix,
		   const char *fmt, va_list ap);
void findings_add(struct findings *f, enum check_level level, const char *name, const char *fix,
		  const char *fmt, ...) PRINTF(5, 6);
size_t findings_count(const struct findings *f, enum check_level level);
void findings_done(struct findings *f);
/* "OK    turbo             is off", with the fix below. */
void findings_put_text(const struct findings *f, struct strbuf *out);
