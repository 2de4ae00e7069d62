/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison engine on runs that no box would make: the bytes are a recipe for sides, series
 * and options. Whatever comes, there is a document or an error that says something, every
 * rendering of it, and text of at most 76 ASCII columns. */
#include <math.h>

#include "common/check.h"
#include "common/compare/gate.h"
#include "common/varint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int byte(struct reader *r)
{
	return reader_left(r) ? (unsigned int)read_le(r, 1) : 0;
}

static int64_t number(struct reader *r)
{
	unsigned int b = byte(r);
	unsigned int shift = b & 63;

	return (int64_t)((((uint64_t)byte(r) << 1) | 1) << shift >> 1) & INT64_MAX;
}

static double value(struct reader *r)
{
	static const double odd[] = {0,	     1,	       1,      1.0000001, -1,	0.5,   1e308,
				     -1e308, 4.9e-324, 1e-300, 1e300,	  1e15, 1e-15, -0.0};
	unsigned int b = byte(r);

	if (b < ARRAY_LEN(odd))
		return odd[b];
	return (double)(int)(b - 128) + (double)byte(r) / 256;
}

static void fill_hist(struct reader *r, struct hist *h)
{
	unsigned int buckets = byte(r) % 12;
	int64_t at = number(r) >> (byte(r) & 63);
	struct err e;

	h->scheme = (enum hist_scheme)(byte(r) % 3);
	h->width = h->scheme == HIST_LINEAR ? 1 + (number(r) >> 20) : 0;
	h->base = 0;
	for (unsigned int i = 0; i < buckets; i++) {
		int64_t lo = at, hi, skip = number(r) >> (byte(r) & 63);

		if (h->scheme == HIST_LOG128) {
			lo = hist_slot_lo(hist_slot(lo));
			hi = hist_slot_hi(hist_slot(lo));
		} else if (h->scheme == HIST_LINEAR) {
			lo -= lo % h->width;
			if (__builtin_add_overflow(lo, h->width, &hi))
				return;
		} else if (__builtin_add_overflow(lo, 1 + (number(r) >> 30), &hi)) {
			return;
		}
		if (hist_append(h, lo, hi, (uint64_t)number(r) >> (byte(r) & 63), &e) < 0)
			return;
		if (__builtin_add_overflow(hi, skip, &at))
			return;
	}
	if (byte(r) & 1) {
		h->overflow = byte(r);
		h->overflow_lo = at;
		h->count += h->overflow;
	}
	h->lost = byte(r);
}

static void add_series(struct reader *r, struct run *run)
{
	static const char *const metrics[] = {"wakeup_latency", "elapsed", "other"};
	static const char *const methods[] = {NULL, "m/1", "m/2"};
	unsigned int b = byte(r);
	enum series_kind kind = (enum series_kind)(b % 4);
	struct series *s = run_add_series(run, metrics[(b >> 2) % 3], kind, b & 64 ? "1" : "ns");
	const char *method = methods[byte(r) % 16 < 2 ? 2 : byte(r) % 2];

	s->method = method ? xstrdup(method) : NULL;
	s->omission = (enum omission)(byte(r) % 4);
	s->interval_ns = byte(r) & 1 ? number(r) : 0;
	s->missed = byte(r);
	if (b & 128)
		labels_set(&s->labels, "cpu", b & 1 ? "0" : "1");
	if (kind == SERIES_HIST)
		fill_hist(r, &s->hist);
	else if (kind == SERIES_VALUE)
		s->value = value(r);
	else if (kind == SERIES_SUMMARY)
		s->summary = (struct summary){byte(r), value(r), value(r), value(r), fabs(value(r)),
					      b & 4,   b & 8,	 b & 16,   b & 32};
}

/* What held the CPU, as the agent's values say it. */
static void add_blame(struct reader *r, struct run *run)
{
	static const char *const causes[] = {"irq vda", "task a|b`<i>", "softirq \xc2\xb5"};
	static const char *const totals[] = {"breaches", "breaches_read", "breach_threshold"};

	for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
		struct series *s = run_add_series(run, "blame_share", SERIES_VALUE, "%");

		labels_set(&s->labels, "cause", causes[i]);
		s->value = value(r);
		s = run_add_series(run, "blame_breaches", SERIES_VALUE, "1/h");
		labels_set(&s->labels, "cause", causes[i]);
		s->value = value(r);
	}
	for (size_t i = 0; i < ARRAY_LEN(totals); i++)
		run_add_series(run, totals[i], SERIES_VALUE, "1")->value = value(r);
}

static struct run *make_run(struct reader *r)
{
	static const char *const hosts[] = {NULL, "box1", "box2", "box3"};
	struct run *run = run_new(RUN_MEASURED);
	unsigned int b = byte(r);
	const char *host = hosts[b % 64 < 8 ? b % 4 : 1];

	run->state = b & 128 && byte(r) < 32 ? RUN_FAILED : RUN_OK;
	run->host = host ? xstrdup(host) : NULL;
	run->order = byte(r) % 24;
	run->block = byte(r) % 12;
	run->started_ns = byte(r) & 1 ? number(r) : 0;
	run->measured_ns = byte(r) & 1 ? number(r) : 0;
	run->boot_id = byte(r) & 1 ? xasprintf("%u", byte(r) % 8) : NULL;
	if (byte(r) < 8)
		run->excluded = xstrdup("why");
	if (b & 64)
		labels_set(&run->factors, byte(r) < 16 ? "kernel" : "f", byte(r) & 1 ? "0" : "1");
	if (byte(r) < 16)
		run->environment = json_pack("{s:i,s:s}", "cpu.mhz", (int)byte(r), "kernel.release",
					     byte(r) & 1 ? "6.1" : "6.2");
	for (unsigned int n = 1 + byte(r) % 64 / 60; n--;)
		add_series(r, run);
	if (byte(r) < 16)
		add_blame(r, run);
	return run;
}

static void check_text(const struct strbuf *text)
{
	size_t column = 0;

	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->data[i];

		CHECK(c == '\n' || (c >= ' ' && c < 127));
		column = c == '\n' ? 0 : column + 1;
		CHECK(column <= 76);
	}
}

static void render_all(json_t *doc)
{
	static const char *const charts[] = {"histogram", "percentiles", "shift", "ccdf", "runs"};
	static const char *const rules[] = {"p99<=+5%", "mean>=-2%", "max<=200us", "p50<=3"};
	struct strbuf out = {0};
	enum gate_result result;
	struct err e;
	char *text;

	for (int mode = GATE_NORMAL; mode <= GATE_PROVE; mode++)
		for (size_t i = 0; i < ARRAY_LEN(rules); i++)
			(void)!gate_apply(doc, &rules[i], 1, (enum gate_mode)mode, &result, &e);
	compare_render_text(doc, &out);
	check_text(&out);
	strbuf_clear(&out);
	compare_render_markdown(doc, &out);
	compare_render_csv(doc, &out);
	for (size_t i = 0; i < ARRAY_LEN(charts); i++)
		(void)!compare_render_svg(doc, charts[i], i & 1, &out, &e);
	gate_render_junit(doc, &out);
	strbuf_done(&out);
	text = json_dumps(doc, 0);
	CHECK(text);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const stats[] = {"p50", "p99", "max", "min", "mean", "over(5)", NULL};
	struct reader r = reader_of(data, size);
	struct compare_options o = {.margin_rel = -1};
	struct runs runs[3] = {{0}};
	struct compare_side sides[3];
	unsigned int flags = byte(&r);
	json_t *doc = NULL;
	struct err e = {0};
	int rc;

	o.anyway = flags & 1;
	o.corrected = flags & 2;
	o.stats = flags & 4 ? stats : NULL;
	o.confidence = flags & 8 ? 0.9 : 0;
	o.margin_rel = flags & 16 ? 0 : -1;
	o.better = flags & 32 ? "lower" : NULL;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		for (unsigned int n = 1 + byte(&r) % 12; n--;)
			runs_add(&runs[i], make_run(&r));
		sides[i] = (struct compare_side){
			.name = i ? "b\xff|<" : "a", .runs = runs[i].v, .n = runs[i].len};
	}
	if (flags & 64)
		rc = compare_many(sides, 3, &o, &doc, &e);
	else if (flags & 128)
		rc = compare_single(&sides[0], &o, &doc, &e);
	else
		rc = compare_document(&sides[0], &sides[1], &o, &doc, &e);
	CHECK(rc == 0 ? doc != NULL : e.text[0] != '\0');
	if (rc == 0)
		render_all(doc);
	json_decref(doc);
	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		runs_done(&runs[i]);
	return 0;
}
