/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of changed settings: what stood there before, on disk before the first write.
 *
 * One line an entry, tab-separated with \t \n \\ escaped, led by the CRC-32C of the rest:
 *   boot  BOOT-ID            first line
 *   set   KIND TARGET OLD NEW
 *   done  KIND TARGET        put back, or left to whoever changed it since
 * Each line is fsynced before the caller goes on, so a torn last line names a write that never
 * happened. The file is locked by the process that has it open and is emptied, never removed. */
#pragma once

#include <sys/types.h>

#include "common/err.h"

#define JOURNAL_PATH "/var/lib/rigstat/tune.journal"

enum target_kind { TARGET_PATH, TARGET_NAMED };

struct journal_entry {
	enum target_kind kind;
	char *target, *old;
	char **ours; /* each value that we wrote or were about to write */
	size_t ours_len, ours_cap;
	bool done;
};

struct journal_book {
	char boot_id[64]; /* "" when the journal is empty */
	struct journal_entry *v;
	size_t len, cap;
	size_t damaged; /* lines whose checksum or form is wrong; they were skipped */
};

struct journal {
	int fd;
	char *path;
	char boot_id[64]; /* of this boot */
	struct journal_book book;
};

/* Opens or creates the file, waits up to wait_ns for another holder (ERR_BUSY names its process),
 * and reads what it holds into j->book. */
int journal_open(struct journal *j, const char *path, const char *boot_id, int64_t wait_ns,
		 struct err *reterr) MUSTCHECK;
/* Puts "we write `value`, `old` stood there first" on disk. */
int journal_note(struct journal *j, enum target_kind kind, const char *target, const char *old,
		 const char *value, struct err *reterr) MUSTCHECK;
int journal_mark_done(struct journal *j, struct journal_entry *e, struct err *reterr) MUSTCHECK;
/* Empties file and book. `keep_copy`: the present content stays in PATH.earlier-boot. */
int journal_clear(struct journal *j, bool keep_copy, struct err *reterr) MUSTCHECK;
void journal_close(struct journal *j);

struct journal_entry *journal_find(struct journal *j, enum target_kind kind, const char *target);
bool journal_is_ours(const struct journal_entry *e, const char *value);
/* Reads /proc/sys/kernel/random/boot_id into a buffer of 64 bytes. */
int journal_boot_id(char *buf, struct err *reterr) MUSTCHECK;
