/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LEB128 and zigzag, and bounded little-endian reading of bytes from outside. */
#pragma once

#include "common/strbuf.h"

/* A read position in foreign bytes. Any read past the end sets `bad` and returns 0, so that a
 * decoder may read a group of fields and check once. */
struct reader {
	const unsigned char *p, *end;
	bool bad;
};

static inline struct reader reader_of(const void *data, size_t len)
{
	return (struct reader){data, (const unsigned char *)data + len, false};
}

static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->p);
}

static inline uint64_t read_varint(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		unsigned char c;

		if (r->p == r->end)
			break;
		c = *r->p++;
		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	r->bad = true;
	r->p = r->end;
	return 0;
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t read_zigzag(struct reader *r)
{
	return unzigzag(read_varint(r));
}

/* Little-endian, 1 to 8 bytes. */
static inline uint64_t read_le(struct reader *r, size_t bytes)
{
	uint64_t v = 0;

	if (reader_left(r) < bytes) {
		r->bad = true;
		r->p = r->end;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)r->p[i] << (8 * i);
	r->p += bytes;
	return v;
}

/* Borrowed pointer into the input, NULL (and bad) when it is too short. */
static inline const unsigned char *read_bytes(struct reader *r, uint64_t len)
{
	const unsigned char *p = r->p;

	if (reader_left(r) < len) {
		r->bad = true;
		r->p = r->end;
		return NULL;
	}
	r->p += len;
	return p;
}

static inline void put_varint(struct strbuf *b, uint64_t v)
{
	unsigned char buf[10];
	size_t n = 0;

	do {
		buf[n] = (unsigned char)(v & 0x7f);
		v >>= 7;
		if (v)
			buf[n] |= 0x80;
		n++;
	} while (v);
	strbuf_add(b, buf, n);
}

static inline void put_zigzag(struct strbuf *b, int64_t v)
{
	put_varint(b, zigzag(v));
}

static inline void put_le(struct strbuf *b, uint64_t v, size_t bytes)
{
	unsigned char buf[8];

	for (size_t i = 0; i < bytes; i++)
		buf[i] = (unsigned char)(v >> (8 * i));
	strbuf_add(b, buf, bytes);
}
