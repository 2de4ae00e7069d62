/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/omission.h"

#define ADDED_MAX 100000000ULL
#define STEPS_MAX 5000000ULL /* places that are added to: time, not samples */
#define SLOTS_MAX 1000000

/* Dense counts of one of the two regular grids. */
struct dense {
	const struct hist *h;
	uint64_t *n;
	size_t len;
};

static size_t slot_of(const struct hist *h, int64_t v)
{
	return h->scheme == HIST_LOG128 ? hist_slot(v) : (size_t)((v - h->base) / h->width);
}

static int check(const struct hist *h, int64_t period_ns, struct err *reterr)
{
	uint64_t added = 0, steps = 0;

	if (h->scheme != HIST_LOG128 && h->scheme != HIST_LINEAR)
		return err_set(reterr, ERR_UNSUPPORTED,
			       "a histogram with its own edges cannot be corrected for omission");
	if (period_ns <= 0)
		return err_set(reterr, ERR_INVALID, "the source's period is not known");
	for (size_t i = 0; i < h->len; i++) {
		uint64_t more = (uint64_t)(h->b[i].lo / period_ns);

		if (more && h->b[i].n > ADDED_MAX / more)
			return err_set(reterr, ERR_LIMIT, "correction would add too many samples");
		added += more * h->b[i].n;
		steps += more;
		if (added > ADDED_MAX || steps > STEPS_MAX)
			return err_set(reterr, ERR_LIMIT, "correction would add too many samples");
	}
	if (h->len && slot_of(h, h->b[h->len - 1].lo) >= SLOTS_MAX)
		return err_set(reterr, ERR_LIMIT, "the histogram has too many buckets to correct");
	return 0;
}

/* Returns false when the sum of what was added left the int64 range. */
static bool spread_out(struct dense *d, int64_t period_ns, int64_t *added_sum)
{
	const struct hist *h = d->h;
	bool sum_known = true;

	for (size_t i = 0; i < h->len; i++) {
		d->n[slot_of(h, h->b[i].lo)] += h->b[i].n;
		for (int64_t v = h->b[i].lo - period_ns; v >= period_ns && v >= h->base;
		     v -= period_ns) {
			int64_t more;

			d->n[slot_of(h, v)] += h->b[i].n;
			sum_known &= !__builtin_mul_overflow(v, (int64_t)h->b[i].n, &more) &&
				     !__builtin_add_overflow(*added_sum, more, added_sum);
		}
	}
	return sum_known;
}

static void from_dense(const struct dense *d, struct hist *out)
{
	const struct hist *h = d->h;

	for (size_t k = 0; k < d->len; k++) {
		int64_t lo, hi;

		if (!d->n[k])
			continue;
		if (h->scheme == HIST_LOG128) {
			lo = hist_slot_lo((uint32_t)k);
			hi = hist_slot_hi((uint32_t)k);
		} else {
			lo = h->base + (int64_t)k * h->width;
			hi = lo + h->width;
		}
		GROW(out->b, out->len, out->cap);
		out->b[out->len++] = (struct hist_bucket){lo, hi, d->n[k]};
		out->count += d->n[k];
	}
}

int omission_correct(struct hist *h, int64_t period_ns, struct err *reterr)
{
	struct hist out = *h;
	struct dense d = {.h = h};
	int64_t added_sum = 0;
	int r = check(h, period_ns, reterr);

	if (r < 0 || !h->len)
		return r;
	d.len = slot_of(h, h->b[h->len - 1].lo) + 1;
	d.n = xcalloc(d.len, sizeof(*d.n));
	out.has_sum = spread_out(&d, period_ns, &added_sum) && h->has_sum;
	out.b = NULL;
	out.len = out.cap = 0;
	out.count = h->overflow + h->negative;
	from_dense(&d, &out);
	if (out.has_sum && __builtin_add_overflow(h->sum, added_sum, &out.sum))
		out.has_sum = false;
	free(d.n);
	free(h->b);
	*h = out;
	return 0;
}
