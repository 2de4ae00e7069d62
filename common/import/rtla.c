/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rtla timerlat hist and rtla osnoise hist.
 *
 *   # RTLA timerlat histogram
 *   # Time unit is microseconds (us)
 *   # Duration:   0 00:00:05
 *   Index   IRQ-000   Thr-000   Usr-000 ...
 *   1           102       0 ...		only rows that are not all zero
 *   over:  count:  min:  avg:  max:
 *
 * The bucket's width is not printed. Every row is a multiple of it, so the greatest common divisor
 * of the rows is at least as wide: the intervals that are read contain the true ones. The minimum
 * and maximum of osnoise are bucket floors. */
#include "common/import/formats.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#define COLUMNS_MAX 12288

struct column {
	char context[8], cpu[8];
	struct hist hist;
	uint64_t over, count;
	int64_t min, max;
	bool has_over, has_count, has_min, has_max;
};

struct rtla {
	struct scan scan;
	const struct import_options *o;
	struct column *columns;
	size_t len;
	int64_t unit, width, last_index;
	int64_t step;	       /* greatest common divisor of the rows' indices */
	bool osnoise, summary; /* summary: rows of footers have begun */
};

/* "IRQ-000", "Thr-003", "CPU-002" */
static int add_columns(struct rtla *t, struct span header, struct err *reterr)
{
	struct span word;
	size_t cap = 0;

	if (t->len)
		return scan_error(&t->scan, NULL, reterr, "a second table in one file");
	(void)span_word(&header, &word); /* Index */
	while (span_word(&header, &word)) {
		const char *dash = memchr(word.p, '-', word.len);
		struct column *c;
		uint64_t cpu;

		if (!dash || dash == word.p || dash - word.p > 7 ||
		    !span_u64(span_from(word, dash + 1), &cpu) || cpu > 99999 ||
		    t->len == COLUMNS_MAX)
			return scan_error(&t->scan, word.p, reterr,
					  "'%.*s' is not a column such as "
					  "IRQ-000",
					  SPAN_ARG(word));
		GROW(t->columns, t->len, cap);
		c = &t->columns[t->len++];
		memset(c, 0, sizeof(*c));
		(void)snprintf(c->context, sizeof(c->context), "%.*s", (int)(dash - word.p),
			       word.p);
		(void)snprintf(c->cpu, sizeof(c->cpu), "%" PRIu64, cpu);
		c->hist.scheme = HIST_LINEAR;
		c->hist.width = t->width;
	}
	return 0;
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int read_row(struct rtla *t, struct span line, struct err *reterr)
{
	struct span word, rest = line;
	int64_t index;
	size_t i = 0;

	if (!span_word(&rest, &word) || !span_i64(word, &index) || index <= t->last_index)
		return scan_error(&t->scan, line.p, reterr, "'%.*s' is not the next bucket",
				  SPAN_ARG(word));
	t->last_index = index;
	t->step = gcd(index, t->step);
	for (; span_word(&rest, &word); i++) {
		int64_t lo;
		uint64_t n;
		int rc;

		if (i == t->len || !span_u64(word, &n))
			return scan_error(&t->scan, word.p, reterr,
					  "'%.*s' is not a count (a 32-bit counter that wrapped?)",
					  SPAN_ARG(word));
		if (!n)
			continue;
		if (__builtin_mul_overflow(index, t->unit, &lo) || lo > INT64_MAX - t->width)
			return scan_error(&t->scan, line.p, reterr, "the bucket is too large");
		rc = hist_append(&t->columns[i].hist, lo, lo + t->width, n, reterr);
		if (rc)
			return scan_prefix(&t->scan, reterr);
	}
	if (i != t->len)
		return scan_error(&t->scan, line.p, reterr, "%zu counts for %zu columns", i,
				  t->len);
	return 0;
}

/* "over:   0  0", "min:  1  -": '-' where there are no samples. */
static int read_summary(struct rtla *t, struct span line, struct err *reterr)
{
	struct span name, word;
	double v;

	t->summary = true;
	(void)span_word(&line, &name);
	for (size_t i = 0; span_word(&line, &word) && i < t->len; i++) {
		struct column *c = &t->columns[i];
		uint64_t n = 0;

		if (span_is(word, "-"))
			continue;
		if (!span_double(word, &v) || v < 0 || v > 9e15)
			return scan_error(&t->scan, word.p, reterr, "'%.*s' is not a number",
					  SPAN_ARG(word));
		n = (uint64_t)v;
		if (span_is(name, "over:"))
			c->over = n, c->has_over = true;
		else if (span_is(name, "count:"))
			c->count = n, c->has_count = true;
		else if (span_is(name, "min:"))
			c->has_min = scale_ns(v, (double)t->unit, &c->min);
		else if (span_is(name, "max:"))
			c->has_max = scale_ns(v, (double)t->unit, &c->max);
	}
	return 0;
}

static bool is_summary(struct span line)
{
	static const char *const names[] = {"over:", "count:", "min:", "avg:", "max:"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_starts(line, names[i]))
			return true;
	return false;
}

/* "# Duration:   0 00:01:05" */
static void read_duration(struct run *r, struct span line)
{
	struct span word, clock, part;
	int64_t days, v[3] = {0, 0, 0};

	if (!span_skip(&line, "# Duration:") || !span_word(&line, &word) ||
	    !span_i64(word, &days) || !span_word(&line, &clock) || days < 0 || days > 10000)
		return;
	for (size_t i = 0; i < 3; i++)
		if (!span_field(&clock, ':', &part) || !span_i64(part, &v[i]) || v[i] < 0 ||
		    v[i] > 99)
			return;
	r->measured_ns = (((days * 24 + v[0]) * 60 + v[1]) * 60 + v[2]) * NS_PER_SEC;
}

static int read_comment(struct rtla *t, struct run *r, struct span line, struct err *reterr)
{
	if (span_find(line, "osnoise histogram"))
		t->osnoise = true;
	read_duration(r, line);
	if (!span_starts(line, "# Time unit is "))
		return 0;
	if (span_find(line, "(us)"))
		t->unit = NS_PER_US;
	else if (span_find(line, "(ns)"))
		t->unit = 1;
	else
		return scan_error(&t->scan, line.p, reterr, "an unknown time unit");
	t->width = t->unit;
	return 0;
}

static int finish_column(struct rtla *t, struct run *r, struct column *c, struct err *reterr)
{
	static const struct {
		const char *name, *context, *metric;
	} contexts[] = {
		{"IRQ", "irq", "irq_latency"},
		{"Thr", "thread", "wakeup_latency"},
		{"Usr", "user", "wakeup_latency"},
	};
	const char *metric = "os_noise", *context = NULL;
	struct series *s;

	for (size_t i = 0; i < ARRAY_LEN(contexts); i++) {
		if (strcmp(c->context, contexts[i].name) || t->osnoise)
			continue;
		metric = contexts[i].metric;
		context = contexts[i].context;
	}
	s = import_hist(r, metric, t->osnoise ? "rtla-osnoise" : "rtla-timerlat", t->width);
	labels_set(&s->labels, "cpu", c->cpu);
	labels_set(&s->labels, "context", context);
	s->hist = c->hist;
	memset(&c->hist, 0, sizeof(c->hist));
	import_overflow(r, s, t->o, c->over, 0);
	if (c->has_count && c->count != s->hist.count)
		return scan_error(&t->scan, NULL, reterr,
				  "%s-%s: count is %" PRIu64
				  ", but buckets and over sum to %" PRIu64,
				  c->context, c->cpu, c->count, s->hist.count);
	if (!c->has_min || !c->has_max || !s->hist.count)
		return 0;
	/* The extremes of osnoise are floors of buckets. */
	if (import_extremes(&s->hist, c->min, c->max, t->osnoise ? t->width : 0, reterr))
		return err_prefix(reterr, "%s: %s-%s: ", t->scan.source, c->context, c->cpu);
	s->hist.has_min = s->hist.has_max = !t->osnoise;
	return 0;
}

static int rtla_lines(struct rtla *t, struct run *r, struct err *reterr)
{
	struct span line;
	int rc = 0;

	while (!rc && scan_line(&t->scan, &line)) {
		const char *hash = span_find(line, "# ");

		/* A shell action may print in front of the first comment. */
		if (hash && span_find(line, "# RTLA "))
			line = span_from(line, hash);
		line = span_trim(line);
		if (!line.len)
			continue;
		if (span_starts(line, "ALL:"))
			break; /* the sum over CPUs */
		if (*line.p == '#')
			rc = read_comment(t, r, line, reterr);
		else if (span_starts(line, "Index"))
			rc = add_columns(t, line, reterr);
		else if (span_is_elision(line))
			rc = scan_error(&t->scan, line.p, reterr,
					"rows were left out here; import the whole table");
		else if (is_summary(line))
			rc = read_summary(t, line, reterr);
		else if (span_find(line, "missed events"))
			run_note(r, "lost-events", "rtla says: %.*s", SPAN_ARG(line));
		else if (t->len && !t->summary && isdigit((unsigned char)*line.p))
			rc = read_row(t, line, reterr);
	}
	return rc;
}

/* Gives the buckets their width. */
static void widen(struct rtla *t, struct run *r)
{
	int64_t width;

	if (t->step <= 1 || __builtin_mul_overflow(t->step, t->unit, &width))
		return;
	t->width = width;
	for (size_t i = 0; i < t->len; i++) {
		struct hist *h = &t->columns[i].hist;

		h->width = width;
		for (size_t k = 0; k < h->len; k++)
			if (__builtin_add_overflow(h->b[k].lo, width, &h->b[k].hi))
				h->b[k].hi = INT64_MAX;
	}
	run_note(r, "inferred-bucket-width",
		 "rtla does not print the width of its buckets (-b): every row is a multiple of "
		 "%" PRId64 ", so they are read as that wide",
		 t->step);
}

static int rtla_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		     struct err *reterr)
{
	struct rtla t = {.o = o, .unit = NS_PER_US, .width = NS_PER_US, .last_index = -1};
	struct run *r = import_run(ret, o);
	int rc;

	scan_init(&t.scan, data, len, o);
	rc = rtla_lines(&t, r, reterr);
	if (!rc && !t.len)
		rc = err_set(reterr, ERR_INVALID,
			     "%s: no line \"Index IRQ-000 ...\": no samples, or "
			     "printed with --no-header",
			     t.scan.source);
	if (!rc)
		widen(&t, r);
	for (size_t i = 0; !rc && i < t.len; i++)
		rc = finish_column(&t, r, &t.columns[i], reterr);
	for (size_t i = 0; i < t.len; i++)
		hist_done(&t.columns[i].hist);
	free(t.columns);
	return rc;
}

static int rtla_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return span_find(head, "# RTLA ") && span_find(head, " histogram") ? 95 : 0;
}

const struct import_format import_rtla = {
	.name = "rtla",
	.title = "rtla timerlat hist or rtla osnoise hist",
	.sniff = rtla_sniff,
	.read = rtla_read,
};
