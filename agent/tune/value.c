/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/value.h"

#include <ctype.h>
#include <stdio.h>

static const char blanks[] = " \t\r\n";

/* Finds the one bracketed word of a selector. */
static const char *find_choice(const char *raw, size_t *ret_len)
{
	const char *found = NULL;
	size_t words = 0;

	for (const char *s = raw + strspn(raw, blanks); *s; s += strspn(s, blanks)) {
		size_t len = strcspn(s, blanks);

		if (len > 2 && s[0] == '[' && s[len - 1] == ']') {
			if (found)
				return NULL;
			found = s + 1;
			*ret_len = len - 2;
		}
		words++;
		s += len;
	}
	return words > 1 || found ? found : NULL;
}

const char *value_normal(const char *raw, char *buf)
{
	size_t len;
	const char *s = find_choice(raw, &len);

	if (!s) {
		s = raw + strspn(raw, blanks);
		len = strlen(s);
		while (len && strchr(blanks, s[len - 1]))
			len--;
	}
	snprintf(buf, TUNE_VALUE_MAX, "%.*s", (int)len, s);
	return buf;
}

/* Skips the zeros (and commas of a CPU mask) in front of the first digit that counts. */
static const char *skip_zeros(const char *s)
{
	while ((*s == '0' || *s == ',') && s[1])
		s++;
	return s;
}

static bool is_number(const char *s)
{
	bool digit = false;

	for (; *s; s++) {
		if (!isxdigit((unsigned char)*s) && *s != ',')
			return false;
		digit |= *s != ',';
	}
	return digit;
}

static const char *truth(const char *s)
{
	if (!strcmp(s, "Y") || !strcmp(s, "y"))
		return "1";
	if (!strcmp(s, "N") || !strcmp(s, "n"))
		return "0";
	return s;
}

bool value_equal(const char *a, const char *b)
{
	if (!strcmp(a, b))
		return true;
	a = truth(a);
	b = truth(b);
	if (is_number(a) && is_number(b))
		return !strcasecmp(skip_zeros(a), skip_zeros(b));
	return false;
}

bool value_is_selector(const char *raw)
{
	size_t len;

	return find_choice(raw, &len) != NULL;
}

bool value_in_selector(const char *raw, const char *value)
{
	size_t want = strlen(value);

	for (const char *s = raw + strspn(raw, blanks); *s; s += strspn(s, blanks)) {
		size_t len = strcspn(s, blanks);
		const char *word = s;

		s += len;
		if (len > 2 && word[0] == '[' && word[len - 1] == ']') {
			word++;
			len -= 2;
		}
		if (len == want && !strncmp(word, value, len))
			return true;
	}
	return false;
}

int value_check(const char *value, struct err *reterr)
{
	size_t len = strlen(value);

	if (!len)
		return err_set(reterr, ERR_INVALID, "an empty value cannot be set");
	if (len >= TUNE_VALUE_MAX)
		return err_set(reterr, ERR_LIMIT, "a value has at most %d bytes",
			       TUNE_VALUE_MAX - 1);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return err_set(reterr, ERR_INVALID,
				       "a value is one line without control characters");
	return 0;
}
