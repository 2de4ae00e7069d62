/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/scan.h"
#include "common/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#define SNIFF_BYTES 65536

const char *import_source(const struct import_options *o)
{
	return o && o->source ? o->source : "input";
}

void scan_init(struct scan *s, const char *data, size_t len, const struct import_options *o)
{
	memset(s, 0, sizeof(*s));
	s->source = import_source(o);
	s->begin = s->p = data;
	s->end = data + len;
	if (len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
		s->p += 3;
}

bool scan_line(struct scan *s, struct span *ret)
{
	const char *nl;

	if (s->p == s->end)
		return false;
	nl = memchr(s->p, '\n', (size_t)(s->end - s->p));
	ret->p = s->p;
	ret->len = (size_t)((nl ? nl : s->end) - s->p);
	s->p = nl ? nl + 1 : s->end;
	if (ret->len && ret->p[ret->len - 1] == '\r')
		ret->len--;
	s->no++;
	s->line = *ret;
	return true;
}

int scan_error(const struct scan *s, const char *at, struct err *reterr, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* What came from the file must not carry control bytes to a terminal. */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	if (at && s->line.p && at >= s->line.p && at <= s->line.p + s->line.len)
		return err_set(reterr, ERR_INVALID, "%s:%zu:%zu: %s", s->source, s->no,
			       (size_t)(at - s->line.p) + 1, text);
	return err_set(reterr, ERR_INVALID, "%s:%zu: %s", s->source, s->no, text);
}

int scan_prefix(const struct scan *s, struct err *reterr)
{
	return err_prefix(reterr, "%s:%zu: ", s->source, s->no);
}

bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.p, text, s.len);
}

bool span_is_nocase(struct span s, const char *text)
{
	return s.len == strlen(text) && !strncasecmp(s.p, text, s.len);
}

bool span_starts(struct span s, const char *text)
{
	size_t len = strlen(text);

	return s.len >= len && !memcmp(s.p, text, len);
}

const char *span_find(struct span s, const char *text)
{
	return s.len ? memmem(s.p, s.len, text, strlen(text)) : NULL;
}

struct span span_trim(struct span s)
{
	while (s.len && isspace((unsigned char)s.p[0])) {
		s.p++;
		s.len--;
	}
	while (s.len && isspace((unsigned char)s.p[s.len - 1]))
		s.len--;
	return s;
}

struct span span_from(struct span s, const char *at)
{
	return (struct span){at, (size_t)(s.p + s.len - at)};
}

char *span_dup(struct span s)
{
	return xstrndup(s.len ? s.p : "", s.len);
}

bool span_skip(struct span *s, const char *text)
{
	size_t len = strlen(text);

	if (!span_starts(*s, text))
		return false;
	s->p += len;
	s->len -= len;
	return true;
}

bool span_word(struct span *s, struct span *ret)
{
	while (s->len && (*s->p == ' ' || *s->p == '\t')) {
		s->p++;
		s->len--;
	}
	ret->p = s->p;
	while (s->len && *s->p != ' ' && *s->p != '\t') {
		s->p++;
		s->len--;
	}
	ret->len = (size_t)(s->p - ret->p);
	return ret->len > 0;
}

size_t span_count_words(struct span s)
{
	struct span word;
	size_t n = 0;

	while (span_word(&s, &word))
		n++;
	return n;
}

/* Steps over the separator, or marks the end after the last field. */
static void span_next_field(struct span *s, const char *end_of_field)
{
	size_t used = (size_t)(end_of_field - s->p);

	if (used == s->len) {
		s->p = NULL;
		s->len = 0;
	} else {
		s->p += used + 1;
		s->len -= used + 1;
	}
}

bool span_field(struct span *s, char sep, struct span *ret)
{
	const char *at;

	if (!s->p)
		return false;
	at = s->len ? memchr(s->p, sep, s->len) : NULL;
	ret->p = s->p;
	ret->len = at ? (size_t)(at - s->p) : s->len;
	span_next_field(s, ret->p + ret->len);
	return true;
}

bool span_cell(struct span *s, char sep, struct strbuf *buf, struct span *ret)
{
	const char *p, *end;

	if (!s->p || !s->len || *s->p != '"')
		return span_field(s, sep, ret);
	strbuf_clear(buf);
	strbuf_reserve(buf, 0);
	end = s->p + s->len;
	for (p = s->p + 1; p < end; p++) {
		if (*p == '"') {
			if (p + 1 == end || p[1] != '"')
				break;
			p++;
		}
		strbuf_putc(buf, *p);
	}
	if (p < end)
		p++; /* the closing quote */
	while (p < end && *p != sep)
		strbuf_putc(buf, *p++);
	span_next_field(s, p);
	*ret = (struct span){buf->data ? buf->data : "", buf->len};
	return true;
}

bool span_u64(struct span s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!s.len)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned int d = (unsigned int)(unsigned char)s.p[i] - '0';

		if (d > 9 || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, d, &v))
			return false;
	}
	*ret = v;
	return true;
}

bool span_i64(struct span s, int64_t *ret)
{
	bool minus = s.len && *s.p == '-';
	uint64_t v;

	if (s.len && (*s.p == '-' || *s.p == '+')) {
		s.p++;
		s.len--;
	}
	if (!span_u64(s, &v) || v > INT64_MAX)
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

bool span_double(struct span s, double *ret)
{
	char buf[64];
	struct err err;

	if (!s.len || s.len >= sizeof(buf))
		return false;
	memcpy(buf, s.p, s.len);
	buf[s.len] = '\0';
	return strlen(buf) == s.len && parse_double(buf, ret, &err) == 0;
}

unsigned int span_decimals(struct span s)
{
	const char *dot = s.len ? memchr(s.p, '.', s.len) : NULL;
	unsigned int n = 0;

	for (const char *p = dot ? dot + 1 : NULL; p && p < s.p + s.len; p++)
		if (isdigit((unsigned char)*p))
			n++;
	return n;
}

bool scale_ns(double v, double unit_ns, int64_t *ret)
{
	double ns = v * unit_ns;

	if (!(fabs(ns) < 9.2e18))
		return false;
	*ret = llround(ns);
	return true;
}

int64_t duration_ns(double seconds)
{
	return seconds > 0 && seconds < 1e9 ? llround(seconds * 1e9) : 0;
}

double unit_word_ns(struct span s)
{
	static const struct {
		const char *word;
		double ns;
	} units[] = {
		{"ns", 1},   {"nsec", 1},   {"nsecs", 1},      {"nanoseconds", 1},
		{"us", 1e3}, {"usec", 1e3}, {"usecs", 1e3},    {"microseconds", 1e3},
		{"ms", 1e6}, {"msec", 1e6}, {"msecs", 1e6},    {"milliseconds", 1e6},
		{"s", 1e9},  {"sec", 1e9},  {"secs", 1e9},     {"seconds", 1e9},
		{"µs", 1e3}, {"μs", 1e3},   {"nanosecond", 1}, {"microsecond", 1e3},
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (span_is_nocase(s, units[i].word))
			return units[i].ns;
	return 0;
}

const char *unit_ns_name(int64_t unit_ns)
{
	switch (unit_ns) {
	case 1:
		return "nanoseconds";
	case NS_PER_US:
		return "microseconds";
	case NS_PER_MS:
		return "milliseconds";
	case NS_PER_SEC:
		return "seconds";
	default:
		return "units of the option --unit";
	}
}

bool span_is_elision(struct span s)
{
	s = span_trim(s);
	if (s.len >= 3 && (s.p[0] == '.' || s.p[0] == '[')) {
		size_t i = 0;

		while (i < s.len && strchr("[.] \t", s.p[i]))
			i++;
		if (i == s.len)
			return true;
	}
	return s.len >= 22 && !strncasecmp(s.p, "More histogram entries", 22);
}

struct span sniff_head(const char *data, size_t len)
{
	return (struct span){data, len < SNIFF_BYTES ? len : SNIFF_BYTES};
}
