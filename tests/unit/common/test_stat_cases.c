/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every case of tests/data/stat-cases.json: numbers computed by R, scipy, mpmath or exact rational
 * arithmetic, at the file's own tolerances. Tests of means, ranks, permutations, p-values, rates.
 * The other half is in test_stat_cases_more.c; each fails on a case that neither knows. */
#include "stat_cases.h"
#include "stat_case_list.h"

#include "common/stats/adjust.h"
#include "common/stats/perm.h"
#include "common/stats/power.h"
#include "common/stats/rank.h"
#include "common/stats/rate.h"
#include "common/stats/spread.h"
#include "common/stats/ttest.h"

static void case_summary(struct checker *c)
{
	size_t n;
	double *x = in(c, "x", &n);
	struct summary_stats s;

	OK(c, summary_of(x, n, &s, &c->err));
	stat_sort(x, n);
	want(c, "n", (double)s.n);
	want(c, "min", s.min);
	want(c, "max", s.max);
	want(c, "range", s.range);
	want(c, "mean", s.mean);
	want(c, "var", s.var);
	want(c, "sd", s.sd);
	want(c, "median", summary_median(x, n));
	want(c, "mad_raw", summary_mad(x, n));
}

static void case_welch(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct summary_stats sa, sb;
	struct moments ma, mb;
	struct ttest t, from;

	OK(c, ttest_welch(a, na, b, nb, 0.95, &t, &c->err));
	want(c, "diff", t.diff);
	want(c, "se", t.se);
	want(c, "t", t.t);
	want(c, "df", t.df);
	want(c, "p", t.p);
	want(c, "ci_lo", t.ci.lo);
	want(c, "ci_hi", t.ci.hi);
	/* the same from what a published table gives */
	OK(c, summary_of(a, na, &sa, &c->err));
	OK(c, summary_of(b, nb, &sb, &c->err));
	ma = summary_moments(&sa);
	mb = summary_moments(&sb);
	OK(c, ttest_welch_from(&ma, &mb, 0.95, &from, &c->err));
	want(c, "p", from.p);
	want(c, "ci_hi", from.ci.hi);
}

static void case_paired(struct checker *c)
{
	size_t n, nb;
	double *a = in(c, "a", &n), *b = in(c, "b", &nb);
	struct ttest t;

	OK(c, ttest_paired(a, b, n, 0.95, &t, &c->err));
	want(c, "mean_diff", t.diff);
	want(c, "sd_diff", t.se * sqrt((double)n));
	want(c, "t", t.t);
	want(c, "df", t.df);
	want(c, "p", t.p);
	want(c, "ci_lo", t.ci.lo);
	want(c, "ci_hi", t.ci.hi);
	want(c, "pearson_r", ttest_pearson_r(a, b, n));
}

static void case_mw_exact(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct rank_mw m;

	OK(c, rank_mann_whitney(a, na, b, nb, &m, &c->err));
	assert_true(m.exact && !m.ties);
	want(c, "U_a", m.u_a);
	want(c, "U_b", m.u_b);
	want(c, "count_two_sided", m.count);
	want(c, "count_total", m.total);
	want(c, "p_exact", m.p);
	want(c, "p_normal_cc", m.p_normal);
	want(c, "p_normal_nocc", m.p_normal_nocc);
	want(c, "A12_a_gt_b", m.u_a / (double)(na * nb));
	want(c, "cliffs_delta_a_minus_b", -m.cliff_b_a);
}

static void case_mw_ties(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb), u;
	struct rank_mw m;

	OK(c, rank_mann_whitney(a, na, b, nb, &m, &c->err));
	assert_true(m.exact && m.ties);
	want(c, "U_a", m.u_a);
	want(c, "count_two_sided", m.count);
	want(c, "count_total", m.total);
	want(c, "p_exact_conditional", m.p);
	want(c, "p_lower", m.p_greater); /* ranks of A low = B greater */
	want(c, "p_upper", m.p_less);
	want(c, "p_normal_ties_cc", m.p_normal);
	want(c, "p_normal_ties_nocc", m.p_normal_nocc);
	want(c, "cliffs_delta_a_minus_b", -m.cliff_b_a);
	/* the no-tie table, as scipy reads it: not what we report */
	u = (double)(na * nb) - floor(fmax(m.u_a, m.u_b));
	want(c, "p_if_no_tie_table_used_WRONG", 2 * rank_mw_cdf(u, na, nb));
}

static void case_mw_critical(struct checker *c)
{
	size_t k;
	double *sizes = in(c, "n_each", &k);
	char path[60];

	for (size_t n = 2; n <= 12; n++) {
		snprintf(path, sizeof(path), "min_two_sided_p_by_n/%zu", n);
		want(c, path, 2 * rank_mw_cdf(0, n, n));
	}
	for (size_t i = 0; i < k; i++) {
		size_t n = (size_t)sizes[i];
		double u05 = rank_mw_quantile(0.025, n, n), u01 = rank_mw_quantile(0.005, n, n);

		/* critical: two-sided p still <= alpha */
		u05 -= 2 * rank_mw_cdf(u05, n, n) > 0.05;
		u01 -= 2 * rank_mw_cdf(u01, n, n) > 0.01;
		snprintf(path, sizeof(path), "critical/%zu/Ucrit05", n);
		want(c, path, u05);
		snprintf(path, sizeof(path), "critical/%zu/Ucrit01", n);
		want(c, path, u01);
		snprintf(path, sizeof(path), "critical/%zu/p_at_Ucrit05", n);
		want(c, path, 2 * rank_mw_cdf(u05, n, n));
	}
}

static void case_hl_shift(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct rank_hl h;

	OK(c, rank_hl_shift(a, na, b, nb, 0.95, &h, &c->err));
	want(c, "estimate", h.estimate);
	want(c, "k", (double)h.k);
	want(c, "ci_lo", h.ci.lo);
	want(c, "ci_hi", h.ci.hi);
	want(c, "actual_coverage", h.coverage);
}

static void case_signed_rank(struct checker *c)
{
	size_t n;
	double *d = in(c, "d", &n);
	struct rank_signed s;
	struct rank_hl h;

	OK(c, rank_signed(d, n, &s, &c->err));
	OK(c, rank_hl_paired(d, n, 0.95, &h, &c->err));
	want(c, "V", s.v);
	want(c, "p", s.p);
	want(c, "pseudomedian", h.estimate);
	want(c, "k", (double)h.k);
	want(c, "ci_lo", h.ci.lo);
	want(c, "ci_hi", h.ci.hi);
	want(c, "actual_coverage", h.coverage);
}

static void case_perm_mean(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct perm_options few = {.exact_max = 1000, .draws = 50000, .seed = 7};
	struct perm_test p, mc;

	OK(c, perm_mean_diff(a, na, b, nb, NULL, &p, &c->err));
	assert_true(p.exact);
	want(c, "count", p.count);
	want(c, "total", p.total);
	want(c, "p", p.p);
	/* the random form says that it is one and comes near: 4 standard errors */
	OK(c, perm_mean_diff(a, na, b, nb, &few, &mc, &c->err));
	assert_true(!mc.exact && mc.seed == 7 && mc.total == 50000);
	assert_true(fabs(mc.p - p.p) < 4 * sqrt(p.p * (1 - p.p) / 50000));
}

static void case_sign_flip(struct checker *c)
{
	size_t n, nb;
	double *a = in(c, "a", &n), *b = in(c, "b", &nb), *d = pool_get(c, n);
	struct perm_test p;

	for (size_t i = 0; i < n; i++)
		d[i] = b[i] - a[i];
	OK(c, perm_sign_flip(d, n, NULL, &p, &c->err));
	assert_true(p.exact);
	want(c, "count", p.count);
	want(c, "total", p.total);
	want(c, "p", p.p);
}

static void case_adjust(struct checker *c)
{
	static const struct {
		const char *path;
		enum adjust_method method;
	} all[] = {{"BH", ADJUST_BH},
		   {"BY", ADJUST_BY},
		   {"holm", ADJUST_HOLM},
		   {"hochberg", ADJUST_HOCHBERG},
		   {"bonferroni", ADJUST_BONFERRONI}};
	size_t n;
	double *p = in(c, "p", &n), *out = pool_get(c, n), rejected = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		OK(c, adjust_p(all[i].method, p, n, out, &c->err));
		want_all(c, all[i].path, out, n);
		for (size_t k = 0; i == 0 && k < n; k++)
			rejected += out[k] <= in_number(c, "q");
	}
	want(c, "n_rejected_BH_at_0_05", rejected);
}

static void moments_of(struct checker *c, const double *x, size_t n, struct moments *ret)
{
	struct summary_stats s = {0};

	OK(c, summary_of(x, n, &s, &c->err));
	*ret = summary_moments(&s);
}

static void case_ratio(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct moments ma, mb;
	struct ratio f, d;
	struct ttest t;

	moments_of(c, a, na, &ma);
	moments_of(c, b, nb, &mb);
	OK(c, ttest_ratio_fieller(&ma, &mb, 0.95, &f, &c->err));
	OK(c, ttest_ratio_delta(&ma, &mb, 0.95, &d, &c->err));
	want(c, "ratio", f.ratio);
	want(c, "pct", 100 * (f.ratio - 1));
	want(c, "fieller_lo", f.ci.lo);
	want(c, "fieller_hi", f.ci.hi);
	want(c, "g", f.g);
	assert_true(!f.unbounded);
	want(c, "logdelta_lo", d.ci.lo);
	want(c, "logdelta_hi", d.ci.hi);
	want(c, "logdelta_df", d.log.df);
	/* ministat takes the base mean as exact: not what we report */
	OK(c, ttest_pooled(a, na, b, nb, 0.95, &t, &c->err));
	want(c, "naive_pct_halfwidth_ministat_style", 100 * (t.ci.hi - t.diff) / ma.mean);
}

static void case_tost(struct checker *c)
{
	size_t n, nb;
	double *a = in(c, "a", &n), *b = in(c, "b", &nb), margin;
	struct ttest welch, paired;
	struct ratio logw, logp;
	struct tost e;

	margin = in_number(c, "margin_fraction") * summary_mean(a, n);
	want(c, "margin_abs", margin);
	OK(c, ttest_welch(a, n, b, nb, 0.95, &welch, &c->err));
	OK(c, ttest_tost(&welch, -margin, margin, 0.05, &e, &c->err));
	want(c, "welch_p_lower", e.p_lower);
	want(c, "welch_p_upper", e.p_upper);
	want(c, "welch_p_tost", e.p);
	want_all(c, "welch_ci90", (double[]){e.ci.lo, e.ci.hi}, 2);
	OK(c, ttest_paired(a, b, n, 0.95, &paired, &c->err));
	OK(c, ttest_tost(&paired, -margin, margin, 0.05, &e, &c->err));
	want(c, "paired_p_lower", e.p_lower);
	want(c, "paired_p_upper", e.p_upper);
	want(c, "paired_p_tost", e.p);
	want_all(c, "paired_ci90", (double[]){e.ci.lo, e.ci.hi}, 2);
	OK(c, ttest_ratio_paired(a, b, n, 0.9, &logp, &c->err));
	want(c, "geo_mean_ratio", logp.ratio);
	want_all(c, "paired_ratio_ci90", (double[]){logp.ci.lo, logp.ci.hi}, 2);
	OK(c, ttest_tost(&logp.log, log(0.95), log(1.05), 0.05, &e, &c->err));
	want(c, "paired_noninferiority_p_log", e.p_upper);
	OK(c, ttest_ratio_welch(a, n, b, nb, 0.9, &logw, &c->err));
	OK(c, ttest_tost(&logw.log, log(0.95), log(1.05), 0.05, &e, &c->err));
	want(c, "welch_noninferiority_p_log", e.p_upper);
}

static void case_quantile_ranks(struct checker *c)
{
	char path[40];

	for (size_t i = 0; i < expected_len(c, "rows"); i++) {
		struct quantile_ranks q = {0};
		double n, p;

		snprintf(path, sizeof(path), "rows/%zu/n", i);
		n = expected_number(c, path);
		set_aside(c, path, "input of the row");
		snprintf(path, sizeof(path), "rows/%zu/q", i);
		p = expected_number(c, path);
		set_aside(c, path, "input of the row");
		OK(c, summary_quantile_ranks((uint64_t)n, p, 0.95, &q, &c->err));
		snprintf(path, sizeof(path), "rows/%zu/rank_lo", i);
		want(c, path, q.lo ? (double)q.lo : NAN);
		snprintf(path, sizeof(path), "rows/%zu/rank_hi", i);
		want(c, path, q.hi ? (double)q.hi : NAN);
		snprintf(path, sizeof(path), "rows/%zu/coverage", i);
		want(c, path, q.coverage);
	}
	want(c, "min_n_upper_bound_p99", (double)summary_quantile_min_n(0.99, 0.95));
	want(c, "min_n_upper_bound_p999", (double)summary_quantile_min_n(0.999, 0.95));
}

static void case_tail_ci(struct checker *c)
{
	char path[60];

	for (size_t i = 0; i < expected_len(c, "rows"); i++) {
		struct rate_share s = {0};
		double x, n;

		snprintf(path, sizeof(path), "rows/%zu/x", i);
		x = expected_number(c, path);
		set_aside(c, path, "input of the row");
		snprintf(path, sizeof(path), "rows/%zu/n", i);
		n = expected_number(c, path);
		set_aside(c, path, "input of the row");
		OK(c, rate_share(x, n, 0.95, &s, &c->err));
#define ROW(name, value)                                                                           \
	snprintf(path, sizeof(path), "rows/%zu/" name, i);                                         \
	want(c, path, value)
		ROW("cp_lo", s.clopper_pearson.lo);
		ROW("cp_hi", s.clopper_pearson.hi);
		ROW("poisson_lo", s.poisson.lo);
		ROW("poisson_hi", s.poisson.hi);
		ROW("upper95_one_sided", s.upper);
		ROW("wilson_lo", s.wilson.lo);
		ROW("wilson_hi", s.wilson.hi);
#undef ROW
	}
}

static void case_rate_ratio(struct checker *c)
{
	size_t k;
	double *x = in(c, "x", &k), *n = in(c, "n", &k), *x2 = in(c, "x2", &k);
	double *n2 = in(c, "n2", &k);
	struct rate_ratio q;

	/* the file's first count is our B */
	OK(c, rate_ratio(x[1], n[1], x[0], n[0], 0.95, &q, &c->err));
	want(c, "rate_ratio", q.ratio);
	want(c, "p", q.p);
	want(c, "ci_lo", q.ci.lo);
	want(c, "ci_hi", q.ci.hi);
	OK(c, rate_ratio(x2[1], n2[1], x2[0], n2[0], 0.95, &q, &c->err));
	want(c, "p_9_vs_0", q.p);
	assert_true(isinf(q.ratio) && isinf(q.ci.hi));
}

static void case_wrong_ddof(struct checker *c)
{
	static const char *const keys[2][4] = {{"left", "right", "p_right", "p_with_1_over_n"},
					       {"left3", "right3", "p3_right", "p3_with_1_over_n"}};

	for (int i = 0; i < 2; i++) {
		size_t na, nb;
		double *a = in(c, keys[i][0], &na), *b = in(c, keys[i][1], &nb);
		struct moments ma, mb;
		struct ttest t;

		OK(c, ttest_pooled(a, na, b, nb, 0.95, &t, &c->err));
		want(c, keys[i][2], t.p);
		moments_of(c, a, na, &ma);
		moments_of(c, b, nb, &mb);
		ma.sd *= sqrt((ma.n - 1) / ma.n);
		mb.sd *= sqrt((mb.n - 1) / mb.n);
		OK(c, ttest_pooled_from(&ma, &mb, 0.95, &t, &c->err));
		want(c, keys[i][3], t.p);
	}
}

static void case_spread(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct spread_f f;
	struct spread_bf bf;
	struct stat_interval sd = {0, 0};
	struct moments ma;

	OK(c, spread_f_test(a, na, b, nb, 0.95, &f, &c->err));
	want(c, "F", f.f);
	want(c, "F_p", f.p);
	want_all(c, "F_ci", (double[]){f.ci.lo, f.ci.hi}, 2);
	OK(c, spread_brown_forsythe(a, na, b, nb, &bf, &c->err));
	want(c, "brown_forsythe_F", bf.f);
	want(c, "brown_forsythe_p", bf.p);
	moments_of(c, a, na, &ma);
	OK(c, spread_sd_interval(ma.n, ma.sd, 0.95, &sd, &c->err));
	want_all(c, "sd_a_ci95", (double[]){sd.lo, sd.hi}, 2);
}

static void case_yuen(struct checker *c)
{
	size_t na, nb;
	double *a = in(c, "a", &na), *b = in(c, "b", &nb);
	struct ttest y, w;

	OK(c, ttest_yuen(a, na, b, nb, in_number(c, "trim"), 0.95, &y, &c->err));
	OK(c, ttest_welch(a, na, b, nb, 0.95, &w, &c->err));
	want(c, "diff_trimmed", y.diff);
	want(c, "t", y.t);
	want(c, "df", y.df);
	want(c, "p", y.p);
	want(c, "welch_diff", w.diff);
	want(c, "welch_p", w.p);
}

/* The file's roots come from R's uniroot at its default tolerance (1.2e-4 absolute), although the
 * case states none. So: the file's figures at that, and at 1e-9 the same roots from scipy.stats.nct
 * and brentq(xtol=1e-14). */
static void case_power(struct checker *c)
{
	static const double scipy_two[] = {3.0708922663636935, 2.024439339269012,
					   1.3249473925791948, 0.9091290328949524,
					   0.6342985290797145};
	static const double scipy_paired[] = {3.2640435498142004, 1.6819969659555596,
					      0.9960013714362282, 0.6604416546230157,
					      0.45425693835161834};
	size_t k;
	double *n = in(c, "n", &k), *two = pool_get(c, k), *paired = pool_get(c, k);
	double n_1sd = power_n_two_sample(1, 0.05, 0.8);

	assert_int_equal(k, ARRAY_LEN(scipy_two));
	for (size_t i = 0; i < k; i++) {
		two[i] = power_mde_two_sample(n[i], 0.05, 0.8);
		paired[i] = power_mde_paired(n[i], 0.05, 0.8);
		assert_true(close_to(two[i], scipy_two[i], 1e-9));
		assert_true(close_to(paired[i], scipy_paired[i], 1e-8)); /* scipy warns at 40 */
	}
	assert_true(close_to(n_1sd, 16.714722447035776, 1e-9));
	want(c, "power_n10_delta_1sd", power_two_sample(10, 1, 0.05));
	c->rel = 6e-5;
	want_all(c, "mde_two_sample_in_sd", two, k);
	want_all(c, "mde_paired_in_sd_of_differences", paired, k);
	want(c, "n_per_arm_for_1sd", n_1sd);
}

static const struct known known[] = {
	{"summary-S1A", case_summary},
	{"summary-S1B", case_summary},
	{"summary-S2A", case_summary},
	{"welch-S1", case_welch},
	{"welch-S2", case_welch},
	{"paired-S2", case_paired},
	{"paired-S1", case_paired},
	{"mw-exact-S2", case_mw_exact},
	{"mw-exact-S1", case_mw_exact},
	{"mw-ties-small", case_mw_ties},
	{"mw-ties-n10", case_mw_ties},
	{"mw-critical-values", case_mw_critical},
	{"hl-shift-S2", case_hl_shift},
	{"signedrank-D3", case_signed_rank},
	{"perm-mean-S2", case_perm_mean},
	{"signflip-S2", case_sign_flip},
	{"bh-1995", case_adjust},
	{"ratio-S1", case_ratio},
	{"tost-S2", case_tost},
	{"quantile-order-ci", case_quantile_ranks},
	{"tail-exceedance-ci", case_tail_ci},
	{"poisson-rate-ratio", case_rate_ratio},
	{"ttest-wrong-ddof", case_wrong_ddof},
	{"spread", case_spread},
	{"yuen-outlier", case_yuen},
	{"power", case_power},
};

static void test_cases(void **state)
{
	(void)state;
	assert_int_equal(run_cases(known, ARRAY_LEN(known), 0), ARRAY_LEN(known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
