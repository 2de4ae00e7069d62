/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of common/stats: exact tests against plain enumeration, intervals against the tests
 * that they invert, fast sums against slow ones, and the same answers from four threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <pthread.h>

#include "common/stats/adjust.h"
#include "common/stats/boot.h"
#include "common/stats/dist.h"
#include "common/stats/perm.h"
#include "common/stats/plateau.h"
#include "common/stats/power.h"
#include "common/stats/rank_count.h"
#include "common/stats/rate.h"
#include "common/stats/regress.h"
#include "common/stats/rng.h"
#include "common/stats/segment.h"
#include "common/stats/series.h"
#include "common/stats/spread.h"
#include "common/stats/ttest.h"

#define RUN(call)                                                                                  \
	do {                                                                                       \
		struct err run_err = {0};                                                          \
		if ((call) < 0)                                                                    \
			fail_msg("%s: %s", #call, run_err.text);                                   \
	} while (0)

static void assert_close(double got, double want, double rel)
{
	if (!(got == want || fabs(got - want) <= rel * fabs(want)))
		fail_msg("got %.17g, expected %.17g", got, want);
}

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("got %.17g, expected %.17g within %g", got, want, within);
}

/* Small whole numbers: many ties. */
static void draw_ties(struct rng *r, double *x, size_t n, uint32_t values)
{
	for (size_t i = 0; i < n; i++)
		x[i] = rng_below(r, values);
}

static double u_of(const double *a, size_t na, const double *b, size_t nb)
{
	double u = 0;

	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			u += b[j] > a[i] ? 1 : b[j] == a[i] ? 0.5 : 0;
	return u;
}

struct tails {
	double two, less, greater, total;
};

/* All splits of x[0..n) into na and the rest, by bit patterns; the first na are the real A. */
static struct tails enumerate_u(const double *x, size_t na, size_t nb)
{
	struct tails t = {0};
	size_t n = na + nb;
	double mid = (double)(na * nb) / 2, obs = u_of(x, na, x + na, nb);

	for (uint32_t bits = 0; bits < 1u << n; bits++) {
		double a[20], b[20], u;
		size_t i_a = 0, i_b = 0;

		if ((size_t)__builtin_popcount(bits) != na)
			continue;
		for (size_t i = 0; i < n; i++)
			*(bits >> i & 1 ? &a[i_a++] : &b[i_b++]) = x[i];
		u = u_of(a, na, b, nb);
		t.total++;
		t.two += fabs(u - mid) >= fabs(obs - mid);
		t.less += u <= obs;
		t.greater += u >= obs;
	}
	return t;
}

static void test_mann_whitney_is_enumeration(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (int round = 0; round < 300; round++) {
		size_t na = 1 + rng_below(&r, 6), nb = 1 + rng_below(&r, 6);
		struct rank_mw m;
		struct tails t;
		double x[12];

		draw_ties(&r, x, na + nb, 2 + rng_below(&r, 30));
		RUN(rank_mann_whitney(x, na, x + na, nb, &m, &run_err));
		t = enumerate_u(x, na, nb);
		assert_close(m.p, t.two / t.total, 1e-13);
		assert_close(m.p_less, t.less / t.total, 1e-13);
		assert_close(m.p_greater, t.greater / t.total, 1e-13);
		assert_close(m.u_b, u_of(x, na, x + na, nb), 0);
		assert_true(m.p >= m.p_min * (1 - 1e-13));
	}
}

static void test_mann_whitney_symmetries(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 2);
	for (int round = 0; round < 50; round++) {
		size_t na = 5 + rng_below(&r, 25), nb = 5 + rng_below(&r, 25);
		double a[30], b[30];
		struct rank_mw m, swapped, shuffled;

		draw_ties(&r, a, na, 12);
		draw_ties(&r, b, nb, 12);
		RUN(rank_mann_whitney(a, na, b, nb, &m, &run_err));
		RUN(rank_mann_whitney(b, nb, a, na, &swapped, &run_err));
		assert_true(m.exact);
		assert_close(m.p, swapped.p, 1e-12);
		assert_close(m.p_less, swapped.p_greater, 1e-12);
		rng_shuffle(&r, a, na);
		rng_shuffle(&r, b, nb);
		for (size_t i = 0; i < na; i++)
			a[i] = exp(a[i]); /* ranks do not change */
		for (size_t i = 0; i < nb; i++)
			b[i] = exp(b[i]);
		RUN(rank_mann_whitney(a, na, b, nb, &shuffled, &run_err));
		assert_true(m.p == shuffled.p && m.u_a == shuffled.u_a);
	}
}

/* The generating function subtracts; the subset count of the tied path only adds. */
static void test_u_counts_agree_with_subset_counts(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 3);
	for (int round = 0; round < 20; round++) {
		size_t m = 1 + rng_below(&r, 45), n = 1 + rng_below(&r, 45);
		struct rank_counts u, subset;
		uint32_t rank[90];

		for (size_t i = 0; i < m + n; i++)
			rank[i] = 2 * (uint32_t)(i + 1);
		assert_true(rank_counts_u(m, n, &u));
		assert_true(rank_counts_subset(rank, m + n, m, &subset));
		/* doubled rank sum = 2 U + m (m + 1) */
		for (size_t k = 0; k < u.len; k++)
			assert_close(u.n[k], subset.n[2 * k + m * (m + 1)], 1e-12);
		assert_close(u.total, subset.total, 1e-12);
		free(u.n);
		free(subset.n);
	}
	assert_close(rank_mw_cdf(30, 10, 10), 0.0715700707960770, 1e-13); /* R pwilcox */
	assert_true(rank_mw_quantile(0.025, 10, 10) == 24);
	assert_close(rank_mw_cdf(20000, 200, 200) - rank_mw_cdf(19999, 200, 200),
		     1 - 2 * rank_mw_cdf(19999, 200, 200), 1e-9);
	assert_close(rank_mw_cdf(1e9, 50, 50), 1, 0);
	assert_true(isnan(rank_mw_cdf(1, 2000, 2000)));
}

static void test_signed_rank_is_enumeration(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 4);
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + rng_below(&r, 9);
		double d[9], rank[9], v, two = 0, less = 0, total, mid;
		struct rank_signed s;

		for (size_t i = 0; i < n; i++)
			d[i] = (1 + rng_below(&r, 6)) * (rng_below(&r, 2) ? 1.0 : -1.0);
		RUN(rank_signed(d, n, &s, &run_err));
		v = 0;
		for (size_t i = 0; i < n; i++) {
			rank[i] = 0.5;
			for (size_t k = 0; k < n; k++)
				rank[i] += fabs(d[k]) < fabs(d[i])    ? 1
					   : fabs(d[k]) == fabs(d[i]) ? 0.5
								      : 0;
			v += d[i] > 0 ? rank[i] : 0;
		}
		total = (double)(1u << n);
		mid = (double)(n * (n + 1)) / 4;
		for (uint32_t bits = 0; bits < 1u << n; bits++) {
			double w = 0;

			for (size_t i = 0; i < n; i++)
				w += bits >> i & 1 ? rank[i] : 0;
			two += fabs(w - mid) >= fabs(v - mid);
			less += w <= v;
		}
		assert_true(s.v == v && s.exact);
		assert_close(s.p, two / total, 1e-13);
		assert_close(s.p_less, less / total, 1e-13);
	}
	assert_close(rank_signed_cdf(8, 10), 25.0 / 1024, 1e-14); /* R psignrank */
	assert_true(rank_signed_quantile(0.025, 10) == 9);
}

/* A shift inside the Hodges-Lehmann interval is not rejected, one outside is. */
static void test_hl_interval_inverts_the_test(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 5);
	for (int round = 0; round < 100; round++) {
		size_t na = 4 + rng_below(&r, 9), nb = 4 + rng_below(&r, 9);
		double a[12], b[12], moved[12];
		struct rank_hl h;
		struct rank_mw m;

		for (size_t i = 0; i < na; i++)
			a[i] = rng_normal(&r);
		for (size_t i = 0; i < nb; i++)
			b[i] = rng_normal(&r) * 2 + 1;
		RUN(rank_hl_shift(a, na, b, nb, 0.95, &h, &run_err));
		assert_true(h.state == STAT_OK && h.coverage >= 0.95);
		for (int side = 0; side < 2; side++)
			for (int out = 0; out < 2; out++) {
				double shift;

				shift = side ? h.ci.hi + (out ? 1e-9 : -1e-9)
					     : h.ci.lo - (out ? 1e-9 : -1e-9);
				for (size_t i = 0; i < nb; i++)
					moved[i] = b[i] - shift;
				RUN(rank_mann_whitney(a, na, moved, nb, &m, &run_err));
				assert_int_equal(m.p <= 0.05, out);
			}
	}
}

static void test_hl_coverage(void **state)
{
	struct rng r;
	int inside = 0, rounds = 2000;

	(void)state;
	rng_init(&r, 6);
	for (int round = 0; round < rounds; round++) {
		double d[10];
		struct rank_hl h;

		for (size_t i = 0; i < 10; i++)
			d[i] = rng_normal(&r) * 3 + 7;
		RUN(rank_hl_paired(d, 10, 0.95, &h, &run_err));
		inside += h.ci.lo <= 7 && 7 <= h.ci.hi;
	}
	/* exact coverage 0.951; four standard errors of 2,000 rounds */
	assert_near((double)inside / rounds, 0.951, 0.0195);
}

static void test_permutation_is_enumeration(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 7);
	for (int round = 0; round < 60; round++) {
		size_t na = 1 + rng_below(&r, 5), nb = 1 + rng_below(&r, 5), n = na + nb;
		double x[10], two = 0, less = 0, total = 0;
		struct perm_test p;

		draw_ties(&r, x, n, 20);
		RUN(perm_mean_diff(x, na, x + na, nb, NULL, &p, &run_err));
		for (uint32_t bits = 0; bits < 1u << n; bits++) {
			double sum = 0, all = 0, d;

			if ((size_t)__builtin_popcount(bits) != nb)
				continue;
			for (size_t i = 0; i < n; i++) {
				sum += bits >> i & 1 ? x[i] : 0;
				all += x[i];
			}
			d = sum / (double)nb - (all - sum) / (double)na;
			total++;
			two += fabs(d) >= fabs(p.diff) - 1e-9;
			less += d <= p.diff + 1e-9;
		}
		assert_true(p.exact && p.total == total);
		assert_close(p.p, two / total, 1e-13);
		assert_close(p.p_less, less / total, 1e-13);
	}
}

/* Too many values for halves, few enough splits to list; and the halves at their largest. */
static void test_permutation_of_unlike_sizes(void **state)
{
	struct rng r;
	double x[42], sum = 0, obs, two = 0, total = 0;
	struct perm_test p;

	(void)state;
	rng_init(&r, 12);
	draw_ties(&r, x, 42, 100);
	for (size_t i = 0; i < 42; i++)
		sum += x[i];
	RUN(perm_mean_diff(x, 2, x + 2, 40, NULL, &p, &run_err));
	obs = fabs((x[0] + x[1]) / 2 - (sum - x[0] - x[1]) / 40);
	for (size_t i = 0; i < 42; i++)
		for (size_t j = i + 1; j < 42; j++) {
			total++;
			two += fabs((x[i] + x[j]) / 2 - (sum - x[i] - x[j]) / 40) >= obs - 1e-9;
		}
	assert_true(p.exact && p.total == total && p.count == two);
	for (size_t i = 0; i < 36; i++)
		x[i] = (double)(i + 1); /* all signs alike: two patterns of 2^33 */
	RUN(perm_sign_flip(x, 33, NULL, &p, &run_err));
	assert_true(p.exact && p.count == 2 && p.total == exp2(33) && p.p_min == 2 / exp2(33));
	RUN(perm_mean_diff(x, 18, x + 18, 18, NULL, &p, &run_err));
	assert_true(p.exact && p.count == 2 && p.total == 9075135300.0);
}

static void test_random_permutation_is_never_zero(void **state)
{
	double d[40];
	struct perm_options o = {.draws = 1000, .seed = 9};
	struct perm_test p, again;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		d[i] = 10 + (double)i;
	RUN(perm_sign_flip(d, 40, &o, &p, &run_err));
	assert_false(p.exact);
	assert_true(p.count == 0 && p.p == 1 / 1001.0 && p.seed == 9);
	RUN(perm_sign_flip(d, 40, &o, &again, &run_err));
	assert_true(again.p == p.p && again.p_less == p.p_less && again.p_greater == p.p_greater);
}

static void test_tost_is_interval_inside(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 8);
	for (int round = 0; round < 200; round++) {
		double a[8], b[8], margin = 0.2 + rng_unit(&r);
		struct ttest t;
		struct tost e;

		for (size_t i = 0; i < 8; i++) {
			a[i] = rng_normal(&r);
			b[i] = rng_normal(&r) * 0.3;
		}
		RUN(ttest_welch(a, 8, b, 8, 0.95, &t, &run_err));
		RUN(ttest_tost(&t, -margin, margin, 0.05, &e, &run_err));
		assert_int_equal(e.p <= 0.05, e.ci.lo >= -margin && e.ci.hi <= margin);
	}
}

static void test_fieller_unbounded(void **state)
{
	struct moments a = {10, 0.1, 1}, b = {10, 5, 1};
	struct ratio q;

	(void)state;
	RUN(ttest_ratio_fieller(&a, &b, 0.95, &q, &run_err));
	assert_true(q.unbounded && q.g > 1 && isinf(q.ci.lo) && isinf(q.ci.hi));
	a.mean = 10;
	RUN(ttest_ratio_fieller(&a, &b, 0.95, &q, &run_err));
	assert_true(!q.unbounded && q.ci.lo < 0.5 && q.ci.hi > 0.5);
}

static void test_adjust_keeps_order_and_gaps(void **state)
{
	double p[] = {0.04, NAN, 0.001, 0.03, 0.9}, out[5];

	(void)state;
	RUN(adjust_p(ADJUST_HOLM, p, 5, out, &run_err));
	assert_true(isnan(out[1]));
	assert_close(out[2], 0.004, 1e-12); /* four tests were made, not five */
	assert_close(out[3], 0.09, 1e-12);
	assert_close(out[0], 0.09, 1e-12); /* 0.08 by its own factor: never below an earlier one */
	RUN(adjust_p(ADJUST_BH, p, 5, p, &run_err));
	assert_close(p[0], 4.0 / 3 * 0.04, 1e-12);
}

static void test_binomial_p_is_a_sum(void **state)
{
	(void)state;
	for (double n = 1; n <= 30; n += 7)
		for (double x = 0; x <= n; x++)
			for (double prob = 0.1; prob < 1; prob += 0.23) {
				double sum = 0,
				       own = pow(prob, x) * pow(1 - prob, n - x) *
					     exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1));

				for (double k = 0; k <= n; k++) {
					double pk = pow(prob, k) * pow(1 - prob, n - k) *
						    exp(lgamma(n + 1) - lgamma(k + 1) -
							lgamma(n - k + 1));

					sum += pk <= own * (1 + 1e-7) ? pk : 0;
				}
				assert_close(rate_binomial_p(x, n, prob), fmin(1, sum), 1e-9);
			}
	/* counts of a long run: must not take as long */
	assert_true(rate_binomial_p(5e8, 1e9 + 2e5, 0.5) < 1e-3);
}

static void test_distances_are_sums(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 10);
	for (int round = 0; round < 50; round++) {
		double a[20], b[20], cliff = 0;
		struct dist_points pa = {a, NULL, 20}, pb = {b, NULL, 20};
		struct dist_distance d;

		draw_ties(&r, a, 20, 15);
		draw_ties(&r, b, 20, 15);
		stat_sort(a, 20);
		stat_sort(b, 20);
		RUN(dist_compare(&pa, &pb, &d, &run_err));
		cliff = (u_of(a, 20, b, 20) - u_of(b, 20, a, 20)) / 400;
		assert_near(d.cliff_b_a, cliff, 1e-12);
		/* equal sizes: W1 is the mean distance of order statistics */
		cliff = 0;
		for (size_t i = 0; i < 20; i++)
			cliff += fabs(a[i] - b[i]) / 20;
		assert_near(d.wasserstein, cliff, 1e-12);
	}
}

static double energy_slowly(const double *x, size_t n, size_t tau)
{
	double between = 0, left = 0, right = 0, nn = (double)tau, m = (double)(n - tau);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			double d = fabs(x[i] - x[j]);

			if (i < tau && j < tau)
				left += d;
			else if (i >= tau && j >= tau)
				right += d;
			else
				between += d / 2;
		}
	return nn * m / (nn + m) * (2 * between / (nn * m) - left / (nn * nn) - right / (m * m));
}

static void test_energy_split_is_the_slow_one(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 11);
	for (int round = 0; round < 30; round++) {
		size_t n = 4 + rng_below(&r, 40), best = 2;
		double x[50];
		struct segment_split s;

		for (size_t i = 0; i < n; i++)
			x[i] = 1e6 + rng_below(&r, 9) + (i > n / 2 ? 3 : 0);
		RUN(segment_energy_split(x, 0, n, 2, SEGMENT_V, &s, &run_err));
		for (size_t tau = 2; tau + 2 <= n; tau++)
			if (energy_slowly(x, n, tau) > energy_slowly(x, n, best) + 1e-9)
				best = tau;
		assert_near(s.q, energy_slowly(x, n, best), 1e-8);
		assert_near(energy_slowly(x, n, s.tau), s.q, 1e-8);
	}
}

static void test_numbers_of_the_generator(void **state)
{
	/* xoshiro256** from splitmix64(42): numpy-free reference, computed in Python integers */
	static const uint64_t first[3] = {0x15780b2e0c2ec716u, 0x6104d9866d113a7eu,
					  0xae17533239e499a1u};
	struct rng r;
	double sum = 0, squares = 0;

	(void)state;
	rng_init(&r, 42);
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		assert_true(rng_next(&r) == first[i]);
	for (int i = 0; i < 100000; i++) {
		double z = rng_normal(&r);

		sum += z;
		squares += z * z;
		assert_true(rng_below(&r, 7) < 7);
	}
	assert_near(sum / 1e5, 0, 0.013);
	assert_near(squares / 1e5, 1, 0.018);
}

static void test_confounded_order_is_said(void **state)
{
	double y[10], arm[10], order[10];
	struct regress_order o;

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		y[i] = (double)(i * i % 7);
		arm[i] = i >= 5;
		order[i] = i >= 5 ? 2 : 1; /* the order says nothing beyond the arm */
	}
	RUN(regress_ancova(y, arm, order, 10, 0.95, &o, &run_err));
	assert_int_equal(o.state, STAT_UNDEFINED);
	assert_true(isnan(o.effect) && isnan(o.slope));
}

static void test_jonckheere_with_ties_says_so(void **state)
{
	double x[] = {1, 2, 2, 3, 3, 4, 5, 5, 6};
	size_t groups[] = {3, 3, 3};
	struct rank_jt t;

	(void)state;
	RUN(rank_jonckheere(x, groups, 3, 4, &t, &run_err));
	assert_false(t.exact);
	assert_true(t.p_increasing < 0.01 && t.p_increasing > 0 && t.p_decreasing > 0.99);
}

/* Mean squares and components by exact rational arithmetic in Python; p from scipy. */
static void test_nested_components(void **state)
{
	static const double equal[] = {41.2, 41.6, 43.0, 43.4, 47.1, 46.5,
				       45.2, 45.8, 39.9, 40.1, 42.2, 41.4};
	static const double unequal[] = {41.2, 41.6, 41.1, 43.0, 47.1, 46.5, 45.2, 45.8,
					 44.9, 46.3, 39.9, 40.1, 42.2, 41.4, 41.5};
	static const size_t two[] = {2, 2, 2, 2, 2, 2}, mixed[] = {3, 1, 2, 2, 2, 2, 3};
	static const size_t runs[] = {2, 2, 2}, mixed_runs[] = {2, 3, 2};
	struct spread_nested v;

	(void)state;
	RUN(spread_nested(equal, two, runs, 3, &v, &run_err));
	assert_close(v.ms_boots, 29.563333333333333, 1e-12);
	assert_close(v.ms_runs, 2.723333333333333, 1e-12);
	assert_close(v.ms_values, 0.14333333333333334, 1e-12);
	assert_close(v.var_boots, 6.71, 1e-12);
	assert_close(v.var_runs, 1.29, 1e-12);
	assert_close(v.p_boots, 0.04230023253671418, 1e-9);
	assert_close(v.p_runs, 0.0018208181862190058, 1e-9);
	RUN(spread_nested(unequal, mixed, mixed_runs, 3, &v, &run_err));
	assert_close(v.ms_boots, 39.19425, 1e-12);
	assert_close(v.ms_runs, 1.9322083333333333, 1e-12);
	assert_close(v.var_boots, 7.481988254076862, 1e-12);
	assert_close(v.var_runs, 0.8593459915611814, 1e-12);
	assert_close(v.var_values, 0.235, 1e-12);
	RUN(spread_nested(equal, two, (size_t[]){1, 1}, 2, &v, &run_err));
	assert_int_equal(v.state, STAT_TOO_FEW);
}

static void test_more_blocks(void **state)
{
	struct power_more m = power_more_blocks(10, 0.005, 0.01, 0.01, 0.05);

	(void)state;
	/* distance to the margin is half a sd: 18 and 34 pairs (R power.t.test: 17.4, 33.4) */
	assert_true(m.lo == 8 && m.hi == 24);
	m = power_more_blocks(10, 0.01, 0.01, 0.01, 0.05);
	assert_true(isinf(m.lo) && isinf(m.hi));
	assert_int_equal(power_more_blocks(1, 1, 1, 1, 0.05).state, STAT_TOO_FEW);
	assert_int_equal(power_more_blocks(5, 1, 0, 0.1, 0.05).state, STAT_NO_VARIANCE);
}

static void test_limits_are_errors(void **state)
{
	double x[4] = {1, 2, 3, 4};
	struct err e;
	struct ttest t;
	struct rank_hl h;
	struct segment_split s;
	struct spread_f f;
	struct moments bad = {5, 1, -1}, good = {5, 1, 1};

	(void)state;
	assert_int_equal(ttest_welch(x, 2, x, 2, 1.5, &t, &e), ERR_INVALID);
	assert_int_equal(ttest_welch_from(&bad, &good, 0.95, &t, &e), ERR_INVALID);
	assert_int_equal(spread_f_from(&good, &bad, 0.95, &f, &e), ERR_INVALID);
	assert_int_equal(rank_hl_shift(x, 4, x, 20000, 0.95, &h, &e), ERR_LIMIT);
	assert_int_equal(segment_energy_split(x, 0, 5000, 1, SEGMENT_V, &s, &e), ERR_LIMIT);
	assert_true(strlen(e.text) > 20);
}

/* A mix of everything that counts, draws or allocates; the sum depends on every result. */
static double mixture(uint64_t seed)
{
	struct rng r;
	struct rank_mw m;
	struct rank_hl h;
	struct rank_signed s;
	struct perm_test p;
	struct ttest t;
	struct plateau_fit f;
	struct segment_ls ls;
	double a[24], b[24], counts[24], sum = 0;

	rng_init(&r, seed);
	draw_ties(&r, a, 24, 50);
	draw_ties(&r, b, 24, 60);
	for (size_t i = 0; i < 24; i++)
		counts[i] = 5 + a[i];
	RUN(rank_mann_whitney(a, 24, b, 24, &m, &run_err));
	RUN(rank_hl_shift(a, 24, b, 24, 0.9, &h, &run_err));
	RUN(rank_signed(a, 24, &s, &run_err));
	RUN(perm_mean_diff(a, 8, b, 8, NULL, &p, &run_err));
	RUN(ttest_welch(a, 24, b, 24, 0.9, &t, &run_err));
	RUN(plateau_fit(counts, 24, 4, 1, &f, &run_err));
	RUN(segment_least_squares(a, 24, 3, &ls, &run_err));
	sum += m.p + h.ci.lo + s.p + p.p + t.ci.hi + f.bic[2] + ls.sse[1];
	sum += power_mde_paired(10 + (double)(seed % 5), 0.05, 0.8);
	sum += rank_mw_cdf(100, 24, 24) + rate_binomial_p(20, 100, 0.3);
	return sum;
}

#define MIXTURES 40
static double serial[MIXTURES];

static void *on_thread(void *arg)
{
	size_t *bad = arg;

	for (size_t i = 0; i < MIXTURES; i++)
		*bad += mixture(i) != serial[i];
	return NULL;
}

static void test_four_threads_agree(void **state)
{
	pthread_t thread[4];
	size_t bad[4] = {0};

	(void)state;
	for (size_t i = 0; i < MIXTURES; i++)
		serial[i] = mixture(i);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, on_thread, &bad[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(bad[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mann_whitney_is_enumeration),
		cmocka_unit_test(test_mann_whitney_symmetries),
		cmocka_unit_test(test_u_counts_agree_with_subset_counts),
		cmocka_unit_test(test_signed_rank_is_enumeration),
		cmocka_unit_test(test_hl_interval_inverts_the_test),
		cmocka_unit_test(test_hl_coverage),
		cmocka_unit_test(test_permutation_is_enumeration),
		cmocka_unit_test(test_permutation_of_unlike_sizes),
		cmocka_unit_test(test_random_permutation_is_never_zero),
		cmocka_unit_test(test_tost_is_interval_inside),
		cmocka_unit_test(test_fieller_unbounded),
		cmocka_unit_test(test_adjust_keeps_order_and_gaps),
		cmocka_unit_test(test_binomial_p_is_a_sum),
		cmocka_unit_test(test_distances_are_sums),
		cmocka_unit_test(test_energy_split_is_the_slow_one),
		cmocka_unit_test(test_numbers_of_the_generator),
		cmocka_unit_test(test_confounded_order_is_said),
		cmocka_unit_test(test_jonckheere_with_ties_says_so),
		cmocka_unit_test(test_nested_components),
		cmocka_unit_test(test_more_blocks),
		cmocka_unit_test(test_limits_are_errors),
		cmocka_unit_test(test_four_threads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
