/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/bpf_maps.h"

struct bpf_print *bpf_maps_print(struct bpf_maps *b, const char *metric)
{
	struct bpf_print *p;

	GROW(b->prints, b->len, b->cap);
	p = &b->prints[b->len++];
	memset(p, 0, sizeof(*p));
	p->metric = xstrdup(metric);
	p->hist.scheme = HIST_EDGES;
	return p;
}

void bpf_maps_done(struct bpf_maps *b)
{
	for (size_t i = 0; i < b->len; i++) {
		free(b->prints[i].metric);
		labels_done(&b->prints[i].labels);
		hist_done(&b->prints[i].hist);
	}
	free(b->prints);
}

/* No bucket of `before` is larger than the same one of `after`. */
static bool grows(const struct hist *before, const struct hist *after)
{
	size_t k = 0;

	if (before->overflow > after->overflow || before->negative > after->negative)
		return false;
	for (size_t i = 0; i < before->len; i++) {
		while (k < after->len && after->b[k].lo < before->b[i].lo)
			k++;
		if (k == after->len || after->b[k].lo != before->b[i].lo ||
		    after->b[k].n < before->b[i].n)
			return false;
	}
	return true;
}

static bool same_map(const struct bpf_print *a, const struct bpf_print *b)
{
	return !strcmp(a->metric, b->metric) && labels_equal(&a->labels, &b->labels);
}

int bpf_maps_check(const struct bpf_maps *b, struct err *reterr)
{
	if (b->scalars_left_out)
		return err_set(reterr, ERR_LIMIT, "%s: more than %d values of maps",
			       import_source(b->o), BPF_PRINTS_MAX);
	if (b->len <= BPF_PRINTS_MAX)
		return 0;
	return err_set(reterr, ERR_LIMIT, "%s: %zu histograms in one file; at most %d are read",
		       import_source(b->o), b->len, BPF_PRINTS_MAX);
}

int bpf_maps_add(struct bpf_maps *b, size_t first, const char *unit, int64_t resolution,
		 struct err *reterr)
{
	struct bpf_print *p = &b->prints[first];
	bool cumulative = true;
	size_t prints = 1, last = first;
	struct series *s;
	int rc = 0;

	for (size_t i = first + 1; i < b->len; i++) {
		if (!b->prints[i].metric || !same_map(p, &b->prints[i]))
			continue;
		cumulative = cumulative && grows(&b->prints[last].hist, &b->prints[i].hist);
		last = i;
		prints++;
	}
	s = run_add_series(b->r, p->metric, SERIES_HIST, unit);
	labels_copy(&s->labels, &p->labels);
	s->resolution_ns = resolution;
	s->hist.scheme = HIST_EDGES;
	if (prints > 1)
		run_note(b->r, cumulative ? "inferred-cumulative" : "inferred-intervals",
			 "%s was printed %zu times; %s", p->metric, prints,
			 cumulative
				 ? "no bucket ever falls, so the last print is taken as everything"
				 : "buckets fall, so the prints are taken as intervals and added "
				   "up");
	for (size_t i = first; !rc && i < b->len; i++) {
		struct bpf_print *other = &b->prints[i];

		if (!other->metric || !same_map(p, other))
			continue;
		if (!cumulative || i == last)
			rc = hist_merge(&s->hist, &other->hist, reterr);
		if (i == first)
			continue;
		free(other->metric);
		other->metric = NULL;
	}
	return rc;
}

int bpf_maps_add_all(struct bpf_maps *b, const char *unit, int64_t resolution, struct err *reterr)
{
	int rc = bpf_maps_check(b, reterr);

	for (size_t i = 0; !rc && i < b->len; i++)
		if (b->prints[i].metric && b->prints[i].hist.count)
			rc = bpf_maps_add(b, i, unit, resolution, reterr);
	return rc;
}

int bpf_bucket(struct hist *h, int64_t lo, int64_t hi, uint64_t n, int64_t unit, struct err *reterr)
{
	if (__builtin_mul_overflow(lo, unit, &lo) || __builtin_mul_overflow(hi, unit, &hi))
		return err_set(reterr, ERR_LIMIT, "a bucket leaves the range of 292 years");
	return hist_append(h, lo, hi, n, reterr);
}

int bpf_negative(struct hist *h, uint64_t n, struct err *reterr)
{
	h->negative += n;
	if (__builtin_add_overflow(h->count, n, &h->count))
		return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
	return 0;
}

int bpf_overflow(struct hist *h, int64_t lo, uint64_t n, int64_t unit, struct err *reterr)
{
	if (__builtin_mul_overflow(lo, unit, &h->overflow_lo) || h->overflow)
		return err_set(reterr, ERR_INVALID,
			       "a second open bucket, or one that is out of range");
	h->overflow = n;
	if (!n)
		h->overflow_lo = 0;
	if (__builtin_add_overflow(h->count, n, &h->count))
		return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
	return 0;
}
