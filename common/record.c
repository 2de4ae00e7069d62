/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records: written once by the agent, read by spool recovery, server and tools. */
#include "common/record.h"
#include "common/check.h"
#include "common/crc32c.h"

#include <inttypes.h>

#define CRC_OFFSET 40

void record_begin(struct record_writer *w)
{
	strbuf_clear(&w->buf);
	for (int i = 0; i < RECORD_HEADER_LEN; i++)
		strbuf_putc(&w->buf, 0);
	w->samples = 0;
	w->item = 0;
}

/* An item's length stands before its bytes, so small items are built aside. */
static void put_item(struct record_writer *w, enum item_type type, const struct strbuf *body)
{
	CHECK(w->buf.len >= RECORD_HEADER_LEN);
	put_varint(&w->buf, type);
	put_varint(&w->buf, body->len);
	strbuf_add(&w->buf, body->data, body->len);
}

void record_item_json(struct record_writer *w, enum item_type type, const char *json, size_t len)
{
	struct strbuf body = {.data = (char *)json, .len = len};

	put_item(w, type, &body);
}

void record_item_series(struct record_writer *w, uint64_t number, const char *json, size_t len)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};

	put_varint(&body, number);
	strbuf_add(&body, json, len);
	put_item(w, ITEM_SERIES, &body);
}

static void put_slice(struct strbuf *b, uint64_t series, int64_t t0_ns, int64_t dt_ns)
{
	put_varint(b, series);
	put_zigzag(b, t0_ns);
	put_varint(b, (uint64_t)dt_ns);
}

void record_item_hist(struct record_writer *w, uint64_t series, int64_t t0_ns, int64_t dt_ns,
		      const struct hist_rec *h)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};

	put_slice(&body, series, t0_ns, dt_ns);
	hist_rec_encode(h, &body);
	put_item(w, ITEM_HIST, &body);
	w->samples += (uint32_t)h->count;
}

void record_item_hist_whole(struct record_writer *w, uint64_t series, int64_t t_ns,
			    const struct strbuf *encoded, uint64_t count)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};

	put_slice(&body, series, t_ns, 1);
	strbuf_add(&body, encoded->data, encoded->len);
	put_item(w, ITEM_HIST, &body);
	w->samples += count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* Enabled and running times hardly change from sample to sample, so their deltas are written;
 * running is written as what it lacks to enabled, which is 0 without multiplexing. */
void record_item_counter(struct record_writer *w, uint64_t series, int64_t t0_ns, int64_t dt_ns,
			 const struct counter_sample *s, size_t n)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	struct counter_sample last = {0, 0, 0};

	put_slice(&body, series, t0_ns, dt_ns);
	put_varint(&body, n);
	for (size_t i = 0; i < n; i++) {
		put_zigzag(&body, (int64_t)((uint64_t)s[i].delta - (uint64_t)last.delta));
		put_zigzag(&body, (int64_t)(s[i].enabled_ns - last.enabled_ns));
		put_zigzag(&body, (int64_t)(s[i].enabled_ns - s[i].running_ns));
		last = s[i];
	}
	put_item(w, ITEM_COUNTER, &body);
	w->samples += (uint32_t)n;
}

void record_item_value(struct record_writer *w, uint64_t series, double value)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_varint(&body, series);
	put_le(&body, bits, 8);
	put_item(w, ITEM_VALUE, &body);
	w->samples++;
}

void record_item_phase(struct record_writer *w, unsigned int phase, int64_t t_ns)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};

	put_le(&body, phase, 1);
	put_le(&body, (uint64_t)t_ns, 8);
	put_item(w, ITEM_PHASE, &body);
}

static void store_le(char *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (char)(v >> (8 * i));
}

static uint32_t crc_of(const char *data, size_t len)
{
	uint32_t crc = crc32c(0, data, CRC_OFFSET);

	return crc32c(crc, data + RECORD_HEADER_LEN, len - RECORD_HEADER_LEN);
}

void record_finish(struct record_writer *w, uint64_t seq, uint32_t run, int64_t boottime_ns,
		   int64_t realtime_ns)
{
	char *h = w->buf.data;

	CHECK(seq > 0 && w->buf.len <= RECORD_MAX_LEN);
	store_le(h, RECORD_MAGIC, 2);
	h[2] = RECORD_VERSION;
	h[3] = 0;
	store_le(h + 4, w->buf.len, 4);
	store_le(h + 8, seq, 8);
	store_le(h + 16, run, 4);
	store_le(h + 20, w->samples, 4);
	store_le(h + 24, (uint64_t)boottime_ns, 8);
	store_le(h + 32, (uint64_t)realtime_ns, 8);
	store_le(h + CRC_OFFSET, crc_of(h, w->buf.len), 4);
}

void record_writer_done(struct record_writer *w)
{
	strbuf_done(&w->buf);
}

/* ---- reading ---- */

int record_check(const void *data, size_t len, struct record_header *ret, struct err *reterr)
{
	struct reader r = reader_of(data, len);
	struct record_header h = {0};
	uint64_t magic = read_le(&r, 2), version = read_le(&r, 1);

	h.flags = (uint8_t)read_le(&r, 1);
	h.length = (uint32_t)read_le(&r, 4);
	h.seq = read_le(&r, 8);
	h.run = (uint32_t)read_le(&r, 4);
	h.samples = (uint32_t)read_le(&r, 4);
	h.boottime_ns = (int64_t)read_le(&r, 8);
	h.realtime_ns = (int64_t)read_le(&r, 8);
	h.crc = (uint32_t)read_le(&r, 4);
	if (len >= 2 && magic != RECORD_MAGIC)
		return err_set(reterr, ERR_INVALID, "record does not begin with its magic");
	if (r.bad)
		return err_set(reterr, ERR_LIMIT, "record header is cut short");
	if (version != RECORD_VERSION)
		return err_set(reterr, ERR_INVALID,
			       "record version %" PRIu64 " is not known (this program knows %d)",
			       version, RECORD_VERSION);
	if (h.length < RECORD_HEADER_LEN || h.length > RECORD_MAX_LEN || h.seq == 0)
		return err_set(reterr, ERR_INVALID, "record length %u is out of bounds", h.length);
	if (h.length > len)
		return err_set(reterr, ERR_LIMIT, "record %" PRIu64 " is cut short", h.seq);
	if (crc_of(data, h.length) != h.crc)
		return err_set(reterr, ERR_INVALID, "record %" PRIu64 ": checksum differs", h.seq);
	*ret = h;
	return 0;
}

struct reader record_payload(const void *data, const struct record_header *h)
{
	return reader_of((const char *)data + RECORD_HEADER_LEN, h->length - RECORD_HEADER_LEN);
}

int record_next_item(struct reader *r, struct record_item *ret, struct err *reterr)
{
	uint64_t type, len;

	if (!reader_left(r) && !r->bad)
		return 0;
	type = read_varint(r);
	len = read_varint(r);
	ret->data = read_bytes(r, len);
	if (r->bad || type == 0 || type > 1000)
		return err_set(reterr, ERR_INVALID, "record item is malformed");
	ret->type = (enum item_type)type;
	ret->len = (size_t)len;
	return 1;
}

static int read_slice(struct reader *r, uint64_t *series, int64_t *t0_ns, int64_t *dt_ns,
		      const char *what, struct err *reterr)
{
	uint64_t dt;

	*series = read_varint(r);
	*t0_ns = read_zigzag(r);
	dt = read_varint(r);
	if (r->bad || dt > INT64_MAX)
		return err_set(reterr, ERR_INVALID, "%s item is cut short", what);
	*dt_ns = (int64_t)dt;
	return 0;
}

int item_hist_read(const struct record_item *it, struct item_hist *ret, struct err *reterr)
{
	ret->hist = reader_of(it->data, it->len);
	return read_slice(&ret->hist, &ret->series, &ret->t0_ns, &ret->dt_ns, "histogram", reterr);
}

int item_counter_read(const struct record_item *it, struct item_counter *ret, struct err *reterr)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->samples = reader_of(it->data, it->len);
	rc = read_slice(&ret->samples, &ret->series, &ret->t0_ns, &ret->dt_ns, "counter", reterr);
	if (rc)
		return rc;
	ret->n = read_varint(&ret->samples);
	if (ret->samples.bad || ret->n > reader_left(&ret->samples) / 3)
		return err_set(reterr, ERR_INVALID, "counter item has more samples than bytes");
	return 0;
}

int item_counter_next(struct item_counter *c, struct counter_sample *ret, struct err *reterr)
{
	struct counter_sample *last = &c->last;

	last->delta = (int64_t)((uint64_t)last->delta + (uint64_t)read_zigzag(&c->samples));
	last->enabled_ns += (uint64_t)read_zigzag(&c->samples);
	last->running_ns = last->enabled_ns - (uint64_t)read_zigzag(&c->samples);
	if (c->samples.bad)
		return err_set(reterr, ERR_INVALID, "counter item is cut short");
	*ret = *last;
	return 0;
}

int item_value_read(const struct record_item *it, uint64_t *ret_series, double *ret_value,
		    struct err *reterr)
{
	struct reader r = reader_of(it->data, it->len);
	uint64_t bits;

	*ret_series = read_varint(&r);
	bits = read_le(&r, 8);
	if (r.bad || reader_left(&r))
		return err_set(reterr, ERR_INVALID, "value item is malformed");
	memcpy(ret_value, &bits, sizeof(bits));
	return 0;
}

int item_series_read(const struct record_item *it, uint64_t *ret_number, const char **ret_json,
		     size_t *ret_len, struct err *reterr)
{
	struct reader r = reader_of(it->data, it->len);

	*ret_number = read_varint(&r);
	if (r.bad || !reader_left(&r))
		return err_set(reterr, ERR_INVALID, "series item is malformed");
	*ret_json = (const char *)r.p;
	*ret_len = reader_left(&r);
	return 0;
}

int item_phase_read(const struct record_item *it, unsigned int *ret_phase, int64_t *ret_t_ns,
		    struct err *reterr)
{
	struct reader r = reader_of(it->data, it->len);

	*ret_phase = (unsigned int)read_le(&r, 1);
	*ret_t_ns = (int64_t)read_le(&r, 8);
	if (r.bad || reader_left(&r) || *ret_phase < 1 || *ret_phase > 3)
		return err_set(reterr, ERR_INVALID, "phase item is malformed");
	return 0;
}
