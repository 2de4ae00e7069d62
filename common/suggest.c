/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/suggest.h"

#define WORD_MAX 40

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Optimal string alignment distance of two words of at most WORD_MAX bytes. */
static unsigned int distance(const char *a, size_t la, const char *b, size_t lb)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= la; i++)
		d[i][0] = (unsigned int)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			unsigned int cost = a[i - 1] != b[j - 1];

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[la][lb];
}

const char *suggest_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	unsigned int best = WORD_MAX;
	const char *found = NULL;

	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(candidates[i]);
		size_t longer = len > other ? len : other;
		unsigned int d;

		if (other > WORD_MAX)
			continue;
		d = distance(word, len, candidates[i], other);
		if (d < best && d * 3 <= longer) {
			best = d;
			found = candidates[i];
		}
	}
	return found;
}
