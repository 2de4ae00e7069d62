/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single samples of a few keys (cpu, thread), counted by value. Memory is bounded by the number of
 * different pairs, not of samples, so files of any length can be read. */
#pragma once

#include "common/base.h"

struct tally_entry {
	uint32_t key;
	int64_t value;
	uint64_t n; /* samples of this value */
};

struct tally {
	struct tally_entry *v;
	size_t len, cap;
};

void tally_add(struct tally *t, uint32_t key, int64_t value);
/* Sorts by key, then value, and makes each pair one entry. */
void tally_settle(struct tally *t);
void tally_done(struct tally *t);
/* After tally_settle: the end of the entries of the key that v[from] has. */
size_t tally_key_end(const struct tally *t, size_t from);
