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

static int by_key(const void *a, const void *b)
{
	double x = ((const struct json_bin *)a)->key, y = ((const struct json_bin *)b)->key;

	return (x > y) - (x < y);
}

static int read_bin(const char *key, const json_t *value, struct json_bin *ret, struct err *reterr)
{
	ret->text = key;
	if (!span_double((struct span){key, strlen(key)}, &ret->key))
		return err_set(reterr, ERR_INVALID, "bin '%.40s': the name is not a number", key);
	if (!json_get_u64(value, &ret->n))
		return err_set(reterr, ERR_INVALID, "bin %.40s: the count is not a whole number",
			       key);
	return 0;
}

int json_bins(const json_t *object, struct json_bin **ret, size_t *ret_len, struct err *reterr)
{
	size_t n = json_object_size(object), i = 0;
	struct json_bin *bins = xcalloc(n + 1, sizeof(*bins));
	bool sorted = true;
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		rc = read_bin(key, value, &bins[i], reterr);
		if (rc)
			break;
		sorted = sorted && (!i || bins[i].key > bins[i - 1].key);
		i++;
	}
	if (!rc && !sorted)
		qsort(bins, n, sizeof(*bins), by_key);
	for (size_t k = 1; !rc && !sorted && k < n; k++)
		if (bins[k].key == bins[k - 1].key)
			rc = err_set(reterr, ERR_INVALID, "bin %.40s is there twice", bins[k].text);
	if (rc) {
		free(bins);
		return rc;
	}
	*ret = bins;
	*ret_len = n;
	return 0;
}

bool json_repair_nan(const char *data, size_t len, struct strbuf *out)
{
	struct span s = {data, len};
	bool in_string = false, found = false;

	while (s.len) {
		if (in_string && *s.p == '\\' && s.len > 1) {
			strbuf_add(out, s.p, 2);
			s.p += 2;
			s.len -= 2;
			continue;
		}
		in_string ^= *s.p == '"';
		if (!in_string && (span_skip(&s, "-nan") || span_skip(&s, "nan"))) {
			strbuf_puts(out, "null");
			found = true;
			continue;
		}
		strbuf_putc(out, *s.p++);
		s.len--;
	}
	return found;
}
