/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HdrHistogram's percentile text (.hgrm), as wrk2, jHiccup and others print it.
 *
 * A row says how many samples are at or below a value, so between two rows the samples are known
 * to lie in (previous value, value] and no better: it cannot become the histogram again. Values
 * were divided by a ratio that the file does not tell. */
#include "common/import/formats.h"

#include <inttypes.h>
#include <math.h>

struct hgrm {
	struct scan scan;
	struct series *s;
	int64_t unit_ns, last_ns;
	uint64_t total;
	double max;
	uint64_t claimed;
	bool has_max, has_claimed;
};

static bool is_header(struct span line)
{
	struct span a, b, c;

	return span_word(&line, &a) && span_word(&line, &b) && span_word(&line, &c) &&
	       span_is(a, "Value") && span_is(b, "Percentile") && span_is(c, "TotalCount");
}

static int read_row(struct hgrm *g, struct span line, struct err *reterr)
{
	struct span value, percentile, count;
	uint64_t total;
	double v, p;
	int64_t ns;
	int rc = 0;

	if (!span_word(&line, &value) || !span_word(&line, &percentile) ||
	    !span_word(&line, &count) || !span_double(value, &v) || !span_double(percentile, &p) ||
	    !span_u64(count, &total))
		return scan_error(&g->scan, value.p, reterr,
				  "not a row of value, percentile and count");
	if (v < 0 || !scale_ns(v, (double)g->unit_ns, &ns) || ns == INT64_MAX)
		return scan_error(&g->scan, value.p, reterr, "the value is out of range");
	if (total < g->total || ns < g->last_ns)
		return scan_error(&g->scan, value.p, reterr,
				  "value or count falls: two tables in one?");
	if (total > g->total && ns == g->last_ns)
		return scan_error(&g->scan, value.p, reterr, "two counts for one value");
	rc = hist_append(&g->s->hist, g->last_ns + 1, ns + 1, total - g->total, reterr);
	if (rc)
		return scan_prefix(&g->scan, reterr);
	g->last_ns = ns;
	g->total = total;
	return 0;
}

/* "#[Max     =      12.345, Total count    =        5001]", maybe without its '#'. */
static void read_footer(struct hgrm *g, struct span line)
{
	const char *max = span_find(line, "Max"), *count = span_find(line, "Total count");
	struct span rest, word;

	if (!max || !count)
		return;
	rest = span_from(line, max + 3);
	if (span_word(&rest, &word) && span_word(&rest, &word)) {
		while (word.len && word.p[word.len - 1] == ',')
			word.len--;
		g->has_max = span_double(word, &g->max);
	}
	rest = span_from(line, count + 11);
	if (span_word(&rest, &word) && span_word(&rest, &word)) {
		while (word.len && word.p[word.len - 1] == ']')
			word.len--;
		g->has_claimed = span_u64(word, &g->claimed);
	}
}

static int finish(struct hgrm *g, struct err *reterr)
{
	struct hist *h = &g->s->hist;
	int64_t max;

	if (!h->count)
		return scan_error(&g->scan, NULL, reterr, "a percentile table without rows");
	if (g->has_claimed && g->claimed != g->total)
		return scan_error(&g->scan, NULL, reterr,
				  "Total count is %" PRIu64 ", but the rows end at %" PRIu64
				  ": the table is cut off",
				  g->claimed, g->total);
	if (!g->has_claimed)
		return 0;
	/* Max may be the lower end of the bucket whose upper end the last row has. */
	if (g->has_max && scale_ns(g->max, (double)g->unit_ns, &max)) {
		if (max < h->b[h->len - 1].lo)
			return scan_error(
				&g->scan, NULL, reterr,
				"Max is below the last but one row: the file contradicts itself");
		h->max = max;
		h->has_max = true;
	}
	return 0;
}

static int hgrm_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		     struct err *reterr)
{
	struct hgrm g = {.last_ns = -1};
	struct run *r = import_run(ret, o);
	bool in_table = false;
	struct span line;
	int rc =
		import_unit(r, o, 0, NS_PER_MS, "what most programs divide by", &g.unit_ns, reterr);

	scan_init(&g.scan, data, len, o);
	g.s = import_hist(r, "request_latency", "hgrm", 0);
	g.s->hist.scheme = HIST_EDGES;
	while (!rc && scan_line(&g.scan, &line)) {
		line = span_trim(line);
		if (is_header(line)) {
			if (in_table)
				return scan_error(&g.scan, NULL, reterr,
						  "a second table in one file: import each alone");
			in_table = true;
		} else if (in_table && span_is_elision(line)) {
			return scan_error(&g.scan, line.p, reterr,
					  "rows were left out here; import the whole table");
		} else if (in_table && line.len && *line.p >= '0' && *line.p <= '9' &&
			   span_count_words(line) >= 3) {
			rc = read_row(&g, line, reterr);
		} else if (line.len) {
			read_footer(&g, line);
		}
	}
	if (!rc && !in_table)
		return err_set(reterr, ERR_INVALID, "%s: no header \"Value Percentile TotalCount\"",
			       g.scan.source);
	return rc ? rc : finish(&g, reterr);
}

static int hgrm_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (is_header(span_trim(line)))
			return 90;
	return 0;
}

const struct import_format import_hgrm = {
	.name = "hgrm",
	.title = "HdrHistogram percentile text (.hgrm, wrk2)",
	.sniff = hgrm_sniff,
	.read = hgrm_read,
};
