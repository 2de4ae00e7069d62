/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several groups: Kruskal-Wallis, and Jonckheere's test of an ordered trend. */
#include <math.h>

#include <Rmath.h>

#include "common/stats/rank_count.h"
#include "common/stats/rng.h"

#define GROUPS_MAX 100
#define DRAWS	   100000

static int check_groups(const double *x, const size_t *group_n, size_t groups, size_t *ret_n,
			struct err *reterr)
{
	size_t n = 0;

	if (groups > GROUPS_MAX)
		return err_set(reterr, ERR_LIMIT, "%zu groups: at most %d", groups, GROUPS_MAX);
	for (size_t g = 0; g < groups; g++) {
		if (group_n[g] > RANK_N_MAX)
			return err_set(reterr, ERR_LIMIT, "group %zu has %zu values: at most %d", g,
				       group_n[g], RANK_N_MAX);
		n += group_n[g];
	}
	*ret_n = n;
	return stat_check("x", x, n, reterr);
}

static bool any_empty(const size_t *group_n, size_t groups)
{
	for (size_t g = 0; g < groups; g++)
		if (group_n[g] == 0)
			return true;
	return groups < 2;
}

int rank_kruskal_wallis(const double *x, const size_t *group_n, size_t groups, struct rank_kw *ret,
			struct err *reterr)
{
	struct rank_kw k = {.state = STAT_TOO_FEW, .h = NAN, .df = NAN, .p = NAN};
	CLEANUP(freep) uint32_t *rank = NULL;
	size_t n, at = 0;
	double sum = 0, total, ties, correction;
	int r = check_groups(x, group_n, groups, &n, reterr);

	if (r < 0)
		return r;
	if (any_empty(group_n, groups)) {
		*ret = k;
		return 0;
	}
	rank = xcalloc(n + 1, sizeof(*rank));
	ties = rank_doubled(x, n, rank);
	for (size_t g = 0; g < groups; g++) {
		double r_g = 0;

		for (size_t i = 0; i < group_n[g]; i++)
			r_g += rank[at++] / 2.0;
		sum += r_g * r_g / (double)group_n[g];
	}
	total = (double)n;
	correction = 1 - ties / (total * (total * total - 1));
	k.df = (double)groups - 1;
	if (correction <= 0) {
		k.state = STAT_NO_VARIANCE;
		k.h = 0;
		k.p = 1;
	} else {
		k.state = STAT_OK;
		k.h = (12 / (total * (total + 1)) * sum - 3 * (total + 1)) / correction;
		k.p = pchisq(k.h, k.df, 0, 0);
	}
	*ret = k;
	return 0;
}

static double jt_statistic(const double *x, const size_t *group_n, size_t groups)
{
	double j = 0;
	size_t from = 0;

	for (size_t g = 0; g < groups; from += group_n[g++])
		for (size_t i = 0; i < from; i++) /* all earlier groups */
			for (size_t k = from; k < from + group_n[g]; k++)
				j += x[i] < x[k] ? 1 : x[i] == x[k] ? 0.5 : 0;
	return j;
}

/* J is a sum of independent U's: group g against all groups before it. */
static bool jt_counts(const size_t *group_n, size_t groups, struct rank_counts *ret)
{
	size_t before = group_n[0];

	ret->n = xcalloc(1, sizeof(*ret->n));
	ret->n[0] = 1;
	ret->len = 1;
	ret->total = 1;
	for (size_t g = 1; g < groups; before += group_n[g++]) {
		CLEANUP(freep) double *old = ret->n;
		CLEANUP(freep) double *u_counts = NULL;
		struct rank_counts u = {0};
		size_t old_len = ret->len;

		ret->n = NULL;
		if (!rank_counts_u(before, group_n[g], &u))
			return false;
		u_counts = u.n;
		if ((double)old_len * (double)u.len > 2e8)
			return false;
		ret->len = old_len + u.len - 1;
		ret->n = xcalloc(ret->len, sizeof(*ret->n));
		for (size_t i = 0; i < old_len; i++)
			for (size_t k = 0; k < u.len; k++)
				ret->n[i + k] += old[i] * u.n[k];
		ret->total *= u.total;
	}
	return isfinite(ret->total); /* 3 x 333 values leave the range of a double */
}

static void jt_monte_carlo(const double *x, size_t n, const size_t *group_n, size_t groups,
			   uint64_t seed, struct rank_jt *t)
{
	CLEANUP(freep) double *copy = xcalloc(n + 1, sizeof(*copy));
	double below = 0, above = 0;
	struct rng rng;

	memcpy(copy, x, n * sizeof(*copy));
	rng_init(&rng, seed);
	for (uint32_t i = 0; i < DRAWS; i++) {
		double j;

		rng_shuffle(&rng, copy, n);
		j = jt_statistic(copy, group_n, groups);
		below += j <= t->j;
		above += j >= t->j;
	}
	t->count_le = below;
	t->total = DRAWS;
	t->p_decreasing = (below + 1) / (DRAWS + 1.0);
	t->p_increasing = (above + 1) / (DRAWS + 1.0);
}

int rank_jonckheere(const double *x, const size_t *group_n, size_t groups, uint64_t seed,
		    struct rank_jt *ret, struct err *reterr)
{
	struct rank_jt t = {.state = STAT_TOO_FEW,
			    .j = NAN,
			    .j_max = NAN,
			    .count_le = NAN,
			    .total = NAN,
			    .p_decreasing = NAN,
			    .p_increasing = NAN,
			    .p = NAN};
	CLEANUP(freep) uint32_t *rank = NULL;
	struct rank_counts c = {0};
	size_t n, before = 0;
	int r = check_groups(x, group_n, groups, &n, reterr);

	if (r < 0)
		return r;
	if (any_empty(group_n, groups)) {
		*ret = t;
		return 0;
	}
	if (n > RANK_U_SIZE_MAX)
		return err_set(reterr, ERR_LIMIT, "trend test of %zu values: at most %d", n,
			       RANK_U_SIZE_MAX);
	t.state = STAT_OK;
	t.j = jt_statistic(x, group_n, groups);
	t.j_max = 0;
	for (size_t g = 0; g < groups; before += group_n[g++])
		t.j_max += (double)before * (double)group_n[g];
	rank = xcalloc(n, sizeof(*rank));
	t.exact = rank_doubled(x, n, rank) == 0 && jt_counts(group_n, groups, &c);
	if (t.exact) {
		t.total = c.total;
		t.count_le = rank_counts_sum(&c, 0, t.j);
		t.p_decreasing = t.count_le / c.total;
		t.p_increasing = rank_counts_sum(&c, t.j, (double)c.len - 1) / c.total;
	} else {
		jt_monte_carlo(x, n, group_n, groups, seed, &t);
	}
	free(c.n);
	t.p = fmin(1, 2 * fmin(t.p_decreasing, t.p_increasing));
	*ret = t;
	return 0;
}
