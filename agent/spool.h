/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool: records on disk until the server has them. One directory per stream,
 * <dir>/<stream>/<first seq, 16 hex>.seg; the format of a segment is in segment.h.
 *
 * This process writes one stream of its own and drains what earlier processes left. State is
 * derived from the data files alone. Opening repairs: a torn tail is cut, a bad middle is
 * skipped to the next good record, and the file is put aside in <dir>/corrupt. It refuses only
 * when another process holds the directory. Without a usable disk the spool keeps records in
 * memory, bounded, and tries the disk again.
 *
 * Whatever cannot be delivered any more (quota, corruption, refusal) is a hole in the sequence:
 * spool_read() puts a GAP record in its place, so generated = delivered + declared.
 *
 * Loop thread only, except spool_sync_work(). */
#pragma once

#include "agent/conf.h"
#include "common/record.h"

#define STREAM_HEX (2 * STREAM_ID_LEN + 1)

struct spool_conf {
	const char *dir;
	const char *host;
	const char *boot_id;
	enum sync_policy sync;
	uint64_t bytes_max;	/* of unsent and retained segments; 0: 256 MiB */
	size_t segments_max;	/* 0: 4096 */
	uint64_t free_min;	/* bytes of the file system to leave free */
	uint64_t segment_bytes; /* a segment is closed at this size; 0: 4 MiB */
	int64_t segment_ns;	/* or this age; 0: 60 s */
	uint64_t retain_bytes;	/* delivered segments are kept as long as either... */
	int64_t retain_ns;	/* ...bound allows: 64 MiB, 15 min by default (0) */
	uint64_t ram_bytes;	/* without a disk; 0: 4 MiB */
	bool exclusive; /* refuse a second spool with this flag on the directory (the daemon) */
};

struct spool;
int spool_open(const struct spool_conf *conf, struct spool **ret, struct err *reterr) MUSTCHECK;
/* Flushes, seals and frees. A stream whose runs have all ended is marked closed. */
void spool_close(struct spool *s);
void spool_closep(struct spool **s);

const char *spool_stream(const struct spool *s); /* of this process, 32 hex digits */
uint64_t spool_next_seq(const struct spool *s);

/* Finishes the writer's record with the next sequence number and stores it. It cannot fail: with
 * a full or broken disk the record goes to memory, and what memory cannot hold is a hole. */
void spool_append(struct spool *s, struct record_writer *w, uint32_t run);
/* The ordinal of a new run in our stream, from 1. */
uint32_t spool_new_run(struct spool *s);
/* Names the run that is open in this stream (NULL: none), so that a crash can be told. */
void spool_set_open_run(struct spool *s, const char *run_uid);

/* Old streams found at opening, or later by spool_rescan(), that nobody else holds. */
void spool_rescan(struct spool *s);
/* The stream to deliver next: old ones first, then our own. False when all is delivered. */
struct spool_position {
	char stream[STREAM_HEX];
	uint64_t first; /* oldest number still held */
	uint64_t acked; /* the server has everything below */
	uint64_t next;	/* one after the newest */
	bool own;
};
bool spool_pending(struct spool *s, struct spool_position *ret);

/* Up to `bytes_max` bytes of records of the stream from number `from` on, contiguous, appended
 * to `out`; at least one record when there is one. Holes are filled with GAP records. *ret_last
 * is the last number covered. False: nothing there. */
bool spool_read(struct spool *s, const char *stream, uint64_t from, size_t bytes_max,
		struct strbuf *out, uint64_t *ret_last);
/* Realtime of the oldest record that is not delivered; 0 when all is. */
int64_t spool_oldest_ns(struct spool *s);
/* Everything below next_seq is stored by the server. Deletes segments past their retention; an
 * old stream that is delivered goes away altogether. */
void spool_acked(struct spool *s, const char *stream, uint64_t next_seq);
/* The server refused from..to for ever: the bytes are copied to <dir>/rejected and the numbers
 * become a hole with this reason. */
void spool_reject(struct spool *s, const char *stream, uint64_t from, uint64_t to,
		  const char *reason);
/* The server holds other bytes under our numbers (fork: a restored snapshot, a cloned disk). What
 * is not delivered goes to <dir>/rejected with a GAP record. Our own stream goes on under a new id
 * and the generation rises: a run that was open is lost with the old stream. */
void spool_fork(struct spool *s, const char *stream);
unsigned int spool_generation(const struct spool *s);

/* fsync in another thread: begin on the loop thread, work on any, end on the loop thread. begin
 * returns false when nothing is to be synced now (policy, quiet, no change). */
struct spool_sync {
	int fd[8];
	size_t fds;
	bool file_system; /* too many files for fd[]: syncfs() of the first */
	int error;	  /* errno, 0 */
	uint64_t upto, bytes;
};
bool spool_sync_begin(struct spool *s, struct spool_sync *ret);
void spool_sync_work(struct spool_sync *sync);
void spool_sync_end(struct spool *s, const struct spool_sync *sync);
/* Both in one, here and now. */
void spool_sync_now(struct spool *s);
/* While quiet, nothing is synced under SYNC_QUIET and SYNC_INTERVAL. */
void spool_set_quiet(struct spool *s, bool quiet);
/* Once a second: closes old segments, enforces quota and floor, tries a lost disk again. */
void spool_tick(struct spool *s);
/* The next tick tries a lost disk without waiting (5 s otherwise). */
void spool_retry_now(struct spool *s);

struct spool_stats {
	uint64_t bytes, segments; /* on disk */
	uint64_t pending_records, ram_bytes;
	uint64_t dropped_records, dropped_samples; /* since opening, all reasons */
	bool degraded;				   /* memory only */
	char reason[200];			   /* why */
};
void spool_stats(const struct spool *s, struct spool_stats *ret);
