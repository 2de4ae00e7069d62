/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/confedit.h"

#define PAIRS_MAX 16
#define BLANKS	  " \t\r"

/* Is this line "key = ..."? */
static bool sets(const char *line, size_t len, const char *key)
{
	size_t at = strspn(line, BLANKS), n = strlen(key);

	if (at + n >= len || strncmp(line + at, key, n) != 0)
		return false;
	at += n;
	at += strspn(line + at, BLANKS);
	return at < len && line[at] == '=';
}

static void put(const struct conf_pair *p, bool *done, struct strbuf *out)
{
	if (p->value && !*done)
		strbuf_printf(out, "%s = %s\n", p->key, p->value);
	*done = true;
}

void conf_edit(const char *text, const struct conf_pair *pairs, size_t n, struct strbuf *out)
{
	bool done[PAIRS_MAX] = {false};

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n"), i = 0;

		while (i < n && !sets(line, len, pairs[i].key))
			i++;
		if (i < n) {
			put(&pairs[i], &done[i], out);
		} else {
			strbuf_add(out, line, len);
			strbuf_putc(out, '\n');
		}
		line += len + (line[len] == '\n');
	}
	for (size_t i = 0; i < n; i++)
		put(&pairs[i], &done[i], out);
}
