/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed)
{
	for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
		r->s[i] = splitmix(&seed);
}

static uint64_t rotl(uint64_t x, unsigned int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	/* Lemire (2019): the high half of a product, short intervals rejected. */
	uint64_t m = (uint64_t)(uint32_t)(rng_next(r) >> 32) * n;

	if ((uint32_t)m < n) {
		uint32_t reject = (uint32_t)-n % n;

		while ((uint32_t)m < reject)
			m = (uint64_t)(uint32_t)(rng_next(r) >> 32) * n;
	}
	return (uint32_t)(m >> 32);
}

double rng_normal(struct rng *r)
{
	double u, v, s;

	do {
		u = 2 * rng_unit(r) - 1;
		v = 2 * rng_unit(r) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	return u * sqrt(-2 * log(s) / s);
}

double rng_exponential(struct rng *r)
{
	return -log1p(-rng_unit(r));
}

void rng_shuffle(struct rng *r, double *x, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = rng_below(r, (uint32_t)i);
		double t = x[i - 1];

		x[i - 1] = x[j];
		x[j] = t;
	}
}

void rng_shuffle_index(struct rng *r, size_t *x, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = rng_below(r, (uint32_t)i);
		size_t t = x[i - 1];

		x[i - 1] = x[j];
		x[j] = t;
	}
}
