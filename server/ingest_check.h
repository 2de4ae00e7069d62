/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of a POST of records: every byte is checked before anything is stored, so that what is
 * staged can be packed. Pure; safe on any bytes (tests/fuzz). */
#pragma once

#include "common/err.h"
#include "common/record.h"

#define INGEST_BODY_MAX (2u << 20)

/* Consecutive records of one run: one row of record_staging. */
struct ingest_part {
	uint32_t run;
	uint64_t first_seq, last_seq;
	int64_t first_ns, last_ns;
	uint64_t samples;
	bool run_end;
	size_t off, len; /* in the body */
};

struct ingest_batch {
	struct ingest_part *parts;
	size_t n, cap;
	uint64_t first, last; /* numbers covered */
	uint32_t last_crc;    /* in the header of the last record */
	bool has_crc;	      /* false: it was a GAP in place of records, made anew each time */
	uint64_t samples, gap_samples;
};
void ingest_batch_done(struct ingest_batch *b);

struct ingest_source {
	const char *host; /* RUN_START must name it */
	const unsigned char *stream;
	uint64_t expected; /* records below are known and skipped */
	bool has_crc;	   /* of record expected - 1 */
	uint32_t last_crc;
};

/* The records from `expected` on. A GAP record that names its own stream stands for all numbers
 * of its range; its own number lies in it. ERR_CONFLICT: record expected - 1 has other bytes than
 * the one that was stored (fork). ERR_NOT_FOUND: the batch begins above `expected`. Everything
 * else is wrong for ever. */
int ingest_check(const void *body, size_t len, const struct ingest_source *src,
		 struct ingest_batch *ret, struct err *reterr) MUSTCHECK;
/* CRC in the header of the last record, by walking the lengths only; *ret_has as has_crc above. */
int ingest_last_crc(const void *body, size_t len, uint32_t *ret, bool *ret_has,
		    struct err *reterr) MUSTCHECK;
