/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/perm.h"

#include <math.h>

#include "common/stats/rng.h"
#include "common/stats/summary.h"

#define EXACT_MAX  1e10	     /* splits; by halves 36 values take some ms */
#define LISTED_MAX 1048576.0 /* splits that are listed one by one */
#define HALVES_MAX 36	     /* values: 2^18 subsets a half */
#define DRAWS	   20000u
#define DRAWS_MAX  10000000u
#define N_MAX	   100000

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
	if (!(ret->exact_max > 0 && ret->exact_max <= EXACT_MAX))
		return err_set(reterr, ERR_LIMIT, "exact_max %g: at most %g patterns",
			       ret->exact_max, EXACT_MAX);
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

/* The sums of all subsets of one half of the values, sorted within each size: group j has the
 * subsets of j values, from[j] on. With `sizes` false they are one group. */
struct half {
	double *sum;
	size_t from[HALVES_MAX / 2 + 3];
	size_t groups;
};

/* Merges two sorted lists, `add` put on each of the second; returns the end of `to`. */
static double *merge_shifted(const double *a, size_t na, const double *b, size_t nb, double add,
			     double *to)
{
	size_t i = 0, j = 0;

	while (i < na || j < nb)
		*to++ = j == nb || (i < na && a[i] <= b[j] + add) ? a[i++] : b[j++] + add;
	return to;
}

/* One value more: the subsets without it and those with it, group by group. */
static void half_grow(struct half *h, double x, bool sizes, double *to)
{
	struct half old = *h;
	double *at = to;

	h->groups = sizes ? old.groups + 1 : 1;
	for (size_t g = 0; g < h->groups; g++) {
		size_t with = sizes ? g - 1 : 0; /* wraps for g = 0: no group */
		size_t na = g < old.groups ? old.from[g + 1] - old.from[g] : 0;
		size_t nb = with < old.groups ? old.from[with + 1] - old.from[with] : 0;

		h->from[g] = (size_t)(at - to);
		at = merge_shifted(old.sum + (na ? old.from[g] : 0), na,
				   old.sum + (nb ? old.from[with] : 0), nb, x, at);
	}
	h->from[h->groups] = (size_t)(at - to);
	h->sum = to;
}

static void half_init(struct half *h, const double *x, size_t n, bool sizes)
{
	double *spare = xcalloc((size_t)1 << n, sizeof(*spare));

	*h = (struct half){.groups = 1, .from = {0, 1}};
	h->sum = xcalloc((size_t)1 << n, sizeof(*h->sum));
	for (size_t i = 0; i < n; i++) {
		double *old = h->sum;

		half_grow(h, x[i], sizes, spare);
		spare = old;
	}
	free(spare);
}

/* Pairs of one entry of each group whose sum is at least t. */
static double pairs_at_least(const struct half *l, size_t gl, const struct half *r, size_t gr,
			     double t)
{
	size_t j = l->from[gl + 1];
	double count = 0;

	/* as the right one rises, more of the left ones suffice */
	for (size_t i = r->from[gr]; i < r->from[gr + 1]; i++) {
		while (j > l->from[gl] && l->sum[j - 1] + r->sum[i] >= t)
			j--;
		count += (double)(l->from[gl + 1] - j);
	}
	return count;
}

/* Subsets of k values (of any size when the halves are not by size) with a sum of at least t. */
static double subsets_at_least(const struct half *l, const struct half *r, size_t k, double t)
{
	double count = 0;

	if (l->groups == 1 && r->groups == 1)
		return pairs_at_least(l, 0, r, 0, t);
	for (size_t g = 0; g < l->groups && g <= k; g++)
		if (k - g < r->groups)
			count += pairs_at_least(l, g, r, k - g, t);
	return count;
}

/* The same tally as listing all sums, from counts of sums above bounds. Sums run over subsets of k
 * of x, or over sign patterns of x. */
static void tally_by_halves(const double *x, size_t n, size_t k, bool signs, double extreme,
			    struct tally *t)
{
	struct half l, r;
	double shift = 0, size = fabs(t->obs);

#define AT_LEAST(bound) subsets_at_least(&l, &r, k, signs ? ((bound) + shift) / 2 : (bound))
	for (size_t i = 0; signs && i < n; i++)
		shift += x[i]; /* a sign pattern's sum = 2 * (sum of the positive ones) - all */
	half_init(&l, x, n / 2, !signs);
	half_init(&r, x + n / 2, n - n / 2, !signs);
	t->total = AT_LEAST(-INFINITY);
	t->greater = AT_LEAST(t->obs - t->eps);
	t->less = t->total - AT_LEAST(nextafter(t->obs + t->eps, INFINITY));
	t->two = AT_LEAST(size - t->eps) + t->total - AT_LEAST(nextafter(t->eps - size, INFINITY));
	t->two = fmin(t->two, t->total); /* size < eps: both halves are everything */
	t->extreme_n = AT_LEAST(extreme - t->eps) + t->total -
		       AT_LEAST(nextafter(t->eps - extreme, INFINITY));
	t->extreme_n = fmin(t->extreme_n, t->total);
#undef AT_LEAST
	free(l.sum);
	free(r.sum);
}

/* The largest |sum| of k of these values. */
static double extreme_sum(const double *x, size_t n, size_t k)
{
	CLEANUP(freep) double *s = xcalloc(n + 1, sizeof(*s));

	memcpy(s, x, n * sizeof(*s));
	stat_sort(s, n);
	return fmax(fabs(summary_sum(s, k)), fabs(summary_sum(s + n - k, k)));
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
	double splits;
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
	splits = choose_count(n, k);
	p.exact = splits <= o.exact_max && (n <= HALVES_MAX || splits <= LISTED_MAX);
	if (p.exact && n <= HALVES_MAX)
		tally_by_halves(x, n, k, false, extreme_sum(x, n, k), &t);
	else if (p.exact)
		choose_all(x, n, 0, k, 0, &t);
	else
		choose_random(x, n, k, &o, &t);
	finish(&t, o.seed, &p);
	*ret = p;
	return 0;
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
	p.exact = n <= HALVES_MAX && exp2((double)n) <= o.exact_max;
	if (p.exact)
		tally_by_halves(d, n, 0, true, size, &t);
	else
		signs_random(d, n, &o, &t);
	finish(&t, o.seed, &p);
	*ret = p;
	return 0;
}
