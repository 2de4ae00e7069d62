/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HdrHistogram interval logs (.hlog) with payloads V0, V1 and V2, and tags.
 *
 * A line is [Tag=t,]start,length,max,base64; the payload is a compressed counts array with its own
 * layout. Intervals of one tag are added up; unlike layouts go to the coarser grid. Double
 * histograms and shifted ones (normalizing offset) are refused: what they mean is not certain. */
#include "common/import/formats.h"
#include "common/import/gunzip.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
	COOKIE_V0 = 0x1c849308,
	COOKIE_V0_COMPRESSED = 0x1c849309,
	COOKIE_V1 = 0x1c849301,
	COOKIE_V1_COMPRESSED = 0x1c849302,
	COOKIE_V2 = 0x1c849303,
	COOKIE_V2_COMPRESSED = 0x1c849304,
	COOKIE_DOUBLE = 0x0c72124e,
	COOKIE_DOUBLE_COMPRESSED = 0x0c72124f,
};

#define WORD_SIZE_BITS 0xf0u
#define INFLATE_FREE   ((size_t)1 << 20)

/* ---- big-endian bytes ---- */

static uint64_t big_endian(struct reader *r, size_t bytes)
{
	uint64_t v = 0;

	if (reader_left(r) < bytes) {
		r->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | r->p[i];
	r->p += bytes;
	return v;
}

static bool base64_decode(struct span text, struct strbuf *out)
{
	uint32_t bits = 0;
	int have = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		uint32_t v;

		if (c >= 'A' && c <= 'Z')
			v = (uint32_t)(c - 'A');
		else if (c >= 'a' && c <= 'z')
			v = (uint32_t)(c - 'a') + 26;
		else if (c >= '0' && c <= '9')
			v = (uint32_t)(c - '0') + 52;
		else if (c == '+')
			v = 62;
		else if (c == '/')
			v = 63;
		else if (c == '=')
			break;
		else
			return false;
		bits = bits << 6 | v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			strbuf_putc(out, (char)(bits >> have & 0xff));
		}
	}
	return true;
}

/* ---- the layout: index of a count -> edges ---- */

struct layout {
	unsigned int unit_magnitude, half_magnitude;
};

static int layout_init(struct layout *l, uint64_t lowest, uint64_t digits, struct err *reterr)
{
	double largest;

	if (digits < 1 || digits > 5 || lowest < 1 || lowest > INT64_MAX / 2)
		return err_set(reterr, ERR_INVALID,
			       "impossible layout: %" PRIu64 " digits from %" PRIu64, digits,
			       lowest);
	largest = 2 * pow(10, (double)digits);
	l->half_magnitude = (unsigned int)ceil(log2(largest)) - 1;
	l->unit_magnitude = 63u - (unsigned int)__builtin_clzll(lowest);
	return 0;
}

static bool layout_edges(const struct layout *l, uint64_t index, int64_t unit_ns, int64_t *ret_lo,
			 int64_t *ret_hi)
{
	uint64_t half = (uint64_t)1 << l->half_magnitude;
	uint64_t bucket = index >> l->half_magnitude, sub = index & (half - 1), shift;

	if (bucket) {
		bucket--;
		sub += half;
	}
	shift = bucket + l->unit_magnitude;
	if (shift > 62 || sub > (uint64_t)INT64_MAX >> shift)
		return false;
	*ret_lo = (int64_t)(sub << shift);
	return !__builtin_add_overflow(*ret_lo, (int64_t)1 << shift, ret_hi) &&
	       !__builtin_mul_overflow(*ret_lo, unit_ns, ret_lo) &&
	       !__builtin_mul_overflow(*ret_hi, unit_ns, ret_hi);
}

/* ---- the payload ---- */

/* ZigZag LEB128 whose ninth byte has eight bits. */
static int64_t zigzag9(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 9; i++) {
		unsigned char c;

		if (r->p == r->end) {
			r->bad = true;
			return 0;
		}
		c = *r->p++;
		if (i == 8) {
			v |= (uint64_t)c << 56;
			break;
		}
		v |= (uint64_t)(c & 0x7f) << (7 * i);
		if (!(c & 0x80))
			break;
	}
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int append_count(struct hist *h, const struct layout *l, uint64_t index, uint64_t n,
			int64_t unit_ns, struct err *reterr)
{
	int64_t lo, hi;

	if (!n)
		return 0;
	if (!layout_edges(l, index, unit_ns, &lo, &hi))
		return err_set(reterr, ERR_INVALID, "count %" PRIu64 " is outside the layout",
			       index);
	return hist_append(h, lo, hi, n, reterr);
}

static int counts_v2(struct reader *r, const struct layout *l, int64_t unit_ns, struct hist *h,
		     struct err *reterr)
{
	uint64_t index = 0;
	int rc = 0;

	while (!rc && !r->bad && reader_left(r)) {
		int64_t n = zigzag9(r);

		if (n < 0) {
			if (n == INT64_MIN || __builtin_add_overflow(index, (uint64_t)-n, &index))
				return err_set(reterr, ERR_INVALID, "an impossible run of zeros");
			continue;
		}
		rc = append_count(h, l, index++, (uint64_t)n, unit_ns, reterr);
	}
	return rc;
}

static int counts_words(struct reader *r, unsigned int word, const struct layout *l,
			int64_t unit_ns, struct hist *h, struct err *reterr)
{
	int rc = 0;

	if (word != 1 && word != 2 && word != 4 && word != 8)
		return err_set(reterr, ERR_INVALID, "impossible word size %u", word);
	for (uint64_t index = 0; !rc && reader_left(r) >= word; index++) {
		uint64_t n = big_endian(r, word);

		if (n > INT64_MAX)
			return err_set(reterr, ERR_INVALID, "a negative count");
		rc = append_count(h, l, index, n, unit_ns, reterr);
	}
	return rc;
}

static int read_payload(struct reader *r, int64_t unit_ns, struct hist *h, struct err *reterr)
{
	uint32_t cookie = (uint32_t)big_endian(r, 4);
	uint32_t base = cookie & ~WORD_SIZE_BITS;
	unsigned int word = (cookie & WORD_SIZE_BITS) >> 4;
	uint64_t offset = 0, digits, lowest, length = 0;
	struct layout layout;
	int rc;

	if (base == COOKIE_V0) {
		digits = big_endian(r, 4);
		lowest = big_endian(r, 8);
		(void)big_endian(r, 8); /* highest */
		(void)big_endian(r, 8); /* total count */
	} else if (base == COOKIE_V1 || base == COOKIE_V2) {
		length = big_endian(r, 4);
		offset = big_endian(r, 4);
		digits = big_endian(r, 4);
		lowest = big_endian(r, 8);
		(void)big_endian(r, 8); /* highest */
		(void)big_endian(r, 8); /* conversion ratio of double histograms */
		if (length > reader_left(r))
			return err_set(reterr, ERR_INVALID, "the payload is cut off");
		r->end = r->p + length;
	} else {
		return err_set(reterr, ERR_INVALID, "unknown histogram encoding %08x", cookie);
	}
	if (r->bad)
		return err_set(reterr, ERR_INVALID, "the payload is cut off");
	if (offset)
		return err_set(reterr, ERR_INVALID,
			       "normalizing offset %" PRIu64
			       ": some writers set it without shifting, so "
			       "the values are not certain",
			       offset);
	rc = layout_init(&layout, lowest, digits, reterr);
	if (rc)
		return rc;
	rc = base == COOKIE_V2 ? counts_v2(r, &layout, unit_ns, h, reterr)
			       : counts_words(r, word, &layout, unit_ns, h, reterr);
	if (!rc && r->bad)
		return err_set(reterr, ERR_INVALID, "the payload is cut off");
	return rc;
}

/* base64 -> cookie, length, zlib -> payload */
static int read_histogram(struct span text, int64_t unit_ns, struct hist *h, struct err *reterr)
{
	struct strbuf packed = {0}, plain = {0};
	uint32_t cookie, length;
	struct reader r;
	int rc = 0;

	h->scheme = HIST_EDGES;
	if (!base64_decode(text, &packed)) {
		strbuf_done(&packed);
		return err_set(reterr, ERR_INVALID, "the histogram is not base64");
	}
	r = reader_of(packed.data ? packed.data : "", packed.len);
	cookie = (uint32_t)big_endian(&r, 4) & ~WORD_SIZE_BITS;
	length = (uint32_t)big_endian(&r, 4);
	if (cookie == COOKIE_DOUBLE || cookie == COOKIE_DOUBLE_COMPRESSED)
		rc = err_set(reterr, ERR_INVALID, "histograms of doubles are not read");
	else if (cookie != COOKIE_V0_COMPRESSED && cookie != COOKIE_V1_COMPRESSED &&
		 cookie != COOKIE_V2_COMPRESSED)
		rc = err_set(reterr, ERR_INVALID, "no compressed histogram (cookie %08x)", cookie);
	else if (length > reader_left(&r))
		rc = err_set(reterr, ERR_INVALID, "the histogram is cut off");
	rc = rc ? rc
		: inflate_bytes((const char *)r.p, length,
				INFLATE_FREE + (size_t)length * GUNZIP_RATIO_MAX, &plain, reterr);
	if (!rc) {
		r = reader_of(plain.data, plain.len);
		rc = read_payload(&r, unit_ns, h, reterr);
	}
	strbuf_done(&packed);
	strbuf_done(&plain);
	return rc;
}

/* ---- the log ---- */

struct hdr_log {
	struct scan scan;
	struct run *r;
	int64_t unit_ns;
	double seconds;
	size_t intervals;
};

static struct series *series_of_tag(struct hdr_log *l, struct span tag)
{
	char *text = tag.len ? span_dup(tag) : NULL;
	struct series *s = NULL;

	for (size_t i = 0; !s && i < l->r->series_len; i++) {
		const char *have = labels_get(&l->r->series[i].labels, "tag");

		if ((!have && !text) || (have && text && !strcmp(have, text)))
			s = &l->r->series[i];
	}
	if (!s) {
		s = import_hist(l->r, "request_latency", "hdrhistogram", 0);
		s->hist.scheme = HIST_EDGES;
		labels_set(&s->labels, "tag", text);
	}
	free(text);
	return s;
}

static int read_interval(struct hdr_log *l, struct span line, struct err *reterr)
{
	struct span tag = {NULL, 0}, start, length, max, text;
	struct hist h = {0};
	double seconds, v;
	int rc;

	if (span_skip(&line, "Tag=") && !span_field(&line, ',', &tag))
		return scan_error(&l->scan, line.p, reterr, "a tag without an interval");
	if (!span_field(&line, ',', &start) || !span_field(&line, ',', &length) ||
	    !span_field(&line, ',', &max) || !span_field(&line, ',', &text) || line.p ||
	    !span_double(start, &v) || !span_double(length, &seconds) || !span_double(max, &v))
		return scan_error(
			&l->scan, NULL, reterr,
			"not \"start,length,max,histogram\" (decimal commas cannot be read)");
	rc = read_histogram(span_trim(text), l->unit_ns, &h, reterr);
	if (!rc)
		rc = hist_merge(&series_of_tag(l, tag)->hist, &h, reterr);
	hist_done(&h);
	if (rc)
		return scan_prefix(&l->scan, reterr);
	l->seconds += seconds > 0 ? seconds : 0;
	l->intervals++;
	return 0;
}

/* "#[StartTime: 1441812279.474 (seconds since epoch), ...]" */
static void read_comment(struct hdr_log *l, struct span line)
{
	struct span word;
	double v;

	if (span_skip(&line, "#[StartTime:") && span_word(&line, &word) && span_double(word, &v) &&
	    v > 0)
		(void)scale_ns(v, 1e9, &l->r->started_ns);
}

static int hdr_log_read(const char *data, size_t len, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	struct hdr_log l = {.r = import_run(ret, o)};
	struct span line;
	int rc = import_unit(l.r, o, 0, 1, "what jHiccup and most programs record", &l.unit_ns,
			     reterr);

	scan_init(&l.scan, data, len, o);
	while (!rc && scan_line(&l.scan, &line)) {
		line = span_trim(line);
		if (!line.len || *line.p == '"')
			continue;
		if (*line.p == '#')
			read_comment(&l, line);
		else
			rc = read_interval(&l, line, reterr);
	}
	if (!rc && !l.intervals)
		return err_set(reterr, ERR_INVALID, "%s: no interval in the log", l.scan.source);
	if (!rc)
		l.r->measured_ns = duration_ns(l.seconds);
	return rc;
}

static int hdr_log_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line)) {
		if (span_starts(line, "#[Histogram log format version") ||
		    span_find(line, "\"Interval_Compressed_Histogram\""))
			return 95;
		if (span_find(line, ",HIST"))
			return 85;
	}
	return 0;
}

const struct import_format import_hdr_log = {
	.name = "hdr-log",
	.title = "HdrHistogram interval log (V0, V1, V2)",
	.sniff = hdr_log_sniff,
	.read = hdr_log_read,
};
