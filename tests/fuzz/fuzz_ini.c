/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a tunables.d or workloads.d file: reading must be safe, keys and sections never
 * empty of meaning, and the words of a value must survive being quoted and split again. */
#include "common/check.h"
#include "common/ini.h"
#include "common/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_quoted(struct strbuf *b, const char *word)
{
	strbuf_putc(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			strbuf_puts(b, "'\\''");
		else
			strbuf_putc(b, *word);
	}
	strbuf_puts(b, "' ");
}

static void check_words(const char *value)
{
	CLEANUP(words_freep) char **words = NULL, **again = NULL;
	CLEANUP(strbuf_done) struct strbuf b = {0};
	size_t n, m;
	struct err err;

	if (words_split(value, &words, &n, &err))
		return;
	strbuf_puts(&b, "");
	for (size_t i = 0; i < n; i++)
		put_quoted(&b, words[i]);
	CHECK(words_split(b.data ? b.data : "", &again, &m, &err) == 0);
	CHECK(n == m);
	for (size_t i = 0; i < n; i++)
		CHECK(!strcmp(words[i], again[i]));
}

static int on_line(void *user, unsigned int line, const char *section, const char *key,
		   const char *value, struct err *reterr)
{
	unsigned int *last = user;

	(void)reterr;
	CHECK(section && line > *last);
	*last = line;
	if (!key)
		return 0;
	CHECK(value && !strchr(key, '=') && !strchr(key, '\n') && !strchr(value, '\n'));
	check_words(value);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int last = 0;
	struct err err;

	if (ini_parse("fuzz", (const char *)data, size, on_line, &last, &err))
		CHECK(*err.text);
	return 0;
}
