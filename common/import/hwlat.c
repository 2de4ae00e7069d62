/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hwlatdetect.
 *
 * The tracer records the largest gap of a window when it is above the threshold, so each window is
 * one sample: those without a record are below the threshold. */
#include "common/import/formats.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

struct hwlat {
	struct scan scan;
	double seconds, threshold_us, window_us;
	int64_t *ns;
	size_t len, cap;
	bool finished;
};

/* The number behind `before` on this line. */
static bool number_after(struct span line, const char *before, double *ret)
{
	const char *at = span_find(line, before);
	struct span word, rest;

	if (!at)
		return false;
	rest = span_from(line, at + strlen(before));
	if (!span_word(&rest, &word))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!isdigit((unsigned char)word.p[i]) && word.p[i] != '.') {
			word.len = i;
			break;
		}
	return span_double(word, ret);
}

/* "ts: 1610000000.123, inner:12, outer:23, ..." */
static int read_gap(struct hwlat *t, struct span line, struct err *reterr)
{
	double inner, outer;

	if (!number_after(line, "inner:", &inner) || !number_after(line, "outer:", &outer))
		return scan_error(&t->scan, line.p, reterr, "a sample without inner: and outer:");
	if (inner > 1e12 || outer > 1e12)
		return scan_error(&t->scan, line.p, reterr, "the gap is too large");
	GROW(t->ns, t->len, t->cap);
	t->ns[t->len++] = llround(fmax(inner, outer) * 1e3);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int hwlat_finish(struct hwlat *t, struct run *r, struct err *reterr)
{
	int64_t threshold;
	struct series *s;
	double windows;
	int rc = 0;

	if (!t->finished || t->threshold_us <= 0 || t->window_us <= 0 || t->seconds <= 0 ||
	    t->threshold_us > 1e9 || t->seconds > 1e9)
		return scan_error(
			&t->scan, NULL, reterr,
			"the test's duration, threshold or window is missing, or it did not end");
	threshold = llround(t->threshold_us * 1e3);
	windows = fmax(floor(t->seconds * 1e6 / t->window_us), (double)t->len);
	s = import_hist(r, "hw_latency", "hwlat", NS_PER_US);
	s->hist.scheme = HIST_EDGES;
	if (t->len)
		qsort(t->ns, t->len, sizeof(*t->ns), by_value);
	rc = hist_append(&s->hist, 0, threshold, (uint64_t)windows - t->len, reterr);
	for (size_t i = 0, k; !rc && i < t->len; i = k) {
		for (k = i; k < t->len && t->ns[k] == t->ns[i];)
			k++;
		if (t->ns[i] < threshold)
			return scan_error(&t->scan, NULL, reterr,
					  "a gap of %" PRId64 " ns is below the threshold",
					  t->ns[i]);
		rc = hist_append(&s->hist, t->ns[i], t->ns[i] + NS_PER_US, k - i, reterr);
	}
	if (t->len) {
		s->hist.max = t->ns[t->len - 1];
		s->hist.has_max = true;
	}
	r->measured_ns = duration_ns(t->seconds);
	run_note(r, "one-sample-a-window",
		 "hwlat keeps the largest gap of each window when it is above the threshold: the "
		 "other "
		 "windows are read as below %" PRId64 " ns",
		 threshold);
	return rc;
}

static int hwlat_read(const char *data, size_t len, const struct import_options *o,
		      struct runs *ret, struct err *reterr)
{
	struct run *r = import_run(ret, o);
	struct hwlat t = {.seconds = 0};
	struct span line;
	int rc = 0;

	scan_init(&t.scan, data, len, o);
	while (!rc && scan_line(&t.scan, &line)) {
		line = span_trim(line);
		(void)number_after(line, "test duration ", &t.seconds);
		(void)number_after(line, "Latency threshold:", &t.threshold_us);
		(void)number_after(line, "Sample window:", &t.window_us);
		t.finished |= span_starts(line, "Max Latency:");
		if (span_starts(line, "ts:"))
			rc = read_gap(&t, line, reterr);
	}
	rc = rc ? rc : hwlat_finish(&t, r, reterr);
	free(t.ns);
	return rc;
}

static int hwlat_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return span_find(head, "hwlatdetect:") && span_find(head, "Latency threshold") ? 90 : 0;
}

const struct import_format import_hwlat = {
	.name = "hwlatdetect",
	.title = "hwlatdetect",
	.sniff = hwlat_sniff,
	.read = hwlat_read,
};
