/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact counts by generating functions. Counts are doubles: exact integers up to 2^53 and to about
 * 14 digits above. */
#include "common/stats/rank_count.h"

#include <math.h>

/* Inner steps that a subset count may take: some 50 ms, about 55 values a side. */
#define STEPS_MAX 1e8
#define SIGNS_MAX 500

struct indexed {
	double x;
	size_t at;
};

static int cmp_indexed(const void *pa, const void *pb)
{
	const struct indexed *a = pa, *b = pb;

	return (a->x > b->x) - (a->x < b->x);
}

double rank_doubled(const double *x, size_t n, uint32_t *ret_rank)
{
	CLEANUP(freep) struct indexed *v = xcalloc(n + 1, sizeof(*v));
	double ties = 0;
	size_t end;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct indexed){x[i], i};
	if (n > 1)
		qsort(v, n, sizeof(*v), cmp_indexed);
	for (size_t i = 0; i < n; i = end) {
		double t;

		for (end = i + 1; end < n && v[end].x == v[i].x; end++)
			;
		t = (double)(end - i);
		ties += t * t * t - t;
		for (size_t k = i; k < end; k++)
			ret_rank[v[k].at] = (uint32_t)(i + end + 1); /* 2 * mean of i+1..end */
	}
	return ties;
}

/* The Gaussian binomial coefficient: prod over i of (1 - x^(n+i)) / (1 - x^i), up to the middle; it
 * is symmetric. */
bool rank_counts_u(size_t m, size_t n, struct rank_counts *ret)
{
	size_t pairs = m * n, half = pairs / 2;
	CLEANUP(freep) long double *p = NULL;

	if (m > RANK_U_SIZE_MAX || n > RANK_U_SIZE_MAX || m + n > RANK_U_SIZE_MAX ||
	    pairs > RANK_U_PAIRS_MAX)
		return false;
	p = xcalloc(half + 1, sizeof(*p));
	p[0] = 1;
	for (size_t i = 1; i <= m; i++) {
		for (size_t q = half + 1; q-- > n + i;)
			p[q] -= p[q - n - i];
		for (size_t q = i; q <= half; q++)
			p[q] += p[q - i];
	}
	ret->len = pairs + 1;
	ret->n = xcalloc(ret->len, sizeof(*ret->n));
	ret->total = 0;
	for (size_t u = 0; u <= pairs; u++) {
		ret->n[u] = (double)p[u <= half ? u : pairs - u];
		ret->total += ret->n[u];
	}
	return true;
}

/* Ranks share a factor when there are no ties (2); a smaller table does. */
static uint32_t common_factor(const uint32_t *rank, size_t n)
{
	uint32_t g = 0;

	for (size_t i = 0; i < n; i++)
		for (uint32_t a = rank[i]; a;) {
			uint32_t t = g % a;

			g = a;
			a = t;
		}
	return g ? g : 1;
}

/* Widens the table so that index = doubled sum again. */
static void spread_counts(const double *from, size_t len, uint32_t factor, struct rank_counts *ret)
{
	ret->len = (len - 1) * factor + 1;
	ret->n = xcalloc(ret->len, sizeof(*ret->n));
	ret->total = 0;
	for (size_t i = 0; i < len; i++) {
		ret->n[i * factor] = from[i];
		ret->total += from[i];
	}
}

bool rank_counts_subset(const uint32_t *rank, size_t n, size_t m, struct rank_counts *ret)
{
	uint32_t factor = common_factor(rank, n);
	CLEANUP(freep) double *f = NULL;
	size_t sum = 0, width, reach = 0;

	for (size_t i = 0; i < n; i++)
		sum += rank[i] / factor;
	width = sum + 1;
	/* 2^1023 is the range of a double */
	if (n > RANK_U_SIZE_MAX || (double)n * (double)m * (double)width > STEPS_MAX)
		return false;
	f = xcalloc((m + 1) * width, sizeof(*f));
	f[0] = 1;
	for (size_t i = 0; i < n; i++) {
		size_t r = rank[i] / factor;

		reach += r;
		for (size_t k = i + 1 < m ? i + 1 : m; k > 0; k--) {
			double *to = f + k * width;
			const double *from = f + (k - 1) * width;

			for (size_t s = r; s <= reach; s++)
				to[s] += from[s - r];
		}
	}
	spread_counts(f + m * width, width, factor, ret);
	return true;
}

bool rank_counts_signs(const uint32_t *rank, size_t n, struct rank_counts *ret)
{
	uint32_t factor = common_factor(rank, n);
	CLEANUP(freep) double *f = NULL;
	size_t sum = 0, reach = 0;

	if (n > SIGNS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		sum += rank[i] / factor;
	f = xcalloc(sum + 1, sizeof(*f));
	f[0] = 1;
	for (size_t i = 0; i < n; i++) {
		size_t r = rank[i] / factor;

		reach += r;
		for (size_t s = reach + 1; s-- > r;)
			f[s] += f[s - r];
	}
	spread_counts(f, sum + 1, factor, ret);
	return true;
}

double rank_counts_sum(const struct rank_counts *c, double lo, double hi)
{
	double sum = 0;

	lo = fmax(ceil(lo), 0);
	hi = fmin(floor(hi), (double)c->len - 1);
	if (lo > hi)
		return 0;
	for (size_t i = (size_t)lo; i <= (size_t)hi; i++)
		sum += c->n[i];
	return sum;
}

double rank_counts_quantile(const struct rank_counts *c, double p)
{
	double sum = 0, want = p * c->total * (1 - 64 * 2.220446e-16);

	for (size_t i = 0; i < c->len; i++) {
		sum += c->n[i];
		if (sum >= want)
			return (double)i;
	}
	return (double)c->len - 1;
}
