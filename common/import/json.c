/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/json.h"

#include <ctype.h>
#include <math.h>

/* Line and column of a place, both from 1. */
static void place_of(const char *begin, const char *at, size_t *ret_line, size_t *ret_column)
{
	const char *line = begin;

	*ret_line = 1;
	for (const char *p = begin; p < at; p++) {
		if (*p != '\n')
			continue;
		(*ret_line)++;
		line = p + 1;
	}
	*ret_column = (size_t)(at - line) + 1;
}

int json_next(struct span *s, const struct import_options *o, const char *begin, json_t **ret,
	      struct err *reterr)
{
	json_error_t err;
	size_t line, column;
	json_t *j;

	while (s->len && isspace((unsigned char)*s->p)) {
		s->p++;
		s->len--;
	}
	if (s->len > JSON_BYTES_MAX)
		return err_set(reterr, ERR_LIMIT,
			       "%s: %zu MiB of JSON; at most %zu MiB are read in one file",
			       import_source(o), s->len >> 20, JSON_BYTES_MAX >> 20);
	j = json_loadb(s->p ? s->p : "", s->len, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &err);
	if (!j) {
		size_t used = err.position > 0 ? (size_t)err.position : 0;

		place_of(begin, s->p + (used < s->len ? used : s->len), &line, &column);
		for (char *c = err.text; *c; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				*c = '?';
		return err_set(reterr, ERR_INVALID, "%s:%zu:%zu: not valid JSON: %.150s",
			       import_source(o), line, column, err.text);
	}
	s->p += err.position;
	s->len -= (size_t)err.position;
	*ret = j;
	return 0;
}

struct span json_begin(const char *data, size_t len)
{
	struct span all = {data, len}, line;
	struct scan s;

	scan_init(&s, data, len, NULL);
	while (scan_line(&s, &line)) {
		struct span text = span_trim(line);

		if (text.len && (*text.p == '{' || *text.p == '['))
			return span_from(all, text.p);
	}
	return (struct span){NULL, 0};
}

int json_only(const char *data, size_t len, const struct import_options *o, json_t **ret,
	      struct err *reterr)
{
	struct span s = json_begin(data, len);

	if (!s.p)
		return err_set(reterr, ERR_INVALID, "%s: no JSON object in it", import_source(o));
	return json_next(&s, o, data, ret, reterr);
}

bool json_sniff(const char *data, size_t len, const char *key)
{
	struct span head = sniff_head(data, len), text = json_begin(head.p, head.len);
	char quoted[64];
	size_t n = strlen(key);

	if (!text.p || n + 3 > sizeof(quoted))
		return false;
	quoted[0] = '"';
	memcpy(quoted + 1, key, n);
	quoted[n + 1] = '"';
	quoted[n + 2] = '\0';
	return span_find(text, quoted) != NULL;
}

bool json_get_u64(const json_t *v, uint64_t *ret)
{
	if (json_is_string(v))
		return span_u64((struct span){json_string_value(v), json_string_length(v)}, ret);
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

bool json_get_number(const json_t *v, double *ret)
{
	if (json_is_string(v))
		return span_double((struct span){json_string_value(v), json_string_length(v)}, ret);
	if (!json_is_number(v))
		return false;
	*ret = json_number_value(v);
	return isfinite(*ret);
}

const char *json_get_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
