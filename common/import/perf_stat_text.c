/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of perf stat's text:
 *
 *   [time] [key [cpus]] value [unit] event [# metric] [( +- error% )] [(percent%)]
 *
 * Numbers carry the locale's separators. Counts are whole, so one separator in a count groups
 * digits; in a value with a unit it is the decimal one. */
#include "common/import/perf_stat.h"

#include <ctype.h>

static size_t count_of(struct span s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.p[i] == c;
	return n;
}

/* Every group after the first separator has three digits. */
static bool is_grouped(struct span s, char c)
{
	struct span group, rest = s;
	bool first = true;

	while (span_field(&rest, c, &group)) {
		if (first ? group.len < 1 || group.len > 3 : group.len != 3)
			return false;
		first = false;
	}
	return true;
}

bool perf_text_number(struct span s, bool whole, double *ret, bool *ret_ambiguous)
{
	size_t dots = count_of(s, '.'), commas = count_of(s, ','), len = 0;
	char decimal = 0, buf[40];

	if (!s.len || s.len >= sizeof(buf) || !isdigit((unsigned char)*s.p))
		return false;
	if (dots && commas) {
		const char *dot = memrchr(s.p, '.', s.len), *comma = memrchr(s.p, ',', s.len);

		decimal = dot > comma ? '.' : ',';
		if ((decimal == '.' ? dots : commas) != 1)
			return false;
	} else if (dots + commas == 1) {
		char only = dots ? '.' : ',';

		if (!is_grouped(s, only))
			decimal = only;
		else if (!whole && only == ',')
			*ret_ambiguous = true; /* 1,234 msec */
		else if (!whole)
			decimal = only;
	} else if (dots + commas > 1 && !is_grouped(s, dots ? '.' : ',')) {
		return false;
	}
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] == decimal)
			buf[len++] = '.';
		else if (s.p[i] != '.' && s.p[i] != ',')
			buf[len++] = s.p[i];
	}
	return span_double((struct span){buf, len}, ret);
}

/* The part before the metric and the parentheses. */
static struct span counter_part(struct span line)
{
	const char *hash = span_find(line, "#"), *paren = span_find(line, "(");

	if (hash && (!paren || hash < paren))
		line.len = (size_t)(hash - line.p);
	else if (paren)
		line.len = (size_t)(paren - line.p);
	return span_trim(line);
}

/* "(49.60%)" at the end */
static void take_percent(struct span line, struct perf_row *r)
{
	const char *open = line.len ? memrchr(line.p, '(', line.len) : NULL;
	struct span s;
	bool ambiguous = false;

	line = span_trim(line);
	if (!open || !line.len || line.p[line.len - 1] != ')')
		return;
	s = span_trim((struct span){open + 1, (size_t)(line.p + line.len - 1 - open - 1)});
	if (s.len < 2 || s.p[s.len - 1] != '%' || !isdigit((unsigned char)*s.p))
		return;
	s.len--;
	r->has_run = perf_text_number(s, false, &r->percent, &ambiguous);
	r->run_ns = r->has_run ? 1 : 0; /* unknown, but it ran */
}

/* "( +-  2.84% )" */
static void take_error(struct span line, struct perf_row *r)
{
	const char *at = span_find(line, "+-");
	struct span rest, word;
	bool ambiguous = false;

	if (!at)
		return;
	rest = span_from(line, at + 2);
	if (!span_word(&rest, &word) || word.len < 2 || word.p[word.len - 1] != '%')
		return;
	word.len--;
	r->has_error = perf_text_number(word, false, &r->error_percent, &ambiguous);
}

/* A time in front of a row of -I: seconds with nine decimals, and more words behind it. */
static void take_time(struct span *part, struct perf_row *r)
{
	struct span rest = *part, word;

	if (!span_word(&rest, &word) || span_decimals(word) != 9 || !span_trim(rest).len ||
	    !span_double(word, &r->time_s))
		return;
	r->has_time = true;
	*part = rest;
}

static void take_key(struct span *part, struct perf_row *r)
{
	struct span rest = *part, word, cpus;
	bool has_cpus;
	uint64_t n;

	if (!span_word(&rest, &word))
		return;
	r->key_label = perf_key_label(word, &has_cpus);
	if (!r->key_label)
		return;
	r->key = word;
	*part = rest;
	if (has_cpus && span_word(&rest, &cpus) && span_u64(cpus, &n))
		*part = rest;
}

/* Units that perf prints in front of an event. */
static bool is_unit(struct span s)
{
	static const char *const units[] = {"msec", "Joules", "MB",    "MiB", "KiB", "Bytes",
					    "ns",   "sec",    "Watts", "C",   "%",   "Mpps"};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (span_is(s, units[i]))
			return true;
	return false;
}

bool perf_text_row(struct span line, struct perf_row *ret, bool *ret_ambiguous)
{
	struct span part = counter_part(line), word, after;

	memset(ret, 0, sizeof(*ret));
	take_time(&part, ret);
	take_key(&part, ret);
	part = span_trim(part);
	if (span_skip(&part, "<not counted>")) {
		ret->count = PERF_NOT_COUNTED;
	} else if (span_skip(&part, "<not supported>")) {
		ret->count = PERF_NOT_SUPPORTED;
	} else {
		if (!span_word(&part, &word))
			return false;
		after = part;
		if (span_word(&after, &ret->unit) && is_unit(ret->unit))
			part = after;
		else
			ret->unit.len = 0;
		if (!perf_text_number(word, !ret->unit.len, &ret->value, ret_ambiguous))
			return false;
	}
	part = span_trim(part);
	after = part;
	if (ret->count != PERF_COUNTED && span_word(&after, &word) && is_unit(word)) {
		ret->unit = word;
		part = span_trim(after);
	}
	/* "cycles a": with cgroups, their name is the second word; "[software]" is not. */
	if (!span_word(&part, &ret->event) || !isalpha((unsigned char)*ret->event.p) ||
	    span_is(ret->event, "seconds") || span_is(ret->event, "+-"))
		return false;
	part = span_trim(part);
	if (span_word(&part, &word) && *word.p != '[')
		ret->cgroup = word;
	take_error(line, ret);
	take_percent(line, ret);
	return !span_trim(part).len;
}
