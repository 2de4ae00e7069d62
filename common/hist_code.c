/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The binary form of histograms, and the HdrHistogram text.
 *
 *   u8 scheme | flags << 4   flags: 1 min, 2 max, 4 sum, 8 coarsened
 *   varint overflow, negative, lost; zigzag overflow_lo if overflow; zigzag min, max, sum if known
 *   HIST_LINEAR: zigzag base, varint width
 *   varint buckets, then per bucket
 *     HIST_LOG128, HIST_LINEAR: varint (slot - previous slot - 1), varint n
 *     HIST_EDGES: zigzag (lo - previous hi), varint (hi - lo), varint n
 * The count is not written: it is the sum of the parts. */
#include "common/hist.h"
#include "common/check.h"

#include <inttypes.h>

enum { F_MIN = 1, F_MAX = 2, F_SUM = 4, F_COARSE = 8 };
#define BUCKETS_MAX (1u << 21)

static void put_head(struct strbuf *out, unsigned int scheme, unsigned int flags,
		     const struct hist *h)
{
	strbuf_putc(out, (char)(scheme | flags << 4));
	put_varint(out, h->overflow);
	put_varint(out, h->negative);
	put_varint(out, h->lost);
	if (h->overflow)
		put_zigzag(out, h->overflow_lo);
	if (flags & F_MIN)
		put_zigzag(out, h->min);
	if (flags & F_MAX)
		put_zigzag(out, h->max);
	if (flags & F_SUM)
		put_zigzag(out, h->sum);
}

int hist_peek_scheme(const void *data, size_t len)
{
	unsigned int scheme = len ? *(const unsigned char *)data & 15u : 15u;

	return scheme <= HIST_EDGES ? (int)scheme : -1;
}

static int64_t slot_of(const struct hist *h, int64_t lo)
{
	return h->scheme == HIST_LOG128 ? (int64_t)hist_slot(lo) : (lo - h->base) / h->width;
}

void hist_encode(const struct hist *h, struct strbuf *out)
{
	unsigned int flags = (h->has_min ? F_MIN : 0) | (h->has_max ? F_MAX : 0) |
			     (h->has_sum ? F_SUM : 0) | (h->coarsened ? F_COARSE : 0);
	int64_t last = h->scheme == HIST_EDGES ? 0 : -1;

	put_head(out, h->scheme, flags, h);
	if (h->scheme == HIST_LINEAR) {
		put_zigzag(out, h->base);
		put_varint(out, (uint64_t)h->width);
	}
	put_varint(out, h->len);
	for (size_t i = 0; i < h->len; i++) {
		const struct hist_bucket *b = &h->b[i];

		if (h->scheme == HIST_EDGES) {
			put_zigzag(out, (int64_t)((uint64_t)b->lo - (uint64_t)last));
			put_varint(out, (uint64_t)b->hi - (uint64_t)b->lo);
			last = b->hi;
		} else {
			int64_t slot = slot_of(h, b->lo);

			put_varint(out, (uint64_t)(slot - last - 1));
			last = slot;
		}
		put_varint(out, b->n);
	}
}

void hist_rec_encode(const struct hist_rec *r, struct strbuf *out)
{
	struct hist head = {.negative = r->negative,
			    .lost = r->lost,
			    .min = r->min,
			    .max = r->max,
			    .sum = r->sum};
	unsigned int flags = (r->count ? F_MIN | F_MAX : 0) | (r->sum_lost ? 0 : F_SUM);
	uint32_t used = 0;
	int64_t last = -1;

	put_head(out, HIST_LOG128, flags, &head);
	for (uint32_t i = 0; i < HIST_SLOTS; i++)
		used += r->n[i] != 0;
	put_varint(out, used);
	for (uint32_t i = 0; i < HIST_SLOTS && used; i++) {
		if (!r->n[i])
			continue;
		put_varint(out, (uint64_t)((int64_t)i - last - 1));
		put_varint(out, r->n[i]);
		last = i;
		used--;
	}
}

/* Reads everything before the buckets; returns the flags, -1 when malformed. */
static int read_head(struct hist *h, struct reader *r)
{
	unsigned int first = (unsigned int)read_le(r, 1), flags = first >> 4;

	h->scheme = (enum hist_scheme)(first & 15);
	if (h->scheme > HIST_EDGES)
		return -1;
	h->overflow = read_varint(r);
	h->negative = read_varint(r);
	h->lost = read_varint(r);
	if (h->overflow)
		h->overflow_lo = read_zigzag(r);
	h->has_min = flags & F_MIN;
	h->has_max = flags & F_MAX;
	h->has_sum = flags & F_SUM;
	h->coarsened = flags & F_COARSE;
	if (h->has_min)
		h->min = read_zigzag(r);
	if (h->has_max)
		h->max = read_zigzag(r);
	if (h->has_sum)
		h->sum = read_zigzag(r);
	if (h->scheme == HIST_LINEAR) {
		h->base = read_zigzag(r);
		h->width = (int64_t)read_varint(r);
		if (h->width <= 0)
			return -1;
	}
	return r->bad ? -1 : (int)flags;
}

/* Next bucket of a slotted scheme; false when it leaves the range of int64. */
static bool slot_edges(const struct hist *h, int64_t slot, int64_t *lo, int64_t *hi)
{
	if (h->scheme == HIST_LOG128) {
		if (slot >= HIST_SLOTS)
			return false;
		*lo = hist_slot_lo((uint32_t)slot);
		*hi = hist_slot_hi((uint32_t)slot);
		return true;
	}
	return !__builtin_mul_overflow(slot, h->width, lo) &&
	       !__builtin_add_overflow(*lo, h->base, lo) &&
	       !__builtin_add_overflow(*lo, h->width, hi);
}

static bool next_edges(const struct hist *h, struct reader *r, int64_t *last, int64_t *lo,
		       int64_t *hi)
{
	uint64_t gap, width;

	if (h->scheme == HIST_EDGES) {
		if (__builtin_add_overflow(*last, read_zigzag(r), lo))
			return false;
		width = read_varint(r);
		if (!width || width > INT64_MAX || __builtin_add_overflow(*lo, (int64_t)width, hi))
			return false;
		*last = *hi;
		return true;
	}
	gap = read_varint(r);
	if (gap > INT64_MAX - 1 || __builtin_add_overflow(*last, (int64_t)gap + 1, last))
		return false;
	return slot_edges(h, *last, lo, hi);
}

static int malformed(struct err *reterr, const char *what)
{
	return err_set(reterr, ERR_INVALID, "encoded histogram: %s", what);
}

int hist_decode(struct hist *ret, struct reader *r, struct err *reterr)
{
	struct hist h CLEANUP(hist_done) = {0};
	uint64_t buckets;
	int64_t last;

	if (read_head(&h, r) < 0)
		return malformed(reterr, "bad head");
	buckets = read_varint(r);
	/* Two bytes a bucket at least: a huge count cannot make us allocate. */
	if (r->bad || buckets > BUCKETS_MAX || buckets > reader_left(r) / 2)
		return malformed(reterr, "more buckets than bytes");
	last = h.scheme == HIST_EDGES ? 0 : -1;
	for (uint64_t i = 0; i < buckets; i++) {
		int64_t lo, hi;
		int rc;

		if (!next_edges(&h, r, &last, &lo, &hi))
			return malformed(reterr, "a bucket is out of range");
		rc = hist_append(&h, lo, hi, read_varint(r), reterr);
		if (r->bad)
			return malformed(reterr, "cut short");
		if (rc)
			return rc;
	}
	if (__builtin_add_overflow(h.count, h.overflow, &h.count) ||
	    __builtin_add_overflow(h.count, h.negative, &h.count))
		return malformed(reterr, "counts exceed 64 bits");
	if (hist_check(&h, reterr))
		return err_prefix(reterr, "encoded histogram: ");
	*ret = h;
	memset(&h, 0, sizeof(h));
	return 0;
}

static void add_extremes(struct hist_rec *to, const struct hist *h, uint64_t count)
{
	if (!count)
		return;
	if (!to->count || h->min < to->min)
		to->min = h->min;
	if (!to->count || h->max > to->max)
		to->max = h->max;
}

int hist_rec_decode_add(struct hist_rec *to, struct reader *r, struct err *reterr)
{
	struct hist h = {0};
	uint64_t buckets, count;
	int64_t slot = -1;

	if (read_head(&h, r) < 0 || h.scheme != HIST_LOG128 || h.overflow)
		return malformed(reterr, "not the recorder's layout");
	buckets = read_varint(r);
	count = h.negative;
	for (uint64_t i = 0; i < buckets; i++) {
		uint64_t gap = read_varint(r), n = read_varint(r);

		if (r->bad || gap >= HIST_SLOTS || (slot += (int64_t)gap + 1) >= HIST_SLOTS)
			return malformed(reterr, "a bucket is out of range");
		to->n[slot] += n;
		count += n;
	}
	if (r->bad || (count && !(h.has_min && h.has_max)))
		return malformed(reterr, "cut short");
	add_extremes(to, &h, count);
	to->count += count;
	to->negative += h.negative;
	to->lost += h.lost;
	if (!h.has_sum || __builtin_add_overflow(to->sum, h.sum, &to->sum))
		to->sum_lost = true;
	return 0;
}

void hist_to_hgrm(const struct hist *h, double unit_ns, struct strbuf *out)
{
	uint64_t seen = h->negative;
	bool exact;
	double mean = hist_mean(h, &exact);

	strbuf_puts(out, "       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
	for (size_t i = 0; i < h->len; i++) {
		double p, top = (double)(h->b[i].hi == INT64_MAX ? INT64_MAX : h->b[i].hi - 1);

		seen += h->b[i].n;
		p = (double)seen / (double)h->count;
		if (h->has_max && top > (double)h->max)
			top = (double)h->max;
		strbuf_printf(out, "%12.3f %14.12f %10" PRIu64, top / unit_ns, p, seen);
		if (seen < h->count)
			strbuf_printf(out, " %14.2f\n", 1 / (1 - p));
		else
			strbuf_puts(out, "            inf\n");
	}
	strbuf_printf(out, "#[Mean    = %12.3f, Total count    = %12" PRIu64 "]\n", mean / unit_ns,
		      h->count);
	if (h->has_max)
		strbuf_printf(out, "#[Max     = %12.3f, Overflow       = %12" PRIu64 "]\n",
			      (double)h->max / unit_ns, h->overflow);
}
