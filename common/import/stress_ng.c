/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stress-ng --cyclic: the latency distribution that it prints for each cyclic stressor.
 *
 * Only the first 250 buckets are printed, so what is missing from the number of samples is the
 * overflow, at the end of the last printed bucket. ".." rows stand for zeros. */
#include "common/import/formats.h"

#include <inttypes.h>

struct cyclic {
	struct scan scan;
	struct series *s;
	uint64_t samples;
	int64_t interval_ns, width_ns, end_ns, min_ns, max_ns;
	bool in_table, has_extremes;
};

/* The text behind "cyclic:" of a stress-ng line. */
static bool cyclic_text(struct span line, struct span *ret)
{
	const char *at = span_find(line, " cyclic:");

	if (!at)
		return false;
	*ret = span_trim(span_from(line, at + 8));
	return true;
}

/* The number behind `before` in s. */
static bool number_after(struct span s, const char *before, int64_t *ret)
{
	const char *at = span_find(s, before);
	struct span word, rest;

	if (!at)
		return false;
	rest = span_from(s, at + strlen(before));
	return span_word(&rest, &word) && span_i64(word, ret);
}

/* "sched SCHED_FIFO: 1000000 ns delay, 7589 samples" */
static bool start_block(struct cyclic *c, struct span text, struct run *r)
{
	const char *colon = span_find(text, ": ");
	struct span word, rest;
	int64_t samples;

	if (!span_starts(text, "sched ") || !number_after(text, " delay, ", &samples) ||
	    samples < 0 || !colon)
		return false;
	rest = span_from(text, colon + 2);
	c->samples = (uint64_t)samples;
	c->interval_ns = 0;
	if (span_word(&rest, &word))
		(void)span_i64(word, &c->interval_ns);
	c->in_table = c->has_extremes = false;
	c->width_ns = c->end_ns = 0;
	c->s = import_hist(r, "wakeup_latency", "stress-ng-cyclic", 0);
	c->s->interval_ns = c->interval_ns > 0 ? c->interval_ns : 0;
	c->s->hist.scheme = HIST_LINEAR;
	return true;
}

static int read_row(struct cyclic *c, struct span text, struct err *reterr)
{
	struct span latency, count;
	int64_t lo;
	uint64_t n;
	int rc;

	if (!span_word(&text, &latency) || !span_word(&text, &count))
		return 0;
	if (span_is(latency, "..")) /* "all zeros hereafter" */
		return 0;
	if (!span_i64(latency, &lo) || !span_u64(count, &n) || lo < 0)
		return scan_error(&c->scan, latency.p, reterr,
				  "not a row of latency and frequency");
	if (__builtin_add_overflow(lo, c->width_ns, &c->end_ns))
		return scan_error(&c->scan, latency.p, reterr, "the latency is too large");
	rc = hist_append(&c->s->hist, lo, c->end_ns, n, reterr);
	return rc ? scan_prefix(&c->scan, reterr) : 0;
}

static int end_block(struct cyclic *c, struct run *r, struct err *reterr)
{
	struct hist *h;
	int rc;

	if (!c->s)
		return 0;
	h = &c->s->hist;
	if (h->count > c->samples)
		return scan_error(&c->scan, NULL, reterr,
				  "the distribution sums to %" PRIu64 ", but %" PRIu64
				  " samples were taken",
				  h->count, c->samples);
	h->overflow = c->samples - h->count;
	h->overflow_lo = h->overflow ? c->end_ns : 0;
	h->count = c->samples;
	h->width = c->width_ns;
	c->s->resolution_ns = c->width_ns;
	if (!c->width_ns)
		h->scheme = HIST_EDGES;
	if (h->overflow)
		run_note(r, "unprinted-buckets",
			 "stress-ng prints the first buckets only: %" PRIu64
			 " samples are read as %" PRId64 " ns or more",
			 h->overflow, h->overflow_lo);
	rc = c->has_extremes ? import_extremes(h, c->min_ns, c->max_ns, 0, reterr) : 0;
	c->s = NULL;
	return rc ? scan_prefix(&c->scan, reterr) : 0;
}

static int read_text(struct cyclic *c, struct span text, struct run *r, struct err *reterr)
{
	int64_t max;

	if (span_starts(text, "sched ")) {
		int rc = end_block(c, r, reterr);

		if (!rc && !start_block(c, text, r))
			rc = scan_error(&c->scan, text.p, reterr, "no number of samples");
		return rc;
	}
	if (!c->s)
		return 0;
	if (span_starts(text, "min:") && number_after(text, "min:", &c->min_ns)) {
		if (number_after(text, "max:", &max)) {
			c->max_ns = max;
			c->has_extremes = true;
		}
	} else if (number_after(text, "latency distribution (", &c->width_ns)) {
		if (c->width_ns < 1)
			return scan_error(&c->scan, text.p, reterr, "the interval is not positive");
	} else if (span_starts(text, "latency (ns)")) {
		c->in_table = true;
	} else if (c->in_table) {
		return read_row(c, text, reterr);
	}
	return 0;
}

static int stress_ng_read(const char *data, size_t len, const struct import_options *o,
			  struct runs *ret, struct err *reterr)
{
	struct run *r = import_run(ret, o);
	struct cyclic c = {0};
	struct span line, text;
	int rc = 0;

	scan_init(&c.scan, data, len, o);
	while (!rc && scan_line(&c.scan, &line))
		if (cyclic_text(line, &text))
			rc = read_text(&c, text, r, reterr);
	rc = rc ? rc : end_block(&c, r, reterr);
	if (!rc && !r->series_len)
		return err_set(
			reterr, ERR_INVALID,
			"%s: no distribution of a cyclic stressor (run with --cyclic and -v)",
			c.scan.source);
	return rc;
}

static int stress_ng_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return span_find(head, "stress-ng: ") && span_find(head, " cyclic:") ? 90 : 0;
}

const struct import_format import_stress_ng = {
	.name = "stress-ng-cyclic",
	.title = "stress-ng --cyclic",
	.sniff = stress_ng_sniff,
	.read = stress_ng_read,
};
