/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record: what an agent writes once to its spool and posts as the same bytes.
 *
 * Layout, little-endian (docs/PROTOCOL.md has the table):
 *   u16 magic 0x5253 "SR"  u8 version 1  u8 flags  u32 length (header + payload)
 *   u64 seq  u32 run (ordinal of the run in the stream, 0 = none)  u32 samples
 *   i64 boottime_ns  i64 realtime_ns  u32 crc32c (all other bytes of the record)
 *   payload: items, each varint type, varint length, bytes
 * A record belongs to one run at most. Sequence numbers of a stream are 1, 2, 3, ... and the
 * bytes of a number never change. The stream id stands in the spool's segment header and in the
 * X-Rigstat-Stream request header, not in every record. */
#pragma once

#include "common/err.h"
#include "common/hist.h"
#include "common/strbuf.h"

#define RECORD_MAGIC	  0x5253u
#define RECORD_VERSION	  1
#define RECORD_HEADER_LEN 44
#define RECORD_MAX_LEN	  (1u << 20)
#define STREAM_ID_LEN	  16

struct record_header {
	uint8_t flags;
	uint32_t length, run, samples, crc;
	uint64_t seq;
	int64_t boottime_ns, realtime_ns;
};

enum item_type {
	ITEM_RUN_START = 1, /* JSON object: run_uid, kind, experiment, factors, workload, ... */
	ITEM_RUN_END = 2,   /* JSON object: state, reason, window, cost, ... */
	ITEM_SERIES = 3,  /* varint number, then JSON object: metric, unit, kind, labels, method */
	ITEM_HIST = 4,	  /* varint series, zigzag t0_ns, varint dt_ns, encoded histogram */
	ITEM_COUNTER = 5, /* varint series, zigzag t0_ns, varint dt_ns, varint n, n x sample */
	ITEM_VALUE = 6,	  /* varint series, f64: one scalar of the run */
	ITEM_GAP = 7,	  /* JSON object: stream, from_seq, to_seq, samples, reason */
	ITEM_BREACH = 8,  /* JSON object: t_ns, cpu, late_ns, holders [...] */
	ITEM_ENVIRONMENT = 9, /* JSON object of facts; the run refers to it by SHA-256 */
	ITEM_PHASE = 10, /* u8: 1 warm-up begins, 2 measured begins, 3 measured ended; i64 t_ns */
	ITEM_LOG = 11,	 /* JSON object: t_ns, level, text */
};

/* Decoded ITEM_COUNTER sample: a delta of the raw counter with the time it was enabled and
 * running; value = delta * enabled / running (see docs/PROTOCOL.md for states). */
struct counter_sample {
	int64_t delta;
	uint64_t enabled_ns, running_ns;
};

/* ---- writing ---- */
struct record_writer {
	struct strbuf buf;
	size_t item; /* offset of the open item's payload, 0 when none */
	uint32_t samples;
};
void record_begin(struct record_writer *w);
void record_item_json(struct record_writer *w, enum item_type type, const char *json, size_t len);
void record_item_series(struct record_writer *w, uint64_t number, const char *json, size_t len);
void record_item_hist(struct record_writer *w, uint64_t series, int64_t t0_ns, int64_t dt_ns,
		      const struct hist_rec *h);
/* A tool's own histogram of the whole run, encoded, in another scheme than HIST_LOG128. */
void record_item_hist_whole(struct record_writer *w, uint64_t series, int64_t t_ns,
			    const struct strbuf *encoded, uint64_t count);
void record_item_counter(struct record_writer *w, uint64_t series, int64_t t0_ns, int64_t dt_ns,
			 const struct counter_sample *s, size_t n);
void record_item_value(struct record_writer *w, uint64_t series, double value);
void record_item_phase(struct record_writer *w, unsigned int phase, int64_t t_ns);
/* Closes the record: fills header and CRC. The bytes are w->buf until the next record_begin. */
void record_finish(struct record_writer *w, uint64_t seq, uint32_t run, int64_t boottime_ns,
		   int64_t realtime_ns);
void record_writer_done(struct record_writer *w);

/* ---- reading: any bytes are safe ---- */
/* Checks magic, version, length and CRC of the record at data; ERR_INVALID names the fault.
 * ERR_LIMIT when `len` ends inside the record (torn). */
int record_check(const void *data, size_t len, struct record_header *ret,
		 struct err *reterr) MUSTCHECK;

struct record_item {
	enum item_type type;
	const unsigned char *data; /* borrowed */
	size_t len;
};
/* Iterates the items of one checked record: 1 = an item, 0 = no more, negative = malformed. */
int record_next_item(struct reader *r, struct record_item *ret, struct err *reterr) MUSTCHECK;
struct reader record_payload(const void *data, const struct record_header *h);

struct item_hist {
	uint64_t series;
	int64_t t0_ns, dt_ns;
	struct reader hist; /* for hist_decode or hist_rec_decode_add */
};
int item_hist_read(const struct record_item *it, struct item_hist *ret,
		   struct err *reterr) MUSTCHECK;
struct item_counter {
	uint64_t series;
	int64_t t0_ns, dt_ns;
	uint64_t n;
	struct reader samples;	    /* for item_counter_next, n times */
	struct counter_sample last; /* what the next sample's deltas add to */
};
int item_counter_read(const struct record_item *it, struct item_counter *ret,
		      struct err *reterr) MUSTCHECK;
int item_counter_next(struct item_counter *c, struct counter_sample *ret,
		      struct err *reterr) MUSTCHECK;
int item_value_read(const struct record_item *it, uint64_t *ret_series, double *ret_value,
		    struct err *reterr) MUSTCHECK;
int item_series_read(const struct record_item *it, uint64_t *ret_number, const char **ret_json,
		     size_t *ret_len, struct err *reterr) MUSTCHECK;
int item_phase_read(const struct record_item *it, unsigned int *ret_phase, int64_t *ret_t_ns,
		    struct err *reterr) MUSTCHECK;
