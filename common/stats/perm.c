/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/perm.h"

#include <math.h>

#include "common/stats/rng.h"
#include "common/stats/summary.h"

#define EXACT_MAX 1048576.0
#define DRAWS	  100000u
#define DRAWS_MAX 10000000u
#define N_MAX	  100000

/* How many resampled sums lie where; `extreme` is the largest |sum| seen and how often. */
struct tally {
	double obs, eps;
	double two, less, greater, total;
	double extreme, extreme_n;
};

static void tally_add(struct tally *t, double sum)
{
	double size = fabs(sum);

	t->total++;
	t->two += size >= fabs(t->obs) - t->eps;
	t->less += sum <= t->obs + t->eps;
	t->greater += sum >= t->obs - t->eps;
	if (size > t->extreme + t->eps) {
		t->extreme = size;
		t->extreme_n = 1;
	} else if (size >= t->extreme - t->eps) {
		t->extreme_n++;
	}
}

static int check_options(const struct perm_options *o, struct perm_options *ret, struct err *reterr)
{
	*ret = o ? *o : (struct perm_options){0};
	if (ret->exact_max == 0)
		ret->exact_max = EXACT_MAX;
	if (ret->draws == 0)
		ret->draws = DRAWS;
	if (!(ret->exact_max > 0 && ret->exact_max <= 64 * EXACT_MAX))
		return err_set(reterr, ERR_LIMIT, "exact_max %g: at most %g patterns",
			       ret->exact_max, 64 * EXACT_MAX);
	if (ret->draws > DRAWS_MAX)
		return err_set(reterr, ERR_LIMIT, "%u random draws: at most %u", ret->draws,
			       DRAWS_MAX);
	return 0;
}

static struct perm_test perm_none(enum stat_state state)
{
	return (struct perm_test){.state = state,
				  .diff = NAN,
				  .count = NAN,
				  .total = NAN,
				  .p = NAN,
				  .p_less = NAN,
				  .p_greater = NAN,
				  .p_min = NAN};
}

static void finish(const struct tally *t, uint64_t seed, struct perm_test *ret)
{
	double add = ret->exact ? 0 : 1; /* the observed one belongs to the reference set */

	ret->seed = seed;
	ret->count = t->two;
	ret->total = t->total;
	ret->p = (t->two + add) / (t->total + add);
	ret->p_less = (t->less + add) / (t->total + add);
	ret->p_greater = (t->greater + add) / (t->total + add);
	ret->p_min = ret->exact ? t->extreme_n / t->total : 1 / (t->total + 1);
}

/* Adds the sums of all choices of k from x[i..n). */
static void choose_all(const double *x, size_t n, size_t i, size_t k, double sum, struct tally *t)
{
	if (k == 0) {
		tally_add(t, sum);
		return;
	}
	for (; i + k <= n; i++)
		choose_all(x, n, i + 1, k - 1, sum + x[i], t);
}

static void choose_random(double *x, size_t n, size_t k, const struct perm_options *o,
			  struct tally *t)
{
	struct rng rng;

	rng_init(&rng, o->seed);
	for (uint32_t draw = 0; draw < o->draws; draw++) {
		double sum = 0;

		for (size_t i = 0; i < k; i++) {
			size_t j = i + rng_below(&rng, (uint32_t)(n - i));
			double v = x[j];

			x[j] = x[i];
			x[i] = v;
			sum += v;
		}
		tally_add(t, sum);
	}
}

static double choose_count(size_t n, size_t k)
{
	double c = 1;

	for (size_t i = 1; i <= k; i++)
		c = c * (double)(n - k + i) / (double)i;
	return round(c);
}

/* The sum of the smaller side after taking off the grand mean decides: it is proportional to the
 * difference of the means. B first, so that "greater" means B. */
static void centre(const double *a, size_t na, const double *b, size_t nb, double *x,
		   struct tally *t)
{
	size_t n = na + nb;
	double mean, size = 0;
	bool b_small = nb <= na;

	memcpy(x, b_small ? b : a, (b_small ? nb : na) * sizeof(*x));
	memcpy(x + (b_small ? nb : na), b_small ? a : b, (b_small ? na : nb) * sizeof(*x));
	mean = summary_mean(x, n);
	for (size_t i = 0; i < n; i++) {
		x[i] -= mean;
		if (!b_small)
			x[i] = -x[i]; /* A low is B high */
		size += fabs(x[i]);
	}
	for (size_t i = 0; i < (b_small ? nb : na); i++)
		t->obs += x[i];
	t->eps = 1e-12 * (size + fabs(mean) * 1e-3 * (double)n);
}

int perm_mean_diff(const double *a, size_t na, const double *b, size_t nb,
		   const struct perm_options *options, struct perm_test *ret, struct err *reterr)
{
	struct perm_test p = perm_none(STAT_OK);
	struct perm_options o;
	struct tally t = {0};
	CLEANUP(freep) double *x = NULL;
	size_t n = na + nb, k = na < nb ? na : nb;
	int r = check_options(options, &o, reterr);

	if (r == 0 && n > N_MAX)
		r = err_set(reterr, ERR_LIMIT, "permutation of %zu values: at most %d", n, N_MAX);
	if (r == 0)
		r = stat_check("a", a, na, reterr);
	if (r == 0)
		r = stat_check("b", b, nb, reterr);
	if (r < 0)
		return r;
	if (k == 0) {
		*ret = perm_none(STAT_TOO_FEW);
		return 0;
	}
	x = xcalloc(n, sizeof(*x));
	centre(a, na, b, nb, x, &t);
	p.diff = summary_mean(b, nb) - summary_mean(a, na);
	p.exact = choose_count(n, k) <= o.exact_max;
	if (p.exact)
		choose_all(x, n, 0, k, 0, &t);
	else
		choose_random(x, n, k, &o, &t);
	finish(&t, o.seed, &p);
	*ret = p;
	return 0;
}

static void signs_all(const double *d, size_t n, double sum, struct tally *t)
{
	if (n == 0) {
		tally_add(t, sum);
		return;
	}
	signs_all(d + 1, n - 1, sum + d[0], t);
	signs_all(d + 1, n - 1, sum - d[0], t);
}

static void signs_random(const double *d, size_t n, const struct perm_options *o, struct tally *t)
{
	struct rng rng;

	rng_init(&rng, o->seed);
	for (uint32_t draw = 0; draw < o->draws; draw++) {
		double sum = 0;
		uint64_t bits = 0;

		for (size_t i = 0; i < n; i++, bits >>= 1) {
			if (i % 64 == 0)
				bits = rng_next(&rng);
			sum += bits & 1 ? d[i] : -d[i];
		}
		tally_add(t, sum);
	}
}

int perm_sign_flip(const double *d, size_t n, const struct perm_options *options,
		   struct perm_test *ret, struct err *reterr)
{
	struct perm_test p = perm_none(STAT_OK);
	struct perm_options o;
	struct tally t = {0};
	double size = 0;
	int r = check_options(options, &o, reterr);

	if (r == 0 && n > N_MAX)
		r = err_set(reterr, ERR_LIMIT, "sign flip of %zu values: at most %d", n, N_MAX);
	if (r == 0)
		r = stat_check("d", d, n, reterr);
	if (r < 0)
		return r;
	if (n == 0) {
		*ret = perm_none(STAT_TOO_FEW);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		t.obs += d[i];
		size += fabs(d[i]);
	}
	t.eps = 1e-12 * size;
	p.diff = summary_mean(d, n);
	p.exact = (double)n <= log2(o.exact_max);
	if (p.exact)
		signs_all(d, n, 0, &t);
	else
		signs_random(d, n, &o, &t);
	finish(&t, o.seed, &p);
	*ret = p;
	return 0;
}
