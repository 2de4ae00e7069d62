/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysbench: "Latency (ms):" with min, max and sum, and with --histogram rows of "value |*** count".
 *
 * A row's value is the middle of a logarithmic bucket whose edges are not printed: they are read as
 * half way to the neighbours. */
#include "common/import/formats.h"

#include <inttypes.h>
#include <math.h>

struct sysbench {
	struct scan scan;
	double *values;
	uint64_t *counts;
	size_t len;
	double min_ms, max_ms, sum_ms, events, seconds;
	bool has_min, has_max, has_sum, in_histogram, in_latency;
};

static bool value_behind(struct span line, const char *name, double *ret)
{
	struct span word;

	return span_skip(&line, name) && span_word(&line, &word) && span_double(word, ret);
}

/* "       0.053 |***                   123" */
static bool histogram_row(struct span line, double *ret_value, uint64_t *ret_n)
{
	struct span value, bar, count = {NULL, 0};
	struct span word;

	if (!span_word(&line, &value) || !span_word(&line, &bar) || *bar.p != '|' ||
	    !span_double(value, ret_value))
		return false;
	while (span_word(&line, &word))
		count = word;
	return count.len && span_u64(count, ret_n);
}

static void sysbench_row(struct sysbench *t, double value, uint64_t n)
{
	size_t cap = t->len;

	if (!(t->len & (t->len + 1)) || !t->len) {
		t->values = xrealloc(t->values, (t->len + 1) * 2, sizeof(*t->values));
		t->counts = xrealloc(t->counts, (t->len + 1) * 2, sizeof(*t->counts));
	}
	t->values[cap] = value;
	t->counts[cap] = n;
	t->len++;
}

static int sysbench_line(struct sysbench *t, struct span line, struct err *reterr)
{
	double value;
	uint64_t n;

	line = span_trim(line);
	if (span_starts(line, "Latency histogram"))
		t->in_histogram = true;
	else if (span_starts(line, "Latency (ms)"))
		t->in_latency = true;
	else if (span_starts(line, "Threads fairness"))
		t->in_latency = false;
	if (t->in_histogram && histogram_row(line, &value, &n)) {
		if (value <= 0 || value > 1e9 || (t->len && value <= t->values[t->len - 1]))
			return scan_error(&t->scan, line.p, reterr, "the values do not ascend");
		sysbench_row(t, value, n);
	} else if (t->in_histogram && line.len && !span_starts(line, "value") &&
		   !span_starts(line, "Latency histogram")) {
		t->in_histogram = false;
	}
	(void)value_behind(line, "total number of events:", &t->events);
	if (span_starts(line, "total time:")) {
		struct span word, rest = span_from(line, line.p + 11);

		if (span_word(&rest, &word) && word.len > 1 && word.p[word.len - 1] == 's') {
			word.len--;
			(void)span_double(word, &t->seconds);
		}
	}
	if (t->in_latency) {
		t->has_min |= value_behind(line, "min:", &t->min_ms);
		t->has_max |= value_behind(line, "max:", &t->max_ms);
		t->has_sum |= value_behind(line, "sum:", &t->sum_ms);
	}
	return 0;
}

static int sysbench_buckets(const struct sysbench *t, struct hist *h, struct err *reterr)
{
	int64_t lo = 0;
	int rc = 0;

	h->scheme = HIST_EDGES;
	for (size_t i = 0; !rc && i < t->len; i++) {
		double next = i + 1 < t->len ? t->values[i + 1] : t->values[i] * t->values[i];
		int64_t hi;

		/* the geometric middle between neighbours */
		if (i + 1 == t->len)
			next = t->len > 1 ? next / t->values[i - 1] : t->values[i] * 2;
		if (!scale_ns(sqrt(t->values[i] * next), 1e6, &hi))
			return err_set(reterr, ERR_INVALID, "%s: a latency of %g ms",
				       t->scan.source, t->values[i]);
		rc = hist_append(h, lo, ++hi, t->counts[i], reterr);
		lo = hi;
	}
	return rc;
}

static int sysbench_finish(struct sysbench *t, struct run *r, struct err *reterr)
{
	struct series *s;

	if (!t->has_min || !t->has_max || t->events < 1 || t->events > 9e15 || t->min_ms < 0 ||
	    t->min_ms > t->max_ms || t->max_ms > 1e12)
		return scan_error(&t->scan, NULL, reterr,
				  "no number of events, or no min and max of the latency");
	r->measured_ns = duration_ns(t->seconds);
	if (r->measured_ns) {
		import_value(r, "ops_per_second", "1/s", t->events / t->seconds)->method =
			xstrdup("sysbench");
	}
	if (!t->len) {
		(void)import_range(r, "request_latency", "sysbench", (uint64_t)t->events,
				   llround(t->min_ms * 1e6), llround(t->max_ms * 1e6));
		return 0;
	}
	s = import_hist(r, "request_latency", "sysbench", 0);
	if (sysbench_buckets(t, &s->hist, reterr))
		return err_prefix(reterr, "%s: ", t->scan.source);
	if ((double)s->hist.count != t->events)
		return scan_error(&t->scan, NULL, reterr,
				  "the histogram sums to %" PRIu64 ", but %.0f events are reported",
				  s->hist.count, t->events);
	run_note(r, "inferred-edges",
		 "sysbench prints the middle of each bucket only; its edges are read as half way "
		 "to its "
		 "neighbours");
	return 0;
}

static int sysbench_read(const char *data, size_t len, const struct import_options *o,
			 struct runs *ret, struct err *reterr)
{
	struct run *r = import_run(ret, o);
	struct sysbench t = {.len = 0};
	struct span line;
	int rc = 0;

	scan_init(&t.scan, data, len, o);
	while (!rc && scan_line(&t.scan, &line))
		rc = sysbench_line(&t, line, reterr);
	rc = rc ? rc : sysbench_finish(&t, r, reterr);
	free(t.values);
	free(t.counts);
	return rc;
}

static int sysbench_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return span_find(head, "Latency (ms):") && span_find(head, "total number of events:") ? 85
											      : 0;
}

const struct import_format import_sysbench = {
	.name = "sysbench",
	.title = "sysbench with its latency",
	.sniff = sysbench_sniff,
	.read = sysbench_read,
};
