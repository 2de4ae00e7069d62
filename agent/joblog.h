/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of one workload: the beginning in a file up to a bound, the end in memory. What lies
 * between is counted, and the file says so. Write errors (a full disk) count as left out. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

#define JOBLOG_TAIL 8192

struct joblog {
	int fd;
	uint64_t bytes_max, written, left_out;
	char tail[JOBLOG_TAIL]; /* ring */
	uint64_t total;
};

int joblog_open(struct joblog *l, const char *path, uint64_t bytes_max,
		struct err *reterr) MUSTCHECK;
void joblog_add(struct joblog *l, const char *data, size_t len);
/* The last lines, at most `lines` of them, control characters replaced. */
void joblog_tail(const struct joblog *l, size_t lines, struct strbuf *out);
void joblog_close(struct joblog *l);
