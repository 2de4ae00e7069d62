/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A spool segment: header, records, and a footer once it is sealed. Little-endian.
 *
 *   header  64 B  "RSSG" u16 version u16 0  stream[16]  open_run[16]  u64 first_seq
 *                 i64 created_realtime_ns  u32 0  u32 crc32c of the 60 bytes before
 *   records       as they are posted, numbers ascending from first_seq; a number may be missing
 *   footer  64 B  "RSFT" u16 version u16 flags  u32 records  u32 crc32c of the records' crcs
 *                 u64 last_seq  u64 samples  open_run[16]  u64 0  u32 0  u32 crc32c
 *
 * open_run is the uid of the run that is open at that point, zero for none: after a crash only
 * the last segment must be read to know which run to end. */
#pragma once

#include "common/record.h"

#define SEGMENT_HEADER_LEN 64
#define SEGMENT_FOOTER_LEN 64
#define RUN_UID_LEN	   16

enum { SEGMENT_CLOSED = 1 }; /* footer flag: the stream ended here as intended */

struct segment_header {
	unsigned char stream[STREAM_ID_LEN], open_run[RUN_UID_LEN];
	uint64_t first_seq;
	int64_t created_ns;
};

struct segment_footer {
	uint16_t flags;
	uint32_t records, crc_of_crcs;
	uint64_t last_seq, samples;
	unsigned char open_run[RUN_UID_LEN];
};

void segment_put_header(const struct segment_header *h, unsigned char out[SEGMENT_HEADER_LEN]);
bool segment_read_header(const unsigned char *in, size_t len, struct segment_header *ret);
void segment_put_footer(const struct segment_footer *f, unsigned char out[SEGMENT_FOOTER_LEN]);
bool segment_read_footer(const unsigned char *in, size_t len, struct segment_footer *ret);

/* What a walk over the records of a segment found. */
struct segment_scan {
	uint64_t first, last; /* numbers of good records; first > last: none */
	uint64_t records, samples;
	uint32_t crc_of_crcs;
	size_t good_end;   /* offset behind the last good record */
	size_t bad_bytes;  /* bytes between good records that are none */
	bool torn;	   /* bytes behind the last good record */
	bool order_broken; /* a good record whose number is not above the one before */
	unsigned char open_run[RUN_UID_LEN]; /* in: at the begin; out: at the end */
};

/* Walks `len` bytes of records (without header and footer) and resynchronises on the magic after
 * a bad one. Each good record in order is given to `fn` (may be NULL). */
void segment_scan_records(const unsigned char *data, size_t len, struct segment_scan *scan,
			  void (*fn)(void *user, const unsigned char *record, size_t len),
			  void *user);

void hex_put(const unsigned char *bytes, size_t len, char *hex); /* 2 * len + 1 */
bool hex_read(const char *hex, unsigned char *bytes, size_t len);
