/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies beyond the threshold, and what is known of its cause. */
#include "common/compare/document.h"
#include "common/compare/pack.h"

/* The default threshold leaves about this share of all samples beyond it ... */
#define SHARE_BEYOND 1e-3
/* ... or more, so that there are some to count. */
#define COUNT_BEYOND 100
/* So many empty buckets after the body of a single table end it. */
#define GAP_BUCKETS 2
/* A return level needs that many of its spans. */
#define SPANS_AT_LEAST 10
/* The exact binomial test sums over its outcomes. */
#define EXACT_COUNTS 1000000

/* The first bucket after the body of one linear table: where its author would draw the line. */
static int64_t after_gap(const struct hist *h)
{
	uint64_t below = h->negative;

	for (size_t i = 0; i + 1 < h->len; i++) {
		below += h->b[i].n;
		if ((double)below < 0.99 * (double)h->count)
			continue;
		if (h->b[i + 1].lo - h->b[i].hi >= GAP_BUCKETS * h->width)
			return h->b[i + 1].lo;
	}
	return 0;
}

/* 1, 2, 5, 10, ... */
static int64_t next_round(int64_t t)
{
	int64_t decade = 1;

	while (decade <= t / 10)
		decade *= 10;
	return t < 2 * decade ? 2 * decade : t < 5 * decade ? 5 * decade : 10 * decade;
}

/* From the pooled samples of both sides: it cannot favour one. */
static int64_t round_threshold(const struct cmp *c)
{
	double all = (double)(c->side[0].samples + c->side[1].samples);
	double want = fmax(COUNT_BEYOND, SHARE_BEYOND * all);
	int64_t t = 1;

	for (; t < INT64_MAX / 100; t = next_round(t)) {
		int64_t next = next_round(t);
		double above = 0;

		for (int s = 0; s < 2; s++)
			above += (double)hist_count_above(&c->side[s].pooled, next).lo;
		if (above < want)
			break;
	}
	return t;
}

void tail_threshold(struct cmp *c)
{
	const struct side *a = &c->side[0], *b = &c->side[1];

	if (c->data == DATA_VALUES || c->data == DATA_SUMMARY || !a->n || !b->n)
		return;
	for (size_t i = 0; c->o->stats && c->o->stats[i]; i++) {
		struct stat_def s;
		struct err ignored;

		if (stat_parse(c->o->stats[i], c->unit_is_ns, &s, &ignored) < 0 ||
		    s.kind != STAT_OVER)
			continue;
		c->threshold = s.threshold;
		c->threshold_basis = "given";
		return;
	}
	if (c->o->tail_threshold > 0) {
		c->threshold = c->o->tail_threshold;
		c->threshold_basis = "given";
	} else if (a->n == 1 && b->n == 1 && a->pooled.scheme == HIST_LINEAR &&
		   after_gap(&a->pooled)) {
		c->threshold = after_gap(&a->pooled);
		c->threshold_basis = "where the body of A ends (first gap in its table)";
	} else {
		c->threshold = round_threshold(c);
		c->threshold_basis =
			"round value with about 1 in 1000 samples of both sides beyond it";
	}
}

/* For single runs: what Poisson alone would allow, named naive because runs differ. */
static json_t *naive_ratio(const struct cmp *c)
{
	double x[2];

	for (int s = 0; s < 2; s++)
		x[s] = (double)hist_count_above(&c->side[s].pooled, c->threshold).lo;
	if (x[0] + x[1] > EXACT_COUNTS)
		return json_null();
	return calc_rate_ratio(x[0], (double)c->side[0].samples, x[1], (double)c->side[1].samples,
			       c->conf);
}

static json_t *side_tail(const struct cmp *c, int s)
{
	const struct side *side = &c->side[s];
	struct hist_above n = hist_count_above(&side->pooled, c->threshold);
	double share = (double)n.lo / (double)side->samples;

	return PACK("{s:I,s:I,s:I,s:o,s:o}", "above", (json_int_t)n.lo, "above_at_most",
		    (json_int_t)n.hi, "samples", (json_int_t)side->samples, "rate_per_h",
		    json_num((double)n.lo / side->hours), "exceedance", json_num(share));
}

/* "Exceeded about once an hour": what a maximum would like to be. The longest of the usual spans
 * that both sides hold ten of. */
static json_t *return_level(const struct cmp *c)
{
	static const struct {
		const char *name;
		double hours;
	} spans[] = {{"day", 24}, {"hour", 1}, {"minute", 1.0 / 60}, {"second", 1.0 / 3600}};
	double hours = fmin(c->side[0].hours, c->side[1].hours);
	size_t i = 0;
	json_t *out;

	if (!(hours > 0))
		return json_null();
	while (i < ARRAY_LEN(spans) && hours < SPANS_AT_LEAST * spans[i].hours)
		i++;
	if (i == ARRAY_LEN(spans))
		return json_null();
	out = PACK("{s:s}", "per", spans[i].name);
	for (int s = 0; s < 2; s++) {
		double beyond = c->side[s].hours / spans[i].hours;
		struct stat_def d = {.kind = STAT_QUANTILE,
				     .q = 1 - beyond / (double)c->side[s].samples};
		struct stat_value v = stat_of_hist(&d, &c->side[s].pooled);

		json_object_set_new(
			out, c->side[s].tag,
			d.q > 0 && isfinite(v.lo)
				? PACK("{s:o,s:o}", "lo", json_num(v.lo), "hi", json_num(v.hi))
				: json_null());
	}
	return out;
}

json_t *tail_json(struct cmp *c)
{
	json_t *out;

	if (!c->threshold)
		return json_null();
	out = PACK("{s:I,s:s,s:o,s:o}", "threshold_ns", (json_int_t)c->threshold, "basis",
		   c->threshold_basis, "a", side_tail(c, 0), "b", side_tail(c, 1));
	if (c->side[0].n == 1 && c->side[1].n == 1)
		json_object_set_new(out, "naive_ratio", naive_ratio(c));
	json_object_set_new(out, "return_level", return_level(c));
	json_object_set_new(out, "hypothesis", hypothesis_json(c));
	json_object_set_new(out, "blame", blame_json(c));
	return out;
}
