/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recording, merging, quantiles. The binary form is in hist_code.c. */
#include "common/hist.h"
#include "common/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int64_t hist_slot_lo(uint32_t slot)
{
	unsigned int shift;

	if (slot < 256)
		return slot;
	shift = (slot >> 7) - 1;
	return (int64_t)((slot & 127) | 128) << shift;
}

int64_t hist_slot_hi(uint32_t slot)
{
	return slot + 1 < HIST_SLOTS ? hist_slot_lo(slot + 1) : INT64_MAX;
}

void hist_rec_reset(struct hist_rec *r)
{
	memset(r, 0, sizeof(*r));
}

void hist_done(struct hist *h)
{
	free(h->b);
	memset(h, 0, sizeof(*h));
}

static void push(struct hist *h, int64_t lo, int64_t hi, uint64_t n)
{
	GROW(h->b, h->len, h->cap);
	h->b[h->len++] = (struct hist_bucket){lo, hi, n};
}

int hist_append(struct hist *h, int64_t lo, int64_t hi, uint64_t n, struct err *reterr)
{
	if (n == 0)
		return 0;
	if (lo >= hi)
		return err_set(reterr, ERR_INVALID, "bucket [%" PRId64 ", %" PRId64 ") is empty",
			       lo, hi);
	if (h->len && lo < h->b[h->len - 1].hi)
		return err_set(reterr, ERR_INVALID,
			       "bucket at %" PRId64 " begins before the one before it ends", lo);
	if (n > UINT64_MAX - h->count)
		return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
	push(h, lo, hi, n);
	h->count += n;
	return 0;
}

void hist_copy(struct hist *to, const struct hist *from)
{
	*to = *from;
	to->b = NULL;
	to->cap = from->len;
	if (from->len) {
		to->b = xcalloc(from->len, sizeof(*to->b));
		memcpy(to->b, from->b, from->len * sizeof(*to->b));
	}
}

void hist_from_rec(struct hist *to, const struct hist_rec *from)
{
	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; i < HIST_SLOTS; i++)
		if (from->n[i])
			push(to, hist_slot_lo(i), hist_slot_hi(i), from->n[i]);
	to->count = from->count;
	to->negative = from->negative;
	to->lost = from->lost;
	to->min = from->min;
	to->max = from->max;
	to->sum = from->sum;
	to->has_min = to->has_max = from->count > 0;
	to->has_sum = !from->sum_lost;
}

int hist_rec_merge(struct hist_rec *to, const struct hist *from, struct err *reterr)
{
	if (from->scheme != HIST_LOG128 || from->overflow || (from->count && !from->has_min))
		return err_set(reterr, ERR_INVALID, "only the recorder's own layout can be added");
	if (from->count) {
		if (!to->count || from->min < to->min)
			to->min = from->min;
		if (!to->count || from->max > to->max)
			to->max = from->max;
	}
	for (size_t i = 0; i < from->len; i++)
		to->n[hist_slot(from->b[i].lo)] += from->b[i].n;
	to->count += from->count;
	to->negative += from->negative;
	to->lost += from->lost;
	if (!from->has_sum || __builtin_add_overflow(to->sum, from->sum, &to->sum))
		to->sum_lost = true;
	return 0;
}

/* ---- merging values ---- */

static bool same_grid(const struct hist *a, const struct hist *b)
{
	if (a->scheme != b->scheme)
		return false;
	if (a->scheme == HIST_LINEAR)
		return a->width == b->width && (a->base - b->base) % a->width == 0;
	return true; /* the fixed layout, or edges that the sweep below compares one by one */
}

/* Sweeps both bucket lists in order. Buckets that overlap but differ are joined into one that
 * covers both, so that no count is moved into a finer bucket than its source had. */
static void sweep(const struct hist *a, const struct hist *b, struct hist *out)
{
	size_t i = 0, k = 0;

	while (i < a->len || k < b->len) {
		bool from_a = k == b->len || (i < a->len && a->b[i].lo <= b->b[k].lo);
		struct hist_bucket x = from_a ? a->b[i++] : b->b[k++];
		struct hist_bucket *last = out->len ? &out->b[out->len - 1] : NULL;

		if (!last || x.lo >= last->hi) {
			push(out, x.lo, x.hi, x.n);
			continue;
		}
		if (x.lo != last->lo || x.hi != last->hi)
			out->coarsened = true;
		if (x.hi > last->hi)
			last->hi = x.hi;
		last->n += x.n;
	}
}

/* An overflow of one side says only ">= overflow_lo": buckets of the result above that point
 * would claim more than is known, so they join the overflow. */
static void fold_into_overflow(struct hist *h)
{
	while (h->overflow && h->len && h->b[h->len - 1].hi > h->overflow_lo) {
		struct hist_bucket *last = &h->b[h->len - 1];

		if (last->lo < h->overflow_lo)
			h->overflow_lo = last->lo;
		h->overflow += last->n;
		h->coarsened = true;
		h->len--;
	}
}

static void merge_totals(struct hist *out, const struct hist *a, const struct hist *b)
{
	out->count = a->count + b->count;
	out->overflow = a->overflow + b->overflow;
	out->negative = a->negative + b->negative;
	out->lost = a->lost + b->lost;
	if (a->overflow && b->overflow)
		out->overflow_lo =
			a->overflow_lo < b->overflow_lo ? a->overflow_lo : b->overflow_lo;
	else
		out->overflow_lo = a->overflow ? a->overflow_lo : b->overflow_lo;
	out->has_min = (a->has_min || !a->count) && (b->has_min || !b->count);
	out->has_max = (a->has_max || !a->count) && (b->has_max || !b->count);
	out->min = !b->count || (a->count && a->min < b->min) ? a->min : b->min;
	out->max = !b->count || (a->count && a->max > b->max) ? a->max : b->max;
	out->has_sum = (a->has_sum || !a->count) && (b->has_sum || !b->count) &&
		       !__builtin_add_overflow(a->sum, b->sum, &out->sum);
	if (!out->count)
		out->has_min = out->has_max = false;
}

int hist_merge(struct hist *to, const struct hist *from, struct err *reterr)
{
	struct hist out = {0};

	if (from->count > UINT64_MAX - to->count)
		return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
	out.coarsened = to->coarsened || from->coarsened;
	if (!to->len && !to->count)
		out.scheme = from->scheme, out.base = from->base, out.width = from->width;
	else if (same_grid(to, from) || (!from->len && !from->count))
		out.scheme = to->scheme, out.base = to->base, out.width = to->width;
	else
		out.scheme = HIST_EDGES;
	sweep(to, from, &out);
	merge_totals(&out, to, from);
	fold_into_overflow(&out);
	if (out.coarsened)
		out.scheme = HIST_EDGES;
	hist_done(to);
	*to = out;
	return 0;
}

int hist_check(const struct hist *h, struct err *reterr)
{
	uint64_t sum = 0;
	int64_t end = INT64_MIN;

	for (size_t i = 0; i < h->len; i++) {
		const struct hist_bucket *b = &h->b[i];

		if (b->lo >= b->hi || b->lo < end || !b->n)
			return err_set(reterr, ERR_INVALID, "histogram bucket %zu is out of order",
				       i);
		if (h->scheme == HIST_LOG128 &&
		    (b->lo < 0 || hist_slot_lo(hist_slot(b->lo)) != b->lo ||
		     hist_slot_hi(hist_slot(b->lo)) != b->hi))
			return err_set(reterr, ERR_INVALID,
				       "histogram bucket %zu is not one of the fixed layout", i);
		end = b->hi;
		if (__builtin_add_overflow(sum, b->n, &sum))
			return err_set(reterr, ERR_INVALID, "histogram counts exceed 64 bits");
	}
	if (__builtin_add_overflow(sum, h->overflow, &sum) ||
	    __builtin_add_overflow(sum, h->negative, &sum) || sum != h->count)
		return err_set(reterr, ERR_INVALID,
			       "histogram parts sum to %" PRIu64 " but the count is %" PRIu64, sum,
			       h->count);
	if (h->has_min && h->has_max && h->min > h->max)
		return err_set(reterr, ERR_INVALID, "histogram minimum is above its maximum");
	if (h->has_max && h->len && !h->overflow && h->max < h->b[h->len - 1].lo)
		return err_set(reterr, ERR_INVALID,
			       "histogram maximum %" PRId64 " is below its last bucket", h->max);
	if (h->has_min && h->len && !h->negative && h->min >= h->b[0].hi)
		return err_set(reterr, ERR_INVALID,
			       "histogram minimum %" PRId64 " is above its first bucket", h->min);
	return 0;
}

bool hist_equal(const struct hist *a, const struct hist *b)
{
	if (a->scheme != b->scheme || a->len != b->len || a->count != b->count ||
	    a->overflow != b->overflow || a->negative != b->negative || a->lost != b->lost ||
	    a->has_min != b->has_min || a->has_max != b->has_max || a->has_sum != b->has_sum)
		return false;
	if ((a->has_min && a->min != b->min) || (a->has_max && a->max != b->max) ||
	    (a->has_sum && a->sum != b->sum) || (a->overflow && a->overflow_lo != b->overflow_lo))
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (a->b[i].lo != b->b[i].lo || a->b[i].hi != b->b[i].hi || a->b[i].n != b->b[i].n)
			return false;
	return true;
}

/* ---- questions ---- */

static uint64_t rank_of(double q, uint64_t count)
{
	double r = ceil(q * (double)count - 1e-9 * q);

	if (r < 1)
		return 1;
	return r >= (double)count ? count : (uint64_t)r;
}

static void cut_by_extremes(const struct hist *h, struct hist_quantile *a)
{
	if (h->has_min && a->lo < h->min)
		a->lo = h->min;
	if (h->has_max && a->hi > h->max)
		a->hi = h->max;
	if (h->has_max && a->rank == h->count)
		a->lo = a->hi = h->max;
	else if (h->has_min && a->rank == 1)
		a->lo = a->hi = h->min;
}

struct hist_quantile hist_quantile(const struct hist *h, double q)
{
	struct hist_quantile a = {
		.answer = HIST_NOT_RESOLVABLE, .count = h->count, .hi = INT64_MAX};
	uint64_t below = h->negative;

	if (!h->count || !(q >= 0 && q <= 1))
		return a;
	a.rank = rank_of(q, h->count);
	/* A little slack: 1 - 0.999 is not exactly 0.001. */
	if (q < 1 && (double)h->count * (1 - q) < 1 - 1e-6)
		return a;
	if (a.rank <= below) {
		a.answer = HIST_NEGATIVE;
		a.lo = h->has_min ? h->min : INT64_MIN;
		a.hi = -1;
		return a;
	}
	for (size_t i = 0; i < h->len; i++) {
		below += h->b[i].n;
		if (a.rank > below)
			continue;
		a.answer = HIST_VALUE;
		a.lo = h->b[i].lo;
		a.hi = h->b[i].hi == INT64_MAX ? INT64_MAX : h->b[i].hi - 1;
		cut_by_extremes(h, &a);
		return a;
	}
	a.lo = h->overflow_lo;
	a.answer = HIST_AT_LEAST;
	cut_by_extremes(h, &a);
	if (a.lo == a.hi) /* the maximum itself is known */
		a.answer = HIST_VALUE;
	return a;
}

struct hist_above hist_count_above(const struct hist *h, int64_t threshold_ns)
{
	struct hist_above n = {0, 0};

	for (size_t i = h->len; i-- > 0;) {
		if (h->b[i].hi - 1 < threshold_ns)
			break;
		n.hi += h->b[i].n;
		if (h->b[i].lo >= threshold_ns)
			n.lo += h->b[i].n;
	}
	n.hi += h->overflow;
	if (h->overflow_lo >= threshold_ns)
		n.lo += h->overflow;
	if (h->has_max && h->max < threshold_ns)
		n.hi = 0;
	return n;
}

double hist_mean(const struct hist *h, bool *ret_exact)
{
	double sum = 0;

	*ret_exact = h->has_sum;
	if (!h->count)
		return NAN;
	if (h->has_sum)
		return (double)h->sum / (double)h->count;
	for (size_t i = 0; i < h->len; i++)
		sum += (double)h->b[i].lo * (double)h->b[i].n;
	sum += (double)h->overflow_lo * (double)h->overflow;
	return sum / (double)h->count;
}
