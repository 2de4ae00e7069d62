/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of runs -> sides of a comparison. */
#pragma once

#include "common/compare/compare.h"
#include "common/import/import.h"

#define SIDES_MAX 6
/* What was asked for one side: files (offline) or one selector (server), and factor levels. */
struct side_request {
	const char **files; /* borrowed from argv */
	size_t n, cap;
	struct labels factors;
};

struct sides {
	struct side_request request[SIDES_MAX];
	size_t n;
	struct runs runs[SIDES_MAX];
	char *names[SIDES_MAX];
	struct compare_side side[SIDES_MAX];
};

void sides_done(struct sides *s);
/* Reads every file of every side. With one side, `by` (or its only varying factor) splits it,
 * unless `single` allows one side and no `by` is given. */
int sides_read(struct sides *s, const struct import_options *base, const char *by, bool single,
	       struct err *reterr) MUSTCHECK;
