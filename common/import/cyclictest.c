/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text histogram of cyclictest and cyclicdeadline (-h, -H, --histfile), whatever stands around
 * it: banner, live lines, mail quoting, indentation.
 *
 *   # Histogram
 *   000012 000517<TAB>000222 ...	bucket k = [k, k+1), a column a thread
 *   # Total: / # Min Latencies: / # Avg / # Max / # Histogram Overflows:
 *
 * With -H a last column holds the sum (and Total, Max and Overflows have it too), so the number
 * of threads is the number of Min values. Since 2.7 empty rows are left out and there is no
 * Total, so the histogram's edge is not in the file. */
#include "common/import/formats.h"
#include "common/import/rt_args.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#define THREADS_MAX 4096
/* cyclictest's min starts here and stays when every latency is larger. */
#define MIN_UNTOUCHED 1000000

/* One footer line: a value for each thread, or one more (the sum). */
struct footer {
	int64_t *v;
	size_t len;
	size_t line; /* 0 = absent */
	bool out_of_range;
};

struct cyclic {
	struct scan scan;
	const struct import_options *o;
	struct hist *hists; /* a column each */
	size_t columns;
	int64_t unit_ns, last_index;
	bool dense; /* every row from 0 on is there */
	struct footer total, min, avg, max, overflow;
	struct rt_args args;
	json_t *cycles; /* numbers of the cycles that overflowed, a list a thread */
};

/* Blanks and mail quotes in front of a line. */
static struct span unquote(struct span line)
{
	while (line.len && (isspace((unsigned char)*line.p) || *line.p == '>')) {
		line.p++;
		line.len--;
	}
	return span_trim(line);
}

static int start_columns(struct cyclic *c, struct span row, struct err *reterr)
{
	size_t words = span_count_words(row);

	if (words < 2 || words - 1 > THREADS_MAX)
		return scan_error(&c->scan, row.p, reterr,
				  "a histogram row needs an index and 1 to %d counts", THREADS_MAX);
	c->columns = words - 1;
	c->hists = xcalloc(c->columns, sizeof(*c->hists));
	for (size_t i = 0; i < c->columns; i++) {
		c->hists[i].scheme = HIST_LINEAR;
		c->hists[i].width = c->unit_ns;
	}
	c->last_index = -1;
	c->dense = true;
	return 0;
}

static int read_row(struct cyclic *c, struct span row, struct err *reterr)
{
	struct span word, rest = row;
	int64_t index;
	size_t i = 0;
	uint64_t n;
	int rc;

	if (!c->columns) {
		rc = start_columns(c, row, reterr);
		if (rc)
			return rc;
	}
	if (!span_word(&rest, &word) || !span_i64(word, &index))
		return scan_error(&c->scan, word.p, reterr, "'%.*s' is not a bucket",
				  SPAN_ARG(word));
	if (index <= c->last_index)
		return scan_error(&c->scan, word.p, reterr,
				  "bucket %" PRId64 " after bucket %" PRId64 ": two files in one?",
				  index, c->last_index);
	c->dense = c->dense && index == c->last_index + 1;
	c->last_index = index;
	for (; span_word(&rest, &word); i++) {
		if (!span_u64(word, &n))
			return scan_error(&c->scan, word.p, reterr, "'%.*s' is not a count",
					  SPAN_ARG(word));
		if (i >= c->columns)
			break;
		rc = n ? import_bucket(&c->hists[i], index, c->unit_ns, n, reterr) : 0;
		if (rc)
			return scan_prefix(&c->scan, reterr);
	}
	if (i != c->columns)
		return scan_error(&c->scan, row.p, reterr, "%zu counts; the rows above have %zu",
				  span_count_words(row) - 1, c->columns);
	return 0;
}

static int read_footer(struct cyclic *c, struct span values, struct footer *ret, struct err *reterr)
{
	size_t cap = 0;
	struct span word;

	if (ret->line)
		return scan_error(&c->scan, NULL, reterr,
				  "the same footer again (first in line %zu): two files in one?",
				  ret->line);
	ret->line = c->scan.no;
	while (span_word(&values, &word)) {
		uint64_t unsigned_value;
		int64_t v = 0;

		/* A clock that went back makes a negative difference, printed as 2^64 - n. */
		if (!span_i64(word, &v)) {
			if (!span_u64(word, &unsigned_value))
				return scan_error(&c->scan, word.p, reterr,
						  "'%.*s' is not a number", SPAN_ARG(word));
			ret->out_of_range = true;
			v = -1;
		}
		if (ret->len > THREADS_MAX)
			return scan_error(&c->scan, word.p, reterr, "more than %d threads",
					  THREADS_MAX);
		GROW(ret->v, ret->len, cap);
		ret->v[ret->len++] = v;
	}
	return 0;
}

/* "# Thread 0: 00126 00132 # 00586 others" */
static void read_cycle_numbers(struct cyclic *c, struct span line)
{
	json_t *list = json_array();
	const char *colon = memchr(line.p, ':', line.len);
	struct span word, rest = colon ? span_from(line, colon + 1) : line;
	uint64_t n;

	while (colon && span_word(&rest, &word) && span_u64(word, &n))
		(void)json_array_append_new(list, json_integer((json_int_t)n));
	if (!c->cycles)
		c->cycles = json_array();
	(void)json_array_append_new(c->cycles, list);
}

static int read_comment(struct cyclic *c, struct span line, struct err *reterr)
{
	const struct {
		const char *text;
		struct footer *footer;
	} footers[] = {
		{"# Total:", &c->total},
		{"# Min Latencies:", &c->min},
		{"# Avg Latencies:", &c->avg},
		{"# Max Latencies:", &c->max},
		{"# Histogram Overflows:", &c->overflow},
	};
	struct span rest = line;

	for (size_t i = 0; i < ARRAY_LEN(footers); i++)
		if (span_skip(&rest, footers[i].text))
			return read_footer(c, rest, footers[i].footer, reterr);
	if (span_starts(line, "# Thread "))
		read_cycle_numbers(c, line);
	if (span_starts(line, "# Histogram") && !span_find(line, "cycle number"))
		return scan_error(&c->scan, NULL, reterr,
				  "a second histogram in one file: split it, or import each alone");
	return 0;
}

/* The command line, if a comment before the histogram has it. */
static void look_for_command(struct cyclic *c, struct span line)
{
	const char *at = span_find(line, "cyclictest ");

	if (at && !c->args.program.len)
		rt_args_parse(span_from(line, at), &c->args);
}

/* Live lines end with cursor codes and may share the line. */
static bool is_start(struct span line)
{
	const char *at = span_find(line, "# Histogram");

	return at && span_is(span_from(line, at), "# Histogram");
}

static bool find_histogram(struct cyclic *c)
{
	struct span line;

	while (scan_line(&c->scan, &line)) {
		line = unquote(line);
		if (is_start(line))
			return true;
		look_for_command(c, line);
	}
	return false;
}

static int read_lines(struct cyclic *c, struct err *reterr)
{
	struct span line;
	int rc = 0;

	while (!rc && scan_line(&c->scan, &line)) {
		line = unquote(line);
		if (!line.len)
			continue;
		if (span_is_elision(line))
			return scan_error(&c->scan, line.p, reterr,
					  "rows were left out here (\"%.*s\"): no quantile can be "
					  "computed; import the whole file",
					  SPAN_ARG(line));
		if (*line.p == '#')
			rc = read_comment(c, line, reterr);
		else if (isdigit((unsigned char)*line.p) && !c->min.line)
			rc = read_row(c, line, reterr);
		else if (!c->min.line)
			return scan_error(&c->scan, line.p, reterr,
					  "'%.*s' is neither a histogram row nor a footer",
					  SPAN_ARG(line));
	}
	return rc;
}

static int footer_width(struct cyclic *c, const struct footer *f, const char *name, size_t threads,
			bool may_have_sum, struct err *reterr)
{
	if (!f->line || f->len == threads || (may_have_sum && f->len == threads + 1))
		return 0;
	c->scan.no = f->line;
	return scan_error(&c->scan, NULL, reterr, "%s has %zu values for %zu threads", name, f->len,
			  threads);
}

/* The last column of -H repeats the sum of the others. */
static int check_sum_column(struct cyclic *c, size_t threads, struct err *reterr)
{
	uint64_t sum = 0;

	if (c->columns != threads + 1)
		return 0;
	for (size_t i = 0; i < threads; i++)
		sum += c->hists[i].count;
	if (sum == c->hists[threads].count)
		return 0;
	return scan_error(&c->scan, NULL, reterr,
			  "the last column sums to %" PRIu64 ", but the threads to %" PRIu64,
			  c->hists[threads].count, sum);
}

static int check_shape(struct cyclic *c, struct err *reterr)
{
	size_t threads = c->min.len;
	int rc;

	if (!c->min.line || !c->max.line)
		return scan_error(
			&c->scan, NULL, reterr,
			"the file ends before its footers (Min and Max Latencies): it is cut off");
	if (!threads)
		return scan_error(&c->scan, NULL, reterr, "no thread was measured");
	if (!c->columns) { /* every sample overflowed, and empty rows are left out */
		c->columns = threads;
		c->hists = xcalloc(threads, sizeof(*c->hists));
		for (size_t i = 0; i < threads; i++) {
			c->hists[i].scheme = HIST_LINEAR;
			c->hists[i].width = c->unit_ns;
		}
		c->last_index = -1;
	}
	if (c->columns != threads && c->columns != threads + 1)
		return scan_error(&c->scan, NULL, reterr, "%zu columns of counts for %zu threads",
				  c->columns, threads);
	rc = footer_width(c, &c->max, "Max Latencies", threads, true, reterr);
	rc = rc ? rc : footer_width(c, &c->total, "Total", threads, true, reterr);
	rc = rc ? rc : footer_width(c, &c->avg, "Avg Latencies", threads, false, reterr);
	rc = rc ? rc : footer_width(c, &c->overflow, "Histogram Overflows", threads, true, reterr);
	return rc ? rc : check_sum_column(c, threads, reterr);
}

static int64_t overflow_edge(const struct cyclic *c)
{
	int64_t edge = c->args.histogram;

	if (c->dense && c->last_index > 0)
		edge = c->last_index + 1;
	return __builtin_mul_overflow(edge, c->unit_ns, &edge) ? 0 : edge;
}

static int set_extremes(struct cyclic *c, struct run *r, struct hist *h, size_t i,
			struct err *reterr)
{
	int64_t min = c->min.v[i], max = c->max.v[i];

	if (!h->count)
		return 0;
	if (max < 0) {
		run_note(r, "clock-went-back",
			 "thread %zu: a negative latency was printed as a huge number; it is "
			 "counted "
			 "in the overflow and the maximum is not known",
			 i);
		return 0;
	}
	if (__builtin_mul_overflow(min, c->unit_ns, &min) ||
	    __builtin_mul_overflow(max, c->unit_ns, &max))
		return scan_error(&c->scan, NULL, reterr, "thread %zu: the latency is too large",
				  i);
	if (c->min.v[i] == MIN_UNTOUCHED && c->max.v[i] > MIN_UNTOUCHED && !h->len) {
		h->max = max;
		h->has_max = true;
		return 0;
	}
	if (import_extremes(h, min, max, 0, reterr))
		return err_prefix(reterr, "%s:%zu: thread %zu: ", c->scan.source, c->max.line, i);
	return 0;
}

static int add_thread(struct cyclic *c, struct run *r, size_t i, struct err *reterr)
{
	struct series *s = import_hist(r, "wakeup_latency", "cyclictest", c->unit_ns);
	int64_t overflow = c->overflow.line ? c->overflow.v[i] : 0;
	char label[24];

	(void)snprintf(label, sizeof(label), "%zu", i);
	labels_set(&s->labels, "thread", label);
	s->omission = OMISSION_SKIPS_MISSED;
	s->interval_ns = rt_args_interval(&c->args, i);
	s->hist = c->hists[i];
	memset(&c->hists[i], 0, sizeof(c->hists[i]));
	if (c->total.line && (uint64_t)c->total.v[i] != s->hist.count)
		return err_set(reterr, ERR_INVALID,
			       "%s:%zu: Total says %" PRId64
			       " for thread %zu, but its column sums to "
			       "%" PRIu64 ": rows are missing",
			       c->scan.source, c->total.line, c->total.v[i], i, s->hist.count);
	if (overflow < 0)
		return err_set(reterr, ERR_INVALID, "%s:%zu: negative overflow", c->scan.source,
			       c->overflow.line);
	import_overflow(r, s, c->o, (uint64_t)overflow, overflow_edge(c));
	return set_extremes(c, r, &s->hist, i, reterr);
}

static int make_run(struct cyclic *c, struct run *r, struct err *reterr)
{
	json_t *avg = json_array();
	int rc = check_shape(c, reterr);

	for (size_t i = 0; !rc && i < c->min.len; i++)
		rc = add_thread(c, r, i, reterr);
	for (size_t i = 0; !rc && i < c->avg.len; i++)
		(void)json_array_append_new(avg, json_integer((json_int_t)c->avg.v[i]));
	import_extra(r, "avg", avg);
	if (c->cycles)
		import_extra(r, "overflow_cycles", json_incref(c->cycles));
	if (!c->overflow.line)
		run_note(r, "no-overflow-count",
			 "the file has no line \"Histogram Overflows\": samples above the last "
			 "bucket "
			 "may be missing");
	return rc;
}

static void cyclic_done(struct cyclic *c)
{
	struct footer *footers[] = {&c->total, &c->min, &c->avg, &c->max, &c->overflow};

	for (size_t i = 0; i < ARRAY_LEN(footers); i++)
		free(footers[i]->v);
	for (size_t i = 0; c->hists && i < c->columns; i++)
		hist_done(&c->hists[i]);
	free(c->hists);
	json_decref(c->cycles);
}

static int cyclictest_read(const char *data, size_t len, const struct import_options *o,
			   struct runs *ret, struct err *reterr)
{
	struct cyclic c = {.o = o};
	struct run *r;
	int rc;

	scan_init(&c.scan, data, len, o);
	if (!find_histogram(&c))
		return err_set(reterr, ERR_INVALID,
			       "%s: no line \"# Histogram\": run cyclictest with -h or -H",
			       c.scan.source);
	r = import_run(ret, o);
	rt_args_tags(r, &c.args);
	rc = import_unit(r, o, c.args.nanoseconds ? 1 : 0, NS_PER_US,
			 "cyclictest's default; with -N it prints nanoseconds", &c.unit_ns, reterr);
	rc = rc ? rc : read_lines(&c, reterr);
	rc = rc ? rc : make_run(&c, r, reterr);
	cyclic_done(&c);
	return rc;
}

static int cyclictest_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (is_start(unquote(line)))
			return 95;
	return 0;
}

const struct import_format import_cyclictest = {
	.name = "cyclictest",
	.title = "cyclictest or cyclicdeadline histogram (text)",
	.sniff = cyclictest_sniff,
	.read = cyclictest_read,
};
