/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of integer nanoseconds.
 *
 * Two types. `struct hist_rec` is the recorder: one flat array in the fixed layout, no
 * allocation, what a measuring thread writes and what merging adds into. `struct hist` is the
 * value: sorted buckets [lo, hi) of any scheme, what is stored, merged across sources and asked
 * for quantiles.
 *
 * The fixed layout (HIST_LOG128) never changes: values below 256 ns are exact; above, each power
 * of two has 128 equal sub-buckets, so a bucket is at most 1/128 (0.8 %) of its value wide.
 * It covers 0..INT64_MAX in HIST_SLOTS slots.
 *
 * Invariant, checked wherever a histogram is recorded, decoded or stored:
 *   sum of bucket counts + overflow + negative == count
 * Lost samples are counted beside it, not in it. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"
#include "common/varint.h"

#define HIST_SLOTS 7296

/* Slot of a value >= 0 in the fixed layout, and its edges: lo <= v < hi (hi saturates). */
static inline uint32_t hist_slot(int64_t v)
{
	unsigned int e;

	if (v < 256)
		return (uint32_t)v;
	e = 63u - (unsigned int)__builtin_clzll((unsigned long long)v);
	return ((e - 7) << 7) + (uint32_t)(v >> (e - 7));
}
int64_t hist_slot_lo(uint32_t slot);
int64_t hist_slot_hi(uint32_t slot);

struct hist_rec {
	uint64_t n[HIST_SLOTS];
	uint64_t count, negative, lost;
	int64_t min, max, sum; /* of all recorded values, exact; 0 when count is 0 */
	bool sum_lost;	       /* the sum left the int64 range */
};

void hist_rec_reset(struct hist_rec *r);

/* Hot path: no allocation, no branch but on the sign and the extremes. A negative value (clock
 * trouble) counts in `negative` and in min, not in a bucket. */
static inline void hist_rec_add(struct hist_rec *r, int64_t v)
{
	if (v < 0)
		r->negative++;
	else
		r->n[hist_slot(v)]++;
	if (r->count++ == 0) {
		r->min = r->max = v;
	} else {
		if (v < r->min)
			r->min = v;
		if (v > r->max)
			r->max = v;
	}
	if (__builtin_add_overflow(r->sum, v, &r->sum))
		r->sum_lost = true;
}

enum hist_scheme {
	HIST_LOG128 = 0, /* our fixed layout */
	HIST_LINEAR = 1, /* equal width, bucket k = [base + k*width, base + (k+1)*width) */
	HIST_EDGES = 2,	 /* the source's own edges (log2, fio, text intervals) */
};

struct hist_bucket {
	int64_t lo, hi; /* lo <= value < hi */
	uint64_t n;	/* > 0 */
};

struct hist {
	enum hist_scheme scheme;
	int64_t base, width;   /* HIST_LINEAR only */
	struct hist_bucket *b; /* sorted, disjoint, only non-empty ones */
	size_t len, cap;
	uint64_t count, overflow, negative, lost;
	int64_t overflow_lo; /* samples in overflow are >= this; 0 when there are none */
	int64_t min, max, sum;
	bool has_min, has_max, has_sum; /* exact extremes and sum are known */
	bool coarsened;			/* a merge went to a coarser grid */
};

void hist_done(struct hist *h); /* frees the buckets, zeroes; for CLEANUP */
/* Appends a bucket above all present ones (n of 0 is ignored) and adds n to count. */
int hist_append(struct hist *h, int64_t lo, int64_t hi, uint64_t n, struct err *reterr) MUSTCHECK;
void hist_copy(struct hist *to, const struct hist *from);
void hist_from_rec(struct hist *to, const struct hist_rec *from);
/* Adds a HIST_LOG128 histogram into a recorder. */
int hist_rec_merge(struct hist_rec *to, const struct hist *from, struct err *reterr) MUSTCHECK;
/* Adds `from` into `to`. Unlike grids go to a common coarser grid (every edge of the result is an
 * edge of both, or buckets that straddle are joined) and set `coarsened`. Associative and
 * commutative in everything but the order of work. */
int hist_merge(struct hist *to, const struct hist *from, struct err *reterr) MUSTCHECK;
/* The invariant and the order of buckets; the text names what is wrong. */
int hist_check(const struct hist *h, struct err *reterr) MUSTCHECK;
bool hist_equal(const struct hist *a, const struct hist *b);

enum hist_answer {
	HIST_VALUE,	    /* lo <= quantile <= hi */
	HIST_AT_LEAST,	    /* the rank is in the overflow: quantile >= lo, <= hi if max is known */
	HIST_NEGATIVE,	    /* the rank is among negative values: quantile < 0 */
	HIST_NOT_RESOLVABLE /* count * (1 - q) < 1: so few samples cannot show it */
};

/* The quantile of rank ceil(q * count) (R's type 1), as the interval of values that it may have:
 * the bucket's edges, cut by min and max. */
struct hist_quantile {
	enum hist_answer answer;
	int64_t lo, hi; /* inclusive; INT64_MAX when unbounded */
	uint64_t rank, count;
};
struct hist_quantile hist_quantile(const struct hist *h, double q);

/* How many samples are certainly (lo) and possibly (hi) at or above a threshold: they differ when
 * the threshold cuts a bucket. */
struct hist_above {
	uint64_t lo, hi;
};
struct hist_above hist_count_above(const struct hist *h, int64_t threshold_ns);
/* Mean from the exact sum when known, else from bucket lower edges (then *ret_exact = false).
 * Returns NaN when there are no samples. */
double hist_mean(const struct hist *h, bool *ret_exact);

/* Compact binary form, 1-3 bytes a non-empty bucket; see docs/PROTOCOL.md. Decoding accepts any
 * bytes, bounds every field and ends with hist_check. */
void hist_encode(const struct hist *h, struct strbuf *out);
int hist_decode(struct hist *ret, struct reader *r, struct err *reterr) MUSTCHECK;
/* The scheme of encoded bytes, which may be any; -1 when they have none. */
int hist_peek_scheme(const void *data, size_t len);
/* Encodes a recorder (HIST_LOG128) without an intermediate copy, and adds encoded bytes of
 * HIST_LOG128 straight into one: the fast path of merging. */
void hist_rec_encode(const struct hist_rec *r, struct strbuf *out);
int hist_rec_decode_add(struct hist_rec *to, struct reader *r, struct err *reterr) MUSTCHECK;

/* HdrHistogram percentile text (.hgrm), values divided by unit_ns. */
void hist_to_hgrm(const struct hist *h, double unit_ns, struct strbuf *out);
