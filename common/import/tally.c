/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/tally.h"

#define FIRST_CAP 65536

static int by_key_and_value(const void *a, const void *b)
{
	const struct tally_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

void tally_settle(struct tally *t)
{
	size_t to = 0;

	if (!t->len)
		return;
	qsort(t->v, t->len, sizeof(*t->v), by_key_and_value);
	for (size_t i = 1; i < t->len; i++) {
		if (by_key_and_value(&t->v[i], &t->v[to]) == 0)
			t->v[to].n += t->v[i].n;
		else
			t->v[++to] = t->v[i];
	}
	t->len = to + 1;
}

/* Settling that frees less than half would have to be done again too soon. */
static void make_room(struct tally *t)
{
	tally_settle(t);
	if (t->cap && t->len <= t->cap / 2)
		return;
	t->cap = t->cap ? 2 * t->cap : FIRST_CAP;
	t->v = xrealloc(t->v, t->cap, sizeof(*t->v));
}

void tally_add(struct tally *t, uint32_t key, int64_t value)
{
	if (t->len == t->cap)
		make_room(t);
	t->v[t->len++] = (struct tally_entry){key, value, 1};
}

size_t tally_key_end(const struct tally *t, size_t from)
{
	size_t end = from;

	while (end < t->len && t->v[end].key == t->v[from].key)
		end++;
	return end;
}

void tally_done(struct tally *t)
{
	free(t->v);
	*t = (struct tally){0};
}
