/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same on every machine for one seed: xoshiro256** (Blackman & Vigna,
 * "Scrambled linear pseudorandom number generators", 2021), seeded through splitmix64. Not for
 * secrets. One object a thread. */
#pragma once

#include "common/base.h"

struct rng {
	uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
double rng_unit(struct rng *r);		       /* [0, 1), 53 bits */
uint32_t rng_below(struct rng *r, uint32_t n); /* 0..n-1 without bias; n > 0 */
double rng_normal(struct rng *r);	       /* mean 0, sd 1 (polar method) */
double rng_exponential(struct rng *r);	       /* mean 1 */
void rng_shuffle(struct rng *r, double *x, size_t n);
void rng_shuffle_index(struct rng *r, size_t *x, size_t n);
