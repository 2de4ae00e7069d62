/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of bcc tools (runqlat, biolatency ...): "usecs : count distribution", rows
 * "lo -> hi : count |**|" with both edges inclusive; sections such as "disk = 'xvdb'" above a table
 * become labels. */
#include "common/import/bpf_maps.h"

#include <inttypes.h>
#include <stdio.h>

struct bcc {
	struct bpf_maps b;
	struct scan scan;
	struct labels section;
	const char *metric;
	struct bpf_print *table;
	int64_t unit;	    /* ns, or 1 when the values are no time */
	char unit_name[16]; /* "ns" or the tool's word */
	uint64_t backwards;
};

/* "     usecs               : count     distribution" */
static bool bcc_header(struct span line, struct span *ret_unit)
{
	struct span colon, count, distribution;

	return span_word(&line, ret_unit) && span_word(&line, &colon) && span_word(&line, &count) &&
	       span_word(&line, &distribution) && span_is(colon, ":") && span_is(count, "count") &&
	       span_is(distribution, "distribution");
}

static int bcc_start(struct bcc *t, struct span unit, struct err *reterr)
{
	double ns = unit_word_ns(unit);
	char name[sizeof(t->unit_name)];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(unit.len < 15 ? unit.len : 15),
		       ns > 0 ? "ns" : unit.p);
	if (*t->unit_name && (strcmp(name, t->unit_name) || (ns > 0 && (int64_t)ns != t->unit)))
		return scan_error(&t->scan, unit.p, reterr,
				  "tables of unlike units in one file: import each alone");
	(void)strcpy(t->unit_name, name);
	t->unit = ns > 0 ? (int64_t)ns : 1;
	t->table = bpf_maps_print(&t->b, t->metric);
	labels_copy(&t->table->labels, &t->section);
	labels_done(&t->section);
	return 0;
}

/* "lo -> hi : count |***|", or "value : count |***|"; 1 = this is no row. */
static int bcc_row(struct bcc *t, struct span line, struct err *reterr)
{
	struct span lo, word, hi, count;
	uint64_t first, last, n;
	int rc;

	if (!span_word(&line, &lo) || !span_word(&line, &word) || !span_u64(lo, &first))
		return 1;
	if (span_is(word, "->")) {
		if (!span_word(&line, &hi) || !span_word(&line, &word) || !span_u64(hi, &last))
			return 1;
	} else {
		last = first;
	}
	if (!span_is(word, ":") || !span_word(&line, &count) || !span_u64(count, &n))
		return 1;
	if (last < first || (last >= INT64_MAX && first < (uint64_t)(INT64_MAX / t->unit)))
		return scan_error(&t->scan, lo.p, reterr, "the bucket ends before it begins");
	/* completion before issue: the difference wrapped around 2^64 ns */
	if (first >= (uint64_t)(INT64_MAX / t->unit)) {
		t->backwards += n;
		rc = bpf_negative(&t->table->hist, n, reterr);
	} else {
		rc = bpf_bucket(&t->table->hist, (int64_t)first, (int64_t)last + 1, n, t->unit,
				reterr);
	}
	return rc ? scan_prefix(&t->scan, reterr) : 0;
}

/* "pid = 7", "Bucket disk = 'xvdb'", "flags = Read" */
static void bcc_section(struct bcc *t, struct span line)
{
	const char *eq = span_find(line, " = ");
	struct span key, value, word;
	char *k, *v;

	if (!eq)
		return;
	key = (struct span){line.p, (size_t)(eq - line.p)};
	(void)(span_skip(&key, "Bucket ") && span_word(&key, &word));
	value = span_trim(span_from(line, eq + 3));
	while (value.len && (*value.p == '\'' || *value.p == '"')) {
		value.p++;
		value.len--;
	}
	while (value.len && strchr("'\"", value.p[value.len - 1]))
		value.len--;
	k = span_dup((struct span){line.p, (size_t)(eq - line.p)});
	v = span_dup(value);
	labels_set(&t->section, strncmp(k, "Bucket ", 7) ? k : k + 7, v);
	free(k);
	free(v);
}

/* What the tool says it traces names the metric. */
static void bcc_hint(struct bcc *t, struct span line)
{
	static const struct {
		const char *text, *metric;
	} hints[] = {
		{"run queue latency", "runqueue_latency"},
		{"block device I/O", "io_latency"},
		{"block I/O", "io_latency"},
		{"hard irq", "irq_time"},
		{"soft irq", "softirq_time"},
	};

	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (span_find(line, hints[i].text))
			t->metric = hints[i].metric;
}

static int bcc_lines(struct bcc *t, struct err *reterr)
{
	struct span line, unit;
	int rc = 0;

	while (!rc && scan_line(&t->scan, &line)) {
		line = span_trim(line);
		if (bcc_header(line, &unit)) {
			rc = bcc_start(t, unit, reterr);
			continue;
		}
		if (t->table && line.len && span_is_elision(line))
			return scan_error(&t->scan, line.p, reterr,
					  "rows were left out here; import the whole table");
		if (t->table && line.len && *line.p >= '0' && *line.p <= '9') {
			rc = bcc_row(t, line, reterr);
			if (rc == 1) { /* a time such as 06:20:16 */
				t->table = NULL;
				rc = 0;
			}
			continue;
		}
		if (line.len)
			t->table = NULL;
		bcc_section(t, line);
		bcc_hint(t, line);
	}
	return rc;
}

static int bcc_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		    struct err *reterr)
{
	struct bcc t = {.b = {.o = o, .r = import_run(ret, o)}, .metric = "latency"};
	int rc;

	scan_init(&t.scan, data, len, o);
	rc = bcc_lines(&t, reterr);
	rc = rc ? rc : bpf_maps_add_all(&t.b, t.unit_name, t.unit, reterr);
	if (!rc && t.backwards)
		run_note(t.b.r, "clock-went-back",
			 "%" PRIu64
			 " samples in buckets of 2^63 ns and more: completions before their "
			 "issue, counted as negative",
			 t.backwards);
	labels_done(&t.section);
	bpf_maps_done(&t.b);
	return rc;
}

static int bcc_sniff(const char *data, size_t len)
{
	struct span line, unit, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (bcc_header(span_trim(line), &unit))
			return 90;
	return 0;
}

const struct import_format import_bcc = {
	.name = "bcc",
	.title = "histogram of a bcc tool (runqlat, biolatency ...)",
	.sniff = bcc_sniff,
	.read = bcc_read,
};
