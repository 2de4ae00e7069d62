/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stress-ng --cyclic: the latency distribution that it prints for each cyclic stressor.
 *
 * Only the first 250 buckets are printed, so what is missing from the number of samples is the
 * overflow, at the end of the last printed bucket. ".." rows stand for zeros. */
#include "common/import/formats.h"

#include <inttypes.h>

#define STRESSORS_MAX 4096

/* What one stressor printed so far; several print at the same time. */
struct cyclic {
	uint64_t pid;
	struct hist hist;
	bool open;
	uint64_t samples;
	int64_t interval_ns, width_ns, end_ns, min_ns, max_ns;
	bool in_table, has_extremes;
};

struct stress {
	struct scan scan;
	struct run *r;
	struct cyclic *v;
	size_t len, cap;
};

/* "stress-ng: info:  [16066] cyclic: text" */
static bool cyclic_text(struct span line, uint64_t *ret_pid, struct span *ret)
{
	const char *at = span_find(line, "] cyclic:"), *open;

	if (!at)
		return false;
	open = memrchr(line.p, '[', (size_t)(at - line.p));
	if (!open || !span_u64((struct span){open + 1, (size_t)(at - open - 1)}, ret_pid))
		return false;
	*ret = span_trim(span_from(line, at + 9));
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

static struct cyclic *stressor(struct stress *t, uint64_t pid)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->v[i].pid == pid)
			return &t->v[i];
	if (t->len == STRESSORS_MAX)
		return NULL;
	GROW(t->v, t->len, t->cap);
	t->v[t->len] = (struct cyclic){.pid = pid};
	return &t->v[t->len++];
}

static int end_block(struct stress *t, struct cyclic *c, struct err *reterr)
{
	struct series *s;
	struct hist *h;
	int rc;

	if (!c->open)
		return 0;
	c->open = false;
	s = import_hist(t->r, "wakeup_latency", "stress-ng-cyclic", c->width_ns);
	s->interval_ns = c->interval_ns > 0 ? c->interval_ns : 0;
	s->hist = c->hist;
	memset(&c->hist, 0, sizeof(c->hist));
	h = &s->hist;
	if (h->count > c->samples)
		return scan_error(&t->scan, NULL, reterr,
				  "the distribution of [%" PRIu64 "] sums to %" PRIu64
				  ", but %" PRIu64 " samples were taken",
				  c->pid, h->count, c->samples);
	h->overflow = c->samples - h->count;
	h->count = c->samples;
	h->width = c->width_ns;
	if (c->width_ns) {
		h->scheme = HIST_LINEAR;
		h->overflow_lo = h->overflow ? c->end_ns : 0;
	} else { /* no --cyclic-dist: N and the extremes */
		h->scheme = HIST_EDGES;
		h->overflow_lo = c->has_extremes ? c->min_ns : 0;
	}
	if (c->width_ns && h->overflow)
		run_note(t->r, "unprinted-buckets",
			 "stress-ng prints the first buckets only: %" PRIu64
			 " samples are read as %" PRId64 " ns or more",
			 h->overflow, h->overflow_lo);
	rc = c->has_extremes ? import_extremes(h, c->min_ns, c->max_ns, 0, reterr) : 0;
	return rc ? scan_prefix(&t->scan, reterr) : 0;
}

/* "sched SCHED_FIFO: 1000000 ns delay, 7589 samples" */
static int start_block(struct stress *t, struct cyclic *c, struct span text, struct err *reterr)
{
	const char *colon = span_find(text, ": ");
	struct span word, rest;
	int64_t samples;
	int rc = end_block(t, c, reterr);

	if (rc)
		return rc;
	if (!number_after(text, " delay, ", &samples) || samples < 0 || !colon)
		return scan_error(&t->scan, text.p, reterr, "no number of samples");
	*c = (struct cyclic){.pid = c->pid, .open = true, .samples = (uint64_t)samples};
	rest = span_from(text, colon + 2);
	if (span_word(&rest, &word))
		(void)span_i64(word, &c->interval_ns);
	return 0;
}

static int read_row(struct stress *t, struct cyclic *c, struct span text, struct err *reterr)
{
	struct span latency, count;
	int64_t lo;
	uint64_t n;
	int rc;

	if (!span_word(&text, &latency) || !span_word(&text, &count))
		return 0;
	if (span_is(latency, "..")) /* "all zeros hereafter" */
		return 0;
	if (*latency.p < '0' || *latency.p > '9') {
		c->in_table = false; /* "exited [6293] (instance 0)" */
		return 0;
	}
	if (!span_i64(latency, &lo) || !span_u64(count, &n) || !c->width_ns)
		return scan_error(&t->scan, latency.p, reterr,
				  "not a row of latency and frequency");
	if (__builtin_add_overflow(lo, c->width_ns, &c->end_ns))
		return scan_error(&t->scan, latency.p, reterr, "the latency is too large");
	rc = hist_append(&c->hist, lo, c->end_ns, n, reterr);
	return rc ? scan_prefix(&t->scan, reterr) : 0;
}

static int read_text(struct stress *t, struct cyclic *c, struct span text, struct err *reterr)
{
	if (span_starts(text, "sched "))
		return start_block(t, c, text, reterr);
	if (!c->open)
		return 0;
	if (span_starts(text, "min:")) {
		c->has_extremes = number_after(text, "min:", &c->min_ns) &&
				  number_after(text, "max:", &c->max_ns);
	} else if (number_after(text, "latency distribution (", &c->width_ns)) {
		if (c->width_ns < 1)
			return scan_error(&t->scan, text.p, reterr, "the interval is not positive");
	} else if (span_starts(text, "latency (ns)")) {
		c->in_table = true;
	} else if (c->in_table) {
		return read_row(t, c, text, reterr);
	}
	return 0;
}

static int read_lines(struct stress *t, struct err *reterr)
{
	struct span line, text;
	uint64_t pid;
	int rc = 0;

	while (!rc && scan_line(&t->scan, &line)) {
		struct cyclic *c;

		if (!cyclic_text(line, &pid, &text))
			continue;
		c = stressor(t, pid);
		if (!c)
			return scan_error(&t->scan, NULL, reterr, "more than %d stressors",
					  STRESSORS_MAX);
		rc = read_text(t, c, text, reterr);
	}
	for (size_t i = 0; !rc && i < t->len; i++)
		rc = end_block(t, &t->v[i], reterr);
	return rc;
}

static int stress_ng_read(const char *data, size_t len, const struct import_options *o,
			  struct runs *ret, struct err *reterr)
{
	struct stress t = {.r = import_run(ret, o)};
	int rc;

	scan_init(&t.scan, data, len, o);
	rc = read_lines(&t, reterr);
	for (size_t i = 0; i < t.len; i++)
		hist_done(&t.v[i].hist);
	free(t.v);
	if (!rc && !t.r->series_len)
		return err_set(reterr, ERR_INVALID,
			       "%s: no distribution of a cyclic stressor (run with --cyclic and "
			       "--cyclic-dist)",
			       t.scan.source);
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
