/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Delay Count" tables, as in mails of 2004: a header, a rule, rows of a delay and a count.
 *
 * A mail may quote ("> "), hold several tables and say in prose how many cycles were run; the
 * last line of prose before a table is its label. A table ends at the first line that is no row.
 * Missing rows are zero. Nothing says what overflowed, so nothing did. */
#include "common/import/formats.h"

#include <ctype.h>
#include <inttypes.h>
#include <strings.h>

/* Without quote marks and blanks around. */
static struct span unquote(struct span line)
{
	line = span_trim(line);
	while (line.len && *line.p == '>') {
		line.p++;
		line.len--;
		line = span_trim(line);
	}
	return line;
}

static bool is_header(struct span line)
{
	struct span a, b, rest = unquote(line);

	return span_word(&rest, &a) && span_word(&rest, &b) && !span_trim(rest).len &&
	       span_is_nocase(a, "delay") && span_is_nocase(b, "count");
}

static bool is_rule(struct span line)
{
	line = unquote(line);
	for (size_t i = 0; i < line.len; i++)
		if (!strchr("-= \t", line.p[i]))
			return false;
	return line.len > 0;
}

static bool is_row(struct span line, int64_t *ret_delay, uint64_t *ret_count)
{
	struct span a, b, rest = unquote(line);

	return span_word(&rest, &a) && span_word(&rest, &b) && !span_trim(rest).len &&
	       span_i64(a, ret_delay) && span_u64(b, ret_count);
}

/* A number of cycles that prose claims. */
struct claim {
	uint64_t n;
	size_t line;
	char word[16];
};

/* "500000 cycles", "500,000 samples" */
static bool find_claim(struct span line, struct claim *ret)
{
	static const char *const words[] = {"cycles", "samples", "iterations", "loops", "wakeups"};
	struct span number = {NULL, 0}, word, rest = unquote(line);

	for (; span_word(&rest, &word); number = word) {
		char digits[24];
		size_t n = 0;
		uint64_t v;

		while (word.len && ispunct((unsigned char)word.p[word.len - 1]))
			word.len--;
		for (size_t i = 0; i < number.len && n < sizeof(digits); i++)
			if (number.p[i] != ',')
				digits[n++] = number.p[i];
		if (!span_u64((struct span){digits, n}, &v))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			if (!span_is_nocase(word, words[i]))
				continue;
			ret->n = v;
			(void)strcpy(ret->word, words[i]);
			return true;
		}
	}
	return false;
}

/* "max_sectors_kb=32:" in the label names the level of a factor. */
static void factors_from_label(struct run *r, struct span label)
{
	struct span word;

	while (span_word(&label, &word)) {
		const char *eq = memchr(word.p, '=', word.len);
		struct span key, value;
		char *k, *v;

		if (!eq || eq == word.p)
			continue;
		key = (struct span){word.p, (size_t)(eq - word.p)};
		value = span_from(word, eq + 1);
		while (value.len && strchr(",;:.)", value.p[value.len - 1]))
			value.len--;
		while (key.len && *key.p == '(') {
			key.p++;
			key.len--;
		}
		if (!key.len || !value.len)
			continue;
		k = span_dup(key);
		v = span_dup(value);
		labels_set(&r->factors, k, v);
		run_note(r, "inferred-factor", "the table's label says %s = %s", k, v);
		free(k);
		free(v);
	}
}

/* A line that was meant as a row: two words, both begin with a digit. Prose ends a table, a damaged
 * row must not. */
static int refuse_damaged_row(struct scan *s, struct span line, struct err *reterr)
{
	struct span rest = unquote(line), delay, count;

	if (!span_word(&rest, &delay) || !span_word(&rest, &count) || span_trim(rest).len ||
	    !isdigit((unsigned char)*delay.p) || !isdigit((unsigned char)*count.p))
		return 0;
	return scan_error(s, count.p, reterr, "this row is not a delay and a count: \"%.*s\"",
			  SPAN_ARG(span_trim(line)));
}

static int read_table(struct scan *s, const struct import_options *o, struct span label,
		      struct runs *ret, struct err *reterr)
{
	struct run *r = import_run(ret, o);
	struct series *series;
	struct scan before = *s;
	struct span line;
	int64_t unit, last = INT64_MIN;
	int rc = import_unit(r, o, 0, NS_PER_US, "the convention of \"Delay Count\" tables", &unit,
			     reterr);

	if (rc)
		return rc;
	series = import_hist(r, "wakeup_latency", NULL, unit);
	series->hist.scheme = HIST_LINEAR;
	series->hist.width = unit;
	if (label.len) {
		char *text = span_dup(label);

		labels_set(&r->tags, "label", text);
		free(text);
		factors_from_label(r, label);
	}
	if (scan_line(s, &line) && !is_rule(line))
		*s = before;
	for (; before = *s, scan_line(s, &line);) {
		int64_t delay;
		uint64_t count;

		if (span_is_elision(unquote(line)))
			return scan_error(s, line.p, reterr,
					  "rows were left out here (\"%.*s\"): no quantile can be "
					  "computed; import the whole table",
					  SPAN_ARG(span_trim(line)));
		if (!is_row(line, &delay, &count)) {
			rc = refuse_damaged_row(s, line, reterr);
			if (rc)
				return rc;
			*s = before;
			break;
		}
		if (delay <= last)
			return scan_error(s, line.p, reterr,
					  "delay %" PRId64 " after delay %" PRId64, delay, last);
		last = delay;
		rc = import_bucket(&series->hist, delay, unit, count, reterr);
		if (rc)
			return scan_prefix(s, reterr);
	}
	if (!series->hist.count)
		return scan_error(s, NULL, reterr, "a \"Delay Count\" header without rows");
	return 0;
}

/* The prose is about every table of the file, so the claim is compared when all are read. */
static void compare_claim(struct runs *rs, const struct claim *claim)
{
	for (size_t i = 0; claim->n && i < rs->len; i++) {
		uint64_t count = rs->v[i]->series[0].hist.count;

		if (count != claim->n)
			run_note(rs->v[i], "claimed-count-differs",
				 "line %zu speaks of %" PRIu64
				 " %s, but the table sums to %" PRIu64,
				 claim->line, claim->n, claim->word, count);
	}
}

static int delay_count_read(const char *data, size_t len, const struct import_options *o,
			    struct runs *ret, struct err *reterr)
{
	struct span line, label = {NULL, 0};
	struct claim claim = {0};
	struct scan s;

	scan_init(&s, data, len, o);
	while (scan_line(&s, &line)) {
		if (is_header(line)) {
			int rc = read_table(&s, o, label, ret, reterr);

			if (rc)
				return rc;
			label.len = 0;
			continue;
		}
		if (unquote(line).len)
			label = unquote(line);
		if (!claim.n && find_claim(line, &claim))
			claim.line = s.no;
	}
	if (!ret->len)
		return err_set(reterr, ERR_INVALID, "%s: no table with the header \"Delay Count\"",
			       s.source);
	compare_claim(ret, &claim);
	return 0;
}

static int delay_count_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (is_header(line))
			return 95;
	return 0;
}

const struct import_format import_delay_count = {
	.name = "delay-count",
	.title = "\"Delay Count\" table",
	.sniff = delay_count_sniff,
	.read = delay_count_read,
};
