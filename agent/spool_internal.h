/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by spool.c (writing, quota), spool_open.c (directories, recovery) and spool_read.c
 * (delivery, holes). Nobody else includes this. */
#pragma once

#include "agent/segment.h"
#include "agent/spool.h"

#define SYNC_FDS 8

/* A run of records that is held: a file, or memory while there is no disk. Numbers inside may be
 * missing (damage); between segments too. */
struct segment {
	uint64_t first, last; /* first > last: empty */
	uint64_t bytes;	      /* of the file, or of `ram` */
	uint64_t records, samples;
	int64_t created_ns, acked_ns; /* boot time; 0: not all of it is acknowledged */
	bool sealed, in_ram;
	struct strbuf ram;
};

/* Numbers that are gone, and why. */
struct hole {
	uint64_t from, to, samples;
	const char *reason; /* static text of the GAP record */
	char *text;
	uint32_t *each; /* samples of each of the first numbers; NULL: only the sum is known */
	size_t each_len;
};

struct stream {
	char hex[STREAM_HEX];
	unsigned char id[STREAM_ID_LEN];
	int dirfd; /* flock()ed; -1 without a disk */
	struct segment **seg;
	size_t len, cap;
	struct hole *hole;
	size_t holes, holes_cap;
	uint64_t acked;	    /* the server has everything below */
	uint64_t acked_max; /* what it had once: a server may lose commits */
	uint64_t next;	    /* one above the newest number */
	bool clean;	    /* found with the closed flag */
	bool damaged;	    /* files of it went to corrupt/ */
	unsigned char open_run[RUN_UID_LEN];
	/* where the last read ended, so that the next need not search */
	uint64_t read_seq;
	struct segment *read_seg;
	size_t read_at;
};

struct spool {
	struct spool_conf conf;
	char *dir, *host;
	int dirfd, lockfd;
	struct stream *own;
	struct stream **old;
	size_t old_len, old_cap;
	int fd; /* of the segment that is written; -1: none */
	struct segment *writing;
	uint32_t crc_of_crcs;
	unsigned char open_run[RUN_UID_LEN];
	bool quiet;
	unsigned int generation;
	uint32_t runs; /* ordinals given in our stream */
	/* what fdatasync has not confirmed */
	struct strbuf unsynced;
	uint64_t unsynced_first, unsynced_bytes;
	bool unsynced_whole; /* `unsynced` holds all of it */
	int sync_fd[SYNC_FDS];
	size_t sync_fds;
	bool sync_busy, sync_overflow; /* more sealed files than sync_fd[] holds */
	unsigned int sync_failures;
	int64_t last_sync_ns, retry_ns;
	bool degraded;
	char reason[200];
	uint64_t dropped_records, dropped_samples;
	struct record_writer gap_writer;
};

/* spool.c */
struct segment *stream_add_segment(struct stream *st, uint64_t first);
void stream_remove_segment(struct spool *s, struct stream *st, size_t i); /* unlinks the file */
void stream_add_hole(struct spool *s, struct stream *st, uint64_t from, uint64_t to,
		     uint64_t samples, const char *reason, const char *text);
void segment_name(char name[32], uint64_t first);
void spool_degrade(struct spool *s, const char *fmt, ...) PRINTF(2, 3);
void spool_forget_unsynced(struct spool *s);
void spool_store(struct spool *s, const void *data, size_t len, const struct record_header *h);
void spool_finish_segment(struct spool *s, bool closed);
void spool_enforce_quota(struct spool *s);
uint64_t stream_floor(const struct stream *st); /* lowest number that still matters */

/* spool_open.c */
int stream_create(struct stream **ret, struct err *reterr) MUSTCHECK;
void stream_free(struct stream *st);
bool spool_reopen_dir(struct spool *s);
bool spool_write_all(int fd, const void *data, size_t len);
/* Moves or copies bytes aside; bounded, best effort, never fails the caller. */
void spool_put_aside(struct spool *s, const char *subdir, const char *name, const void *data,
		     size_t len);
void stream_delete(struct spool *s, struct stream *st);
