/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rteval's summary.xml: the histograms that it took from cyclictest or timerlat, for each core.
 *
 *   <core id="0" priority="95">
 *     <statistics> <samples>..</samples> <minimum unit="us">..</minimum> <maximum ...>
 * </statistics> <histogram nbuckets="17"> <bucket index="3" value="120"/> ... </histogram>
 *   </core>
 *
 * Only these elements are looked for; this is no XML parser. rteval leaves statistics out when the
 * maximum is above its buckets, and the <system> part is the sum of the cores. */
#include "common/import/formats.h"
#include "common/import/rt_args.h"

#include <inttypes.h>
#include <stdio.h>

struct rteval {
	struct scan scan; /* for the place: the position is `p` */
	const char *p, *end;
	struct run *r;
	const struct import_options *o;
	struct rt_args args;
	struct series *s; /* of the core that is open, NULL outside */
	uint64_t samples;
	int64_t min_us, max_us;
	bool has_samples, has_min, has_max, in_histogram, timerlat;
};

static int error_here(struct rteval *t, const char *at, struct err *reterr, const char *text)
{
	size_t line = 1;

	for (const char *c = t->scan.begin; c < at; c++)
		line += *c == '\n';
	return err_set(reterr, ERR_INVALID, "%s:%zu: %s", t->scan.source, line, text);
}

/* The next tag: name and attributes, without < and >. */
static bool next_tag(struct rteval *t, struct span *ret)
{
	const char *open = t->p < t->end ? memchr(t->p, '<', (size_t)(t->end - t->p)) : NULL;
	const char *close = open ? memchr(open, '>', (size_t)(t->end - open)) : NULL;

	if (!close)
		return false;
	*ret = (struct span){open + 1, (size_t)(close - open - 1)};
	t->p = close + 1;
	return true;
}

static bool is_tag(struct span tag, const char *name)
{
	size_t len = strlen(name);

	return span_starts(tag, name) && (tag.len == len || strchr(" \t\r\n/", tag.p[len]));
}

/* attribute="value" */
static bool attribute(struct span tag, const char *name, struct span *ret)
{
	char pattern[32];
	const char *at, *quote;

	(void)snprintf(pattern, sizeof(pattern), " %s=\"", name);
	at = span_find(tag, pattern);
	if (!at)
		return false;
	*ret = span_from(tag, at + strlen(pattern));
	quote = memchr(ret->p, '"', ret->len);
	if (!quote)
		return false;
	ret->len = (size_t)(quote - ret->p);
	return true;
}

/* The text between this tag and the next one. */
static struct span content(const struct rteval *t)
{
	const char *open = t->p < t->end ? memchr(t->p, '<', (size_t)(t->end - t->p)) : NULL;

	return span_trim((struct span){t->p, (size_t)((open ? open : t->end) - t->p)});
}

static int start_core(struct rteval *t, struct span tag, struct err *reterr)
{
	struct span id;
	char *text;

	if (!attribute(tag, "id", &id))
		return error_here(t, tag.p, reterr, "<core> without an id");
	text = span_dup(id);
	t->s = import_hist(t->r, "wakeup_latency", t->timerlat ? "rtla-timerlat" : "cyclictest",
			   NS_PER_US);
	labels_set(&t->s->labels, "cpu", text);
	free(text);
	t->s->hist.scheme = HIST_LINEAR;
	t->s->hist.width = NS_PER_US;
	t->s->omission = t->timerlat ? OMISSION_UNKNOWN : OMISSION_SKIPS_MISSED;
	t->s->interval_ns = t->timerlat ? 0 : rt_args_interval(&t->args, 0);
	t->has_samples = t->has_min = t->has_max = false;
	return 0;
}

static int read_bucket(struct rteval *t, struct span tag, struct err *reterr)
{
	struct span index, value;
	int64_t k;
	uint64_t n;
	int rc;

	if (!attribute(tag, "index", &index) || !attribute(tag, "value", &value) ||
	    !span_i64(index, &k) || !span_u64(value, &n))
		return error_here(t, tag.p, reterr, "<bucket> without index and value");
	rc = import_bucket(&t->s->hist, k, NS_PER_US, n, reterr);
	return rc ? error_here(t, tag.p, reterr, "the buckets of a core do not ascend") : 0;
}

static int end_core(struct rteval *t, const char *at, struct err *reterr)
{
	struct hist *h = &t->s->hist;
	struct series *s = t->s;
	int64_t edge = 0;

	t->s = NULL;
	if (t->has_samples && t->samples < h->count)
		return error_here(t, at, reterr,
				  "the buckets of a core sum to more than its samples");
	if (__builtin_mul_overflow(t->args.histogram, NS_PER_US, &edge))
		edge = 0;
	if (t->has_samples)
		import_overflow(t->r, s, t->o, t->samples - h->count, edge);
	if (!t->has_min || !t->has_max || t->max_us > INT64_MAX / NS_PER_US || t->min_us < 0 ||
	    t->max_us < 0 || t->min_us > t->max_us)
		return 0;
	if (import_extremes(h, t->min_us * NS_PER_US, t->max_us * NS_PER_US, 0, reterr))
		return err_prefix(reterr, "%s: ", t->scan.source);
	return 0;
}

static void read_head(struct rteval *t, struct span tag)
{
	struct span text;

	if (is_tag(tag, "cyclictest") && attribute(tag, "command_line", &text))
		rt_args_parse(text, &t->args);
	t->timerlat |= is_tag(tag, "timerlat");
	if (is_tag(tag, "node") && !t->r->host && content(t).len)
		t->r->host = span_dup(content(t));
	if (is_tag(tag, "kernel") && content(t).len && !t->r->environment) {
		char *release = span_dup(content(t));

		t->r->environment = json_object();
		(void)json_object_set_new(t->r->environment, "kernel.release",
					  json_string(release));
		free(release);
	}
}

static int read_tag(struct rteval *t, struct span tag, struct err *reterr)
{
	if (is_tag(tag, "core"))
		return start_core(t, tag, reterr);
	if (!t->s) {
		read_head(t, tag);
		return 0;
	}
	if (is_tag(tag, "/core"))
		return end_core(t, tag.p, reterr);
	if (is_tag(tag, "bucket"))
		return read_bucket(t, tag, reterr);
	if (is_tag(tag, "samples"))
		t->has_samples = span_u64(content(t), &t->samples);
	else if (is_tag(tag, "minimum"))
		t->has_min = span_i64(content(t), &t->min_us);
	else if (is_tag(tag, "maximum"))
		t->has_max = span_i64(content(t), &t->max_us);
	return 0;
}

static int rteval_read(const char *data, size_t len, const struct import_options *o,
		       struct runs *ret, struct err *reterr)
{
	struct rteval t = {.o = o, .p = data, .end = data + len};
	struct span tag;
	int rc = 0;

	scan_init(&t.scan, data, len, o);
	t.r = import_run(ret, o);
	while (!rc && next_tag(&t, &tag))
		rc = read_tag(&t, tag, reterr);
	if (!rc && t.s)
		return error_here(&t, t.end, reterr,
				  "the file ends inside a <core>: it is cut off");
	for (size_t i = 0; !rc && i < t.r->series_len; i++)
		if (!t.r->series[i].hist.count)
			rc = err_set(reterr, ERR_INVALID,
				     "%s: core %s has no histogram: rteval throws the statistics "
				     "away when "
				     "the maximum is above its buckets",
				     t.scan.source, labels_get(&t.r->series[i].labels, "cpu"));
	if (!rc && !t.r->series_len)
		return err_set(reterr, ERR_INVALID, "%s: no <core> with a histogram",
			       t.scan.source);
	return rc;
}

static int rteval_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return span_find(head, "<rteval") ? 95 : 0;
}

const struct import_format import_rteval = {
	.name = "rteval",
	.title = "rteval summary.xml",
	.sniff = rteval_sniff,
	.read = rteval_read,
};
