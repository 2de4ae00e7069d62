/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a run document satisfies a selector. Server side the same meaning is compiled to SQL
 * (server/selector_sql.c); tests/integration/test_api_selector.py holds the two together. */
#include "common/model/selector.h"

#include <ctype.h>
#include <math.h>

#include "common/clock.h"
#include "common/parse.h"

#define NS_PER_DAY (86400 * NS_PER_SEC)

bool selector_time(const char *value, int64_t *ret_lo_ns, int64_t *ret_hi_ns)
{
	if (!clock_parse_rfc3339(value, ret_lo_ns))
		return false;
	*ret_hi_ns = *ret_lo_ns + (strlen(value) == strlen("2026-11-30") ? NS_PER_DAY : 1);
	return true;
}

bool selector_is_number(const char *s)
{
	size_t whole, fraction;

	s += *s == '-';
	whole = strspn(s, "0123456789");
	s += whole;
	if (!*s)
		return whole > 0 && whole <= 18;
	if (*s++ != '.')
		return false;
	fraction = strspn(s, "0123456789");
	return whole > 0 && whole <= 18 && fraction > 0 && fraction <= 18 && !s[fraction];
}

bool selector_is_glob(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '*' || *p == '?')
			return true;
	}
	return false;
}

void selector_version_key(const char *s, struct strbuf *out)
{
	while (*s) {
		size_t digits = strspn(s, "0123456789"), zeros, kept;

		if (!digits) {
			strbuf_putc(out, *s++);
			continue;
		}
		zeros = strspn(s, "0");
		kept = zeros >= digits ? 0 : digits - zeros;
		for (size_t pad = kept; pad < SELECTOR_VERSION_PAD; pad++)
			strbuf_putc(out, '0');
		strbuf_add(out, s + digits - kept,
			   kept < SELECTOR_VERSION_PAD ? kept : SELECTOR_VERSION_PAD);
		s += digits;
	}
}

/* One UTF-8 character; the text is known to be clean. */
static const char *next_char(const char *s)
{
	for (s++; ((unsigned char)*s & 0xc0) == 0x80; s++)
		;
	return s;
}

/* Glob with * and ?, backslash takes the next character literally. Linear but for one retreat to
 * the latest star. */
static bool glob_match(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
		} else if (!*s) {
			return !*pattern;
		} else if (*pattern == '?') {
			pattern++;
			s = next_char(s);
		} else {
			const char *p = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;

			if (*p && *p == *s) {
				pattern = p + 1;
				s++;
			} else if (star) {
				pattern = star;
				s = retry = next_char(retry);
			} else {
				return false;
			}
		}
	}
}

static bool pattern_match(const char *pattern, const char *s)
{
	char *prefix CLEANUP(freep) = NULL;

	if (selector_is_glob(pattern))
		return glob_match(pattern, s);
	prefix = xasprintf("%s*", pattern);
	return glob_match(prefix, s);
}

static int compare_versions(const char *a, const char *b)
{
	struct strbuf ka CLEANUP(strbuf_done) = {0}, kb CLEANUP(strbuf_done) = {0};

	strbuf_puts(&ka, "");
	strbuf_puts(&kb, "");
	selector_version_key(a, &ka);
	selector_version_key(b, &kb);
	return strcmp(ka.data ? ka.data : "", kb.data ? kb.data : "");
}

static int compare_text(enum selector_type type, const char *a, const char *b)
{
	double x, y;

	if (type == SELECTOR_LABEL && selector_is_number(a) && selector_is_number(b) &&
	    !parse_double(a, &x, NULL) && !parse_double(b, &y, NULL))
		return x < y ? -1 : x > y;
	return compare_versions(a, b);
}

static bool in_values(const struct selector_term *t, const char *s)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->values[i], s))
			return true;
	return false;
}

/* The positive part of a term on a text that exists. */
static bool text_holds(const struct selector_term *t, enum selector_type type, const char *s)
{
	switch (t->op) {
	case SELECTOR_EQ:
	case SELECTOR_NE:
	case SELECTOR_IN:
	case SELECTOR_NOTIN:
		return in_values(t, s);
	case SELECTOR_MATCH:
	case SELECTOR_NOMATCH:
		return pattern_match(t->values[0], s);
	case SELECTOR_LT:
		return compare_text(type, s, t->values[0]) < 0;
	case SELECTOR_LE:
		return compare_text(type, s, t->values[0]) <= 0;
	case SELECTOR_GT:
		return compare_text(type, s, t->values[0]) > 0;
	case SELECTOR_GE:
		return compare_text(type, s, t->values[0]) >= 0;
	case SELECTOR_RANGE:
		return (!t->values[0] || compare_text(type, s, t->values[0]) >= 0) &&
		       (!t->values[1] || compare_text(type, s, t->values[1]) <= 0);
	}
	return false;
}

static bool negative(enum selector_op op)
{
	return op == SELECTOR_NE || op == SELECTOR_NOTIN || op == SELECTOR_NOMATCH;
}

/* A text that may be absent: absent holds for the negative operators only. */
static bool text_term(const struct selector_term *t, enum selector_type type, const char *s)
{
	return (s && text_holds(t, type, s)) != negative(t->op);
}

/* A value of a number-like field as the half-open interval that it stands for. */
static void number_of(const struct selector_term *t, const char *v, int64_t *lo, int64_t *hi)
{
	int64_t x = 0;

	if (t->field->type == SELECTOR_TIME) {
		if (!selector_time(v, lo, hi))
			*lo = *hi = 0;
		return;
	}
	if (t->field->type == SELECTOR_DURATION ? parse_duration(v, &x, NULL)
						: parse_i64(v, &x, NULL))
		x = 0; /* the parser refused such a value */
	*lo = x;
	*hi = x < INT64_MAX ? x + 1 : x;
}

static bool number_holds(const struct selector_term *t, int64_t x)
{
	int64_t lo = INT64_MIN, hi = INT64_MAX, unused;

	for (size_t i = 0; t->op <= SELECTOR_NOTIN && i < t->n; i++) {
		number_of(t, t->values[i], &lo, &hi);
		if (x >= lo && x < hi)
			return true;
	}
	if (t->op <= SELECTOR_NOTIN)
		return false;
	if (t->op == SELECTOR_RANGE) {
		if (t->values[0])
			number_of(t, t->values[0], &lo, &unused);
		if (t->values[1])
			number_of(t, t->values[1], &unused, &hi);
		return x >= lo && x < hi;
	}
	number_of(t, t->values[0], &lo, &hi);
	return t->op == SELECTOR_LT   ? x < lo
	       : t->op == SELECTOR_LE ? x < hi
	       : t->op == SELECTOR_GT ? x >= hi
				      : x >= lo;
}

static bool number_term(const struct selector_term *t, int64_t x, bool known)
{
	return (known && number_holds(t, x)) != negative(t->op);
}

static const char *fact(const struct run *r, const char *key, char buf[32])
{
	const json_t *v = r->environment ? json_object_get(r->environment, key) : NULL;

	if (json_is_string(v))
		return json_string_value(v);
	if (json_is_integer(v)) {
		(void)snprintf(buf, 32, "%lld", (long long)json_integer_value(v));
		return buf;
	}
	if (json_is_real(v)) {
		(void)snprintf(buf, 32, "%.15g", json_real_value(v));
		return buf;
	}
	return NULL;
}

/* Any one of several texts satisfies a positive term; a negative one needs none to be equal. */
static bool metric_term(const struct selector_term *t, const struct run *r)
{
	bool any = false;

	for (size_t i = 0; i < r->series_len; i++)
		any = any || text_holds(t, SELECTOR_TEXT, r->series[i].metric);
	return any != negative(t->op);
}

static bool tag_term(const struct selector_term *t, const struct run *r)
{
	bool any = false;

	for (size_t i = 0; i < r->tags.len; i++)
		any = any || text_holds(t, SELECTOR_TEXT, r->tags.v[i].key);
	return any != negative(t->op);
}

static bool bool_term(const struct selector_term *t, bool x)
{
	return text_term(t, SELECTOR_TEXT, x ? "true" : "false");
}

static bool time_or_number_term(const struct selector_term *t, const struct run *r)
{
	const struct {
		const char *name;
		int64_t x;
	} numbers[] = {{"started", r->started_ns},
		       {"ended", r->ended_ns},
		       {"measured", r->measured_ns},
		       {"order", r->order},
		       {"block", r->block}};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!strcmp(numbers[i].name, t->key))
			return number_term(t, numbers[i].x, numbers[i].x != 0);
	return negative(t->op); /* import: only the server knows */
}

static bool field_term(const struct selector_term *t, const struct run *r)
{
	const struct {
		const char *name, *text;
	} texts[] = {{"run", *r->uid ? r->uid : NULL},
		     {"uid", *r->uid ? r->uid : NULL},
		     {"host", r->host},
		     {"experiment", r->experiment},
		     {"kind", run_kind_name(r->kind)},
		     {"state", run_state_name(r->state)},
		     {"boot", r->boot_id},
		     {"source", r->source}};
	char buf[32];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!strcmp(texts[i].name, t->key))
			return text_term(t, SELECTOR_TEXT, texts[i].text);
	if (!strcmp(t->key, "metric"))
		return metric_term(t, r);
	if (!strcmp(t->key, "tag"))
		return tag_term(t, r);
	if (!strcmp(t->key, "excluded"))
		return bool_term(t, r->excluded != NULL);
	if (!strcmp(t->key, "demo"))
		return bool_term(t, false);
	if (!strcmp(t->key, "kernel")) {
		const char *f = labels_get(&r->factors, "kernel");

		return text_term(t, SELECTOR_VERSION, f ? f : fact(r, "kernel.release", buf));
	}
	return time_or_number_term(t, r);
}

static bool term_match(const struct selector_term *t, const struct run *r)
{
	const char *factor = labels_get(&r->factors, t->key), *tag = labels_get(&r->tags, t->key);
	char buf[32];

	switch (t->scope) {
	case SELECTOR_FIELD:
		return field_term(t, r);
	case SELECTOR_FACTOR:
		return text_term(t, SELECTOR_LABEL, factor);
	case SELECTOR_TAG:
		return text_term(t, SELECTOR_LABEL, tag);
	case SELECTOR_ENV:
		return text_term(t, SELECTOR_LABEL, fact(r, t->key, buf));
	case SELECTOR_ANY:
		return text_term(t, SELECTOR_LABEL, factor ? factor : tag);
	}
	return false;
}

bool selector_match(const struct selector *s, const struct run *r)
{
	for (size_t i = 0; i < s->n; i++)
		if (!term_match(&s->terms[i], r))
			return false;
	return true;
}
