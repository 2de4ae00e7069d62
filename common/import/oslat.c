/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oslat's text.
 *
 *         Core:	 0 1
 *     001 (us):	 34564643 34338482	upper edges: [0, 1) us
 *     032 (us):	 696 694 (including overflows)
 *      Minimum:	 1 1 (us)	rounded up to whole us, as is the maximum
 *
 * With -W the edges have decimals, and the unit of minimum and maximum is not certain (the JSON of
 * the same version writes ns there), so they are left out. */
#include "common/import/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define CPUS_MAX 8192

struct oslat {
	struct scan scan;
	int64_t *cpus, *max;
	size_t len, max_len;
	struct hist *hists;
	int64_t last_ns, step_ns; /* upper edge of the last row, smallest step between rows */
	bool decimals;
	double seconds;
};

/* "\t Name:\t 1 2 3 (us)" -> the text behind the colon; false when the line has another name. */
static bool named(struct span line, const char *name, struct span *ret)
{
	line = span_trim(line);
	if (!span_skip(&line, name))
		return false;
	line = span_trim(line);
	if (!span_skip(&line, ":"))
		return false;
	*ret = line;
	return true;
}

static int read_cores(struct oslat *t, struct span values, struct err *reterr)
{
	struct span word;
	size_t cap = 0;
	int64_t cpu;

	if (t->len)
		return scan_error(&t->scan, NULL, reterr, "a second table in one file");
	while (span_word(&values, &word)) {
		if (!span_i64(word, &cpu) || cpu < 0 || t->len == CPUS_MAX)
			return scan_error(&t->scan, word.p, reterr, "'%.*s' is not a CPU",
					  SPAN_ARG(word));
		GROW(t->cpus, t->len, cap);
		t->cpus[t->len++] = cpu;
	}
	if (!t->len)
		return scan_error(&t->scan, NULL, reterr, "no core was measured");
	t->hists = xcalloc(t->len, sizeof(*t->hists));
	for (size_t i = 0; i < t->len; i++)
		t->hists[i].scheme = HIST_EDGES;
	return 0;
}

/* "001 (us):\t 24 123", "000.500 (us): ..." */
static bool row_start(struct oslat *t, struct span line, int64_t *ret_hi, struct span *ret_values)
{
	struct span edge, word;
	double us;

	if (!span_word(&line, &edge) || !span_double(edge, &us) || us <= 0 ||
	    !span_word(&line, &word) || !span_is(word, "(us):") || !scale_ns(us, 1e3, ret_hi))
		return false;
	t->decimals |= span_decimals(edge) > 0;
	*ret_values = line;
	return true;
}

/* Buckets get their lower edge when the step between rows is known. */
static int read_row(struct oslat *t, int64_t hi, struct span values, struct err *reterr)
{
	bool open = span_find(values, "(including overflows)") != NULL;
	struct span word;
	size_t i = 0;
	uint64_t n;

	if (hi <= t->last_ns)
		return scan_error(&t->scan, NULL, reterr, "the rows do not ascend");
	if (!t->step_ns || hi - t->last_ns < t->step_ns)
		t->step_ns = hi - t->last_ns;
	t->last_ns = hi;
	for (; span_word(&values, &word) && *word.p != '('; i++) {
		int rc = 0;

		if (i >= t->len || !span_u64(word, &n))
			return scan_error(&t->scan, word.p, reterr,
					  "'%.*s' is not a count of a core", SPAN_ARG(word));
		if (!open) {
			rc = hist_append(&t->hists[i], hi - 1, hi, n, reterr);
		} else if (n) {
			t->hists[i].overflow = n;
			t->hists[i].overflow_lo = hi;
			if (__builtin_add_overflow(t->hists[i].count, n, &t->hists[i].count))
				rc = err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
		}
		if (rc)
			return scan_prefix(&t->scan, reterr);
	}
	return i == t->len
		       ? 0
		       : scan_error(&t->scan, NULL, reterr, "%zu counts for %zu cores", i, t->len);
}

static int read_max(struct oslat *t, struct span values, struct err *reterr)
{
	struct span word;

	free(t->max);
	t->max = xcalloc(t->len + 1, sizeof(*t->max));
	for (t->max_len = 0; span_word(&values, &word) && *word.p != '('; t->max_len++)
		if (t->max_len >= t->len || !span_i64(word, &t->max[t->max_len]))
			return scan_error(&t->scan, word.p, reterr, "'%.*s' is not a maximum",
					  SPAN_ARG(word));
	return 0;
}

static int oslat_line(struct oslat *t, struct span line, struct err *reterr)
{
	struct span values, word;
	int64_t hi;

	if (named(line, "Core", &values))
		return read_cores(t, values, reterr);
	if (!t->len)
		return 0;
	if (row_start(t, line, &hi, &values))
		return read_row(t, hi, values, reterr);
	if (named(line, "Maximum", &values))
		return read_max(t, values, reterr);
	if (named(line, "Duration", &values) && span_word(&values, &word))
		(void)span_double(word, &t->seconds);
	if (span_is_elision(line))
		return scan_error(&t->scan, line.p, reterr,
				  "rows were left out here; import the whole table");
	return 0;
}

static void widen(struct hist *h, int64_t width)
{
	for (size_t i = 0; i < h->len; i++)
		h->b[i].lo = h->b[i].hi - width;
	h->overflow_lo -= h->overflow ? width : 0;
}

static int finish_core(struct oslat *t, size_t i, struct run *r, struct err *reterr)
{
	int64_t width = t->decimals ? t->step_ns : NS_PER_US, max;
	struct series *s = import_hist(r, "os_noise", "oslat", width);
	char label[24];

	(void)snprintf(label, sizeof(label), "%" PRId64, t->cpus[i]);
	labels_set(&s->labels, "cpu", label);
	s->hist = t->hists[i];
	memset(&t->hists[i], 0, sizeof(t->hists[i]));
	widen(&s->hist, width);
	if (t->decimals)
		return 0;
	if (__builtin_mul_overflow(t->max[i], NS_PER_US, &max) ||
	    import_extremes(&s->hist, 0, max, width, reterr))
		return err_prefix(reterr, "%s: core %s: ", t->scan.source, label);
	s->hist.has_min = false; /* rounded up */
	return 0;
}

static int oslat_finish(struct oslat *t, struct run *r, struct err *reterr)
{
	int rc = 0;

	if (!t->len)
		return err_set(reterr, ERR_INVALID, "%s: no line \"Core:\" of oslat",
			       t->scan.source);
	if (t->max_len != t->len)
		return scan_error(&t->scan, NULL, reterr, "the file ends before \"Maximum:\"");
	if (!t->last_ns)
		return scan_error(&t->scan, NULL, reterr, "no row of a histogram");
	r->measured_ns = duration_ns(t->seconds);
	for (size_t i = 0; !rc && i < t->len; i++)
		rc = finish_core(t, i, r, reterr);
	if (t->decimals)
		run_note(r, "mixed-units",
			 "with -W the unit of oslat's minimum and maximum is not certain; they are "
			 "left out");
	return rc;
}

static int oslat_read(const char *data, size_t len, const struct import_options *o,
		      struct runs *ret, struct err *reterr)
{
	struct run *r = import_run(ret, o);
	struct oslat t = {.len = 0};
	struct span line;
	int rc = 0;

	scan_init(&t.scan, data, len, o);
	while (!rc && scan_line(&t.scan, &line))
		rc = oslat_line(&t, line, reterr);
	rc = rc ? rc : oslat_finish(&t, r, reterr);
	for (size_t i = 0; t.hists && i < t.len; i++)
		hist_done(&t.hists[i]);
	free(t.hists);
	free(t.cpus);
	free(t.max);
	return rc;
}

static int oslat_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return span_find(head, "(us):") && span_find(head, "Core:") ? 90 : 0;
}

const struct import_format import_oslat = {
	.name = "oslat",
	.title = "oslat (text)",
	.sniff = oslat_sniff,
	.read = oslat_read,
};
