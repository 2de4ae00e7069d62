/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HdrHistogram log, payload V2.
 *
 * Our own layout (128 sub-buckets to each power of two) is HdrHistogram's with two digits, so it is
 * written without loss. Other grids are written with three digits at the lower edge of each bucket;
 * the log says so. What overflowed stands at the overflow's edge. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <zlib.h>

#include "cli/export_formats.h"

#define COOKIE_V2	     (0x1c849303u | 0x10u)
#define COOKIE_V2_COMPRESSED (0x1c849304u | 0x10u)

static void big_endian(struct strbuf *out, uint64_t v, unsigned int bytes)
{
	while (bytes--)
		strbuf_putc(out, (char)(v >> (8 * bytes) & 0xff));
}

/* ZigZag LEB128 whose ninth byte has eight bits. */
static void zigzag9(struct strbuf *out, int64_t n)
{
	uint64_t v = (uint64_t)n << 1 ^ (uint64_t)(n >> 63);

	for (int i = 0; i < 8 && v >= 0x80; i++) {
		strbuf_putc(out, (char)((v & 0x7f) | 0x80));
		v >>= 7;
	}
	strbuf_putc(out, (char)v);
}

/* Index in the counts array of a layout whose half has 2^half sub-buckets and whose unit is 1. */
static int64_t slot_of(int64_t v, unsigned int half)
{
	unsigned int msb = v > 0 ? 63u - (unsigned int)__builtin_clzll((unsigned long long)v) : 0;
	unsigned int shift = msb > half ? msb - half : 0;

	return ((int64_t)shift << half) + (v >> shift);
}

struct counts {
	struct strbuf body;
	int64_t next; /* slot */
	uint64_t pending;
	int64_t pending_slot;
};

static void flush(struct counts *c)
{
	if (!c->pending)
		return;
	if (c->pending_slot > c->next)
		zigzag9(&c->body, -(c->pending_slot - c->next));
	zigzag9(&c->body, (int64_t)c->pending);
	c->next = c->pending_slot + 1;
	c->pending = 0;
}

/* Values come in order; neighbours may share a slot. */
static void add(struct counts *c, int64_t v, uint64_t n, unsigned int half)
{
	int64_t slot = slot_of(v, half);

	if (c->pending && slot != c->pending_slot)
		flush(c);
	c->pending_slot = slot;
	c->pending += n;
}

static void put_payload(const struct hist *h, struct strbuf *out)
{
	unsigned int digits = h->scheme == HIST_LOG128 ? 2 : 3;
	unsigned int half = h->scheme == HIST_LOG128 ? 7 : 10;
	struct counts c = {.next = 0};

	for (size_t i = 0; i < h->len; i++)
		add(&c, h->b[i].lo, h->b[i].n, half);
	if (h->overflow)
		add(&c, h->overflow_lo, h->overflow, half);
	flush(&c);
	big_endian(out, COOKIE_V2, 4);
	big_endian(out, c.body.len, 4);
	big_endian(out, 0, 4); /* normalizing offset */
	big_endian(out, digits, 4);
	big_endian(out, 1, 8);
	big_endian(out, (uint64_t)1 << 62, 8);
	big_endian(out, 0x3ff0000000000000u, 8); /* 1.0 */
	strbuf_add(out, c.body.data, c.body.len);
	strbuf_done(&c.body);
}

static void put_base64(const struct strbuf *in, struct strbuf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < in->len; i += 3) {
		size_t left = in->len - i;
		uint32_t v = (uint32_t)(unsigned char)in->data[i] << 16;

		if (left > 1)
			v |= (uint32_t)(unsigned char)in->data[i + 1] << 8;
		if (left > 2)
			v |= (unsigned char)in->data[i + 2];
		strbuf_putc(out, digits[v >> 18]);
		strbuf_putc(out, digits[v >> 12 & 63]);
		strbuf_putc(out, left > 1 ? digits[v >> 6 & 63] : '=');
		strbuf_putc(out, left > 2 ? digits[v & 63] : '=');
	}
}

static int put_histogram(const struct hist *h, struct strbuf *out, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf plain = {0}, packed = {0};
	uLongf len;
	int rc;

	put_payload(h, &plain);
	len = compressBound(plain.len);
	big_endian(&packed, COOKIE_V2_COMPRESSED, 4);
	big_endian(&packed, 0, 4);
	strbuf_reserve(&packed, len);
	rc = compress((Bytef *)packed.data + 8, &len, (const Bytef *)plain.data, plain.len);
	if (rc != Z_OK)
		return err_set(reterr, ERR_NOMEM, "zlib: error %d", rc);
	packed.len += len;
	for (unsigned int i = 0; i < 4; i++)
		packed.data[4 + i] = (char)(len >> (24 - 8 * i) & 0xff);
	put_base64(&packed, out);
	return 0;
}

/* A tag has no comma and no blank. */
static void put_tag(const struct run *r, size_t index, size_t runs, const struct series *s,
		    struct strbuf *out)
{
	struct strbuf tag = {0};

	if (runs > 1)
		strbuf_printf(&tag, "%s%zu", "run", index + 1);
	for (size_t i = 0; i < s->labels.len; i++)
		strbuf_printf(&tag, "%s%s:%s", tag.len ? ";" : "", s->labels.v[i].key,
			      s->labels.v[i].value);
	(void)r;
	for (size_t i = 0; i < tag.len; i++)
		if (strchr(", \t\n", tag.data[i]))
			tag.data[i] = '_';
	if (tag.len)
		strbuf_printf(out, "Tag=%s,", tag.data);
	strbuf_done(&tag);
}

static int put_line(const struct run *r, size_t index, size_t runs, const struct series *s,
		    struct strbuf *out, struct err *reterr)
{
	const struct hist *h = &s->hist;
	int64_t max = h->has_max ? h->max : h->len ? h->b[h->len - 1].hi - 1 : 0;

	if (h->negative)
		return err_set(reterr, ERR_INVALID,
			       "%s has %" PRIu64
			       " negative samples, which HdrHistogram cannot hold",
			       s->metric, h->negative);
	if (h->scheme != HIST_LOG128 || h->overflow)
		strbuf_printf(out,
			      "#[%s: values are the lower edges of buckets; %" PRIu64
			      " samples are at or above %" PRId64 " ns]\n",
			      s->metric, h->overflow, h->overflow_lo);
	put_tag(r, index, runs, s, out);
	strbuf_printf(out, "0.000,%.3f,%.3f,", (double)r->measured_ns / 1e9, (double)max / 1e6);
	if (put_histogram(h, out, reterr))
		return reterr->code;
	strbuf_putc(out, '\n');
	return 0;
}

int export_hdr_log(const struct runs *rs, const char *metric, struct strbuf *out,
		   struct err *reterr)
{
	const char *found = metric;
	int rc = 0;

	strbuf_puts(out, "#[Histogram log format version 1.3]\n");
	if (rs->len && rs->v[0]->started_ns)
		strbuf_printf(out, "#[StartTime: %.3f (seconds since epoch)]\n",
			      (double)rs->v[0]->started_ns / 1e9);
	strbuf_puts(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
			 "\"Interval_Compressed_Histogram\"\n");
	for (size_t i = 0; !rc && i < rs->len; i++)
		for (size_t k = 0; !rc && k < rs->v[i]->series_len; k++) {
			const struct series *s = &rs->v[i]->series[k];

			if (s->kind != SERIES_HIST || (metric && strcmp(metric, s->metric) != 0))
				continue;
			if (found && strcmp(found, s->metric) != 0)
				return err_set(
					reterr, ERR_INVALID,
					"several metrics (%.60s, %.60s ...): choose one with "
					"--metric",
					found, s->metric);
			found = s->metric;
			rc = put_line(rs->v[i], i, rs->len, s, out, reterr);
		}
	if (!rc && !found)
		return err_set(reterr, ERR_NOT_FOUND, "no distribution");
	return rc;
}
