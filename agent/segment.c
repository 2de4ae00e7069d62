/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/segment.h"

#include "common/crc32c.h"

#define VERSION 1

static void store(unsigned char *at, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t load(const unsigned char *at, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}

static void begin(unsigned char *out, size_t len, const char magic[5], uint16_t flags)
{
	memset(out, 0, len);
	memcpy(out, magic, 4);
	store(out + 4, VERSION, 2);
	store(out + 6, flags, 2);
}

static bool valid(const unsigned char *in, size_t len, const char magic[5])
{
	return !memcmp(in, magic, 4) && load(in + 4, 2) == VERSION &&
	       load(in + len - 4, 4) == crc32c(0, in, len - 4);
}

void segment_put_header(const struct segment_header *h, unsigned char out[SEGMENT_HEADER_LEN])
{
	begin(out, SEGMENT_HEADER_LEN, "RSSG", 0);
	memcpy(out + 8, h->stream, STREAM_ID_LEN);
	memcpy(out + 24, h->open_run, RUN_UID_LEN);
	store(out + 40, h->first_seq, 8);
	store(out + 48, (uint64_t)h->created_ns, 8);
	store(out + 60, crc32c(0, out, 60), 4);
}

bool segment_read_header(const unsigned char *in, size_t len, struct segment_header *ret)
{
	if (len < SEGMENT_HEADER_LEN || !valid(in, SEGMENT_HEADER_LEN, "RSSG"))
		return false;
	memcpy(ret->stream, in + 8, STREAM_ID_LEN);
	memcpy(ret->open_run, in + 24, RUN_UID_LEN);
	ret->first_seq = load(in + 40, 8);
	ret->created_ns = (int64_t)load(in + 48, 8);
	return ret->first_seq > 0;
}

void segment_put_footer(const struct segment_footer *f, unsigned char out[SEGMENT_FOOTER_LEN])
{
	begin(out, SEGMENT_FOOTER_LEN, "RSFT", f->flags);
	store(out + 8, f->records, 4);
	store(out + 12, f->crc_of_crcs, 4);
	store(out + 16, f->last_seq, 8);
	store(out + 24, f->samples, 8);
	memcpy(out + 32, f->open_run, RUN_UID_LEN);
	store(out + 60, crc32c(0, out, 60), 4);
}

bool segment_read_footer(const unsigned char *in, size_t len, struct segment_footer *ret)
{
	if (len < SEGMENT_FOOTER_LEN || !valid(in, SEGMENT_FOOTER_LEN, "RSFT"))
		return false;
	ret->flags = (uint16_t)load(in + 6, 2);
	ret->records = (uint32_t)load(in + 8, 4);
	ret->crc_of_crcs = (uint32_t)load(in + 12, 4);
	ret->last_seq = load(in + 16, 8);
	ret->samples = load(in + 24, 8);
	memcpy(ret->open_run, in + 32, RUN_UID_LEN);
	return true;
}

/* The uid in a RUN_START or RUN_END object that we wrote ourselves. */
static bool find_uid(const struct record_item *it, unsigned char uid[RUN_UID_LEN])
{
	static const char key[] = "\"run_uid\":\"";
	const unsigned char *at = memmem(it->data, it->len, key, sizeof(key) - 1);
	char hex[2 * RUN_UID_LEN + 1];

	if (!at || (size_t)(it->data + it->len - at) < sizeof(key) - 1 + sizeof(hex) - 1)
		return false;
	memcpy(hex, at + sizeof(key) - 1, sizeof(hex) - 1);
	hex[sizeof(hex) - 1] = '\0';
	return hex_read(hex, uid, RUN_UID_LEN);
}

static void follow_runs(const unsigned char *record, const struct record_header *h,
			struct segment_scan *scan)
{
	struct reader r = record_payload(record, h);
	struct record_item it;
	struct err e;

	while (record_next_item(&r, &it, &e) > 0) {
		unsigned char uid[RUN_UID_LEN];

		if (it.type == ITEM_RUN_START && find_uid(&it, uid))
			memcpy(scan->open_run, uid, RUN_UID_LEN);
		else if (it.type == ITEM_RUN_END && find_uid(&it, uid) &&
			 !memcmp(scan->open_run, uid, RUN_UID_LEN))
			memset(scan->open_run, 0, RUN_UID_LEN);
	}
}

static size_t next_magic(const unsigned char *data, size_t len, size_t at)
{
	for (at++; at + 1 < len; at++)
		if (load(data + at, 2) == RECORD_MAGIC)
			return at;
	return len;
}

static void note_good(const unsigned char *record, const struct record_header *h,
		      struct segment_scan *scan)
{
	unsigned char crc[4];

	store(crc, h->crc, 4);
	scan->crc_of_crcs = crc32c(scan->crc_of_crcs, crc, 4);
	if (!scan->records++)
		scan->first = h->seq;
	scan->last = h->seq;
	scan->samples += h->samples;
	follow_runs(record, h, scan);
}

void segment_scan_records(const unsigned char *data, size_t len, struct segment_scan *scan,
			  void (*fn)(void *user, const unsigned char *record, size_t len),
			  void *user)
{
	size_t at = 0;

	scan->first = 1;
	scan->last = 0;
	while (at < len) {
		struct record_header h;
		struct err e;

		if (record_check(data + at, len - at, &h, &e)) {
			at = next_magic(data, len, at);
			continue;
		}
		if (scan->records && h.seq <= scan->last) {
			scan->order_broken = true;
		} else {
			scan->bad_bytes += at - scan->good_end;
			note_good(data + at, &h, scan);
			if (fn)
				fn(user, data + at, h.length);
		}
		at += h.length;
		scan->good_end = at;
	}
	scan->torn = scan->good_end < len;
}

void hex_put(const unsigned char *bytes, size_t len, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	hex[2 * len] = '\0';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_read(const char *hex, unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int hi = digit(hex[2 * i]), lo = hi < 0 ? -1 : digit(hex[2 * i + 1]);

		if (lo < 0)
			return false;
		bytes[i] = (unsigned char)(hi << 4 | lo);
	}
	return hex[2 * len] == '\0';
}
