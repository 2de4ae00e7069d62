/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other half of tests/data/stat-cases.json: distributions, drift, several groups, change
 * points, resampling, tails, printed figures, degenerate inputs. See test_stat_cases.c. */
#include "stat_cases.h"
#include "stat_case_list.h"

#include "common/stats/boot.h"
#include "common/stats/dist.h"
#include "common/stats/perm.h"
#include "common/stats/plateau.h"
#include "common/stats/published.h"
#include "common/stats/rank.h"
#include "common/stats/rate.h"
#include "common/stats/regress.h"
#include "common/stats/rng.h"
#include "common/stats/segment.h"
#include "common/stats/segment_energy.h"
#include "common/stats/series.h"
#include "common/stats/spread.h"
#include "common/stats/ttest.h"

static double sum_of(const double *x, size_t n)
{
	return summary_sum(x, n);
}

static void case_hist_compare(struct checker *c)
{
	size_t n, nq, nt;
	double *lo = in(c, "bin_lo_us", &n), *a = in(c, "countsA", &n), *b = in(c, "countsB", &n);
	double *q = in(c, "q", &nq), *t = in(c, "t", &nt), *hi = pool_get(c, n);
	double *qa = pool_get(c, nq), *qb = pool_get(c, nq), *shift = pool_get(c, nq);
	double *ca = pool_get(c, nt), *cb = pool_get(c, nt), *ratio = pool_get(c, nt);
	struct dist_distance d;
	double na = sum_of(a, n), nb = sum_of(b, n);

	for (size_t i = 0; i < n; i++)
		hi[i] = lo[i] + in_number(c, "bin_width_us");
	for (size_t i = 0; i < nq; i++) {
		qa[i] = dist_grouped_quantile(lo, hi, a, n, q[i]);
		qb[i] = dist_grouped_quantile(lo, hi, b, n, q[i]);
		shift[i] = qb[i] - qa[i];
	}
	for (size_t i = 0; i < nt; i++) {
		ca[i] = dist_ccdf(lo, a, n, t[i]);
		cb[i] = dist_ccdf(lo, b, n, t[i]);
		ratio[i] = cb[i] / ca[i];
	}
	want(c, "nA", na);
	want(c, "nB", nb);
	want_all(c, "quantilesA", qa, nq);
	want_all(c, "quantilesB", qb, nq);
	want_all(c, "shift_B_minus_A", shift, nq);
	want_all(c, "ccdfA", ca, nt);
	want_all(c, "ccdfB", cb, nt);
	want_all(c, "ccdf_ratio_B_over_A", ratio, nt);
	OK(c, dist_compare(&(struct dist_points){lo, a, n}, &(struct dist_points){lo, b, n}, &d,
			   &c->err));
	want(c, "ks_D", d.ks);
	want(c, "ks_p_asymptotic", dist_ks_p(d.ks, na, nb));
	want(c, "wasserstein1_us", d.wasserstein);
	want(c, "cliffs_delta_b_minus_a", d.cliff_b_a);
	want(c, "meanA", d.mean_a + 0.5); /* the file takes bin middles */
	want(c, "meanB", d.mean_b + 0.5);
}

static void case_ks_useless(struct checker *c)
{
	char path[40];

	for (size_t i = 0; i < expected_len(c, "rows"); i++) {
		double n, d;

		snprintf(path, sizeof(path), "rows/%zu/N_each", i);
		n = expected_number(c, path);
		set_aside(c, path, "input of the row");
		snprintf(path, sizeof(path), "rows/%zu/D", i);
		d = expected_number(c, path);
		set_aside(c, path, "input of the row");
		snprintf(path, sizeof(path), "rows/%zu/p", i);
		want(c, path, dist_ks_p(d, n, n));
	}
}

/* The variance that ministat computes, to show that ours is not that. */
static double naive_variance(const double *x, size_t n)
{
	double s = 0, ss = 0;

	for (size_t i = 0; i < n; i++) {
		s += x[i];
		ss += x[i] * x[i];
	}
	return (ss - s * s / (double)n) / (double)(n - 1);
}

static void numacc(struct checker *c, const char *name, const double *x, size_t n, double sd_rel)
{
	struct summary_stats s;
	double acf = NAN;
	bool naive_bad;
	char path[80];

	OK(c, summary_of(x, n, &s, &c->err));
	OK(c, series_acf(x, n, 1, &acf, &c->err));
	snprintf(path, sizeof(path), "%s/n", name);
	want(c, path, (double)s.n);
	snprintf(path, sizeof(path), "%s/mean", name);
	want(c, path, s.mean);
	snprintf(path, sizeof(path), "%s/sd", name);
	want_within(c, path, s.sd, sd_rel);
	snprintf(path, sizeof(path), "%s/lag1_autocorr", name);
	want_within(c, path, acf, sd_rel);
	snprintf(path, sizeof(path), "%s/var_by_naive_sum_of_squares_in_double", name);
	/* its digits depend on the order of summing, but it is useless exactly where the file says
	 */
	naive_bad = fabs(naive_variance(x, n) - s.var) > 0.01 * s.var;
	assert_int_equal(naive_bad, fabs(expected_number(c, path) - s.var) > 0.01 * s.var);
	set_aside(c, path, "a wrong method, compared above");
}

static void case_nist(struct checker *c)
{
	static const double base[3][3] = {{1.2, 1.1, 1.3},
					  {1000000.2, 1000000.1, 1000000.3},
					  {10000000.2, 10000000.1, 10000000.3}};
	static const char *const name[3] = {"NumAcc2", "NumAcc3", "NumAcc4"};
	static const double sd_rel[3] = {1e-9, 1e-8, 1e-7}; /* the case's tolerances */
	size_t n;
	double *x = in(c, "NumAcc1", &n);

	numacc(c, "NumAcc1", x, n, 1e-9);
	x = pool_get(c, 1001);
	for (int i = 0; i < 3; i++) {
		x[0] = base[i][0];
		for (size_t k = 1; k < 1001; k++)
			x[k] = base[i][k % 2 ? 1 : 2];
		numacc(c, name[i], x, 1001, sd_rel[i]);
	}
}

static void case_ancova(struct checker *c)
{
	size_t n, na = 0, nb = 0;
	double *y = in(c, "y", &n), *arm = in(c, "arm", &n), *order = in(c, "order", &n);
	double *a = pool_get(c, n), *b = pool_get(c, n);
	struct regress_order o;
	struct ttest t;

	for (size_t i = 0; i < n; i++)
		*(arm[i] == 0 ? &a[na++] : &b[nb++]) = y[i];
	OK(c, regress_ancova(y, arm, order, n, 0.95, &o, &c->err));
	want(c, "effect", o.effect);
	want(c, "se", o.se);
	want(c, "t", o.t);
	want(c, "p", o.p);
	want(c, "ci_lo", o.ci.lo);
	want(c, "ci_hi", o.ci.hi);
	want(c, "slope", o.slope);
	want(c, "slope_p", o.slope_p);
	want(c, "resid_sigma", o.sigma);
	want(c, "durbin_watson_of_unadjusted_residuals", o.durbin_watson_arm_only);
	/* y ~ arm + pair with one run of each arm in a pair is the paired t */
	OK(c, ttest_paired(a, b, na, 0.95, &t, &c->err));
	want(c, "block_effect", t.diff);
	want(c, "block_se", t.se);
	want(c, "block_t", t.t);
	want(c, "block_p", t.p);
	OK(c, ttest_welch(a, na, b, nb, 0.95, &t, &c->err));
	want(c, "welch_diff", t.diff);
	want(c, "welch_t", t.t);
	want(c, "welch_p", t.p);
}

static void case_components(struct checker *c)
{
	double x[20];
	size_t sizes[5], at = 0;
	struct spread_components v;

	for (size_t g = 0; g < 5; g++) {
		char path[20];
		double *run;

		snprintf(path, sizeof(path), "runs/%zu", g);
		run = in(c, path, &sizes[g]);
		memcpy(x + at, run, sizes[g] * sizeof(*x));
		at += sizes[g];
	}
	OK(c, spread_components(x, sizes, 5, &v, &c->err));
	want(c, "F", v.f);
	want(c, "p", v.p);
	want(c, "ms_between", v.ms_between);
	want(c, "ms_within", v.ms_within);
	want(c, "var_between", v.var_between);
	want(c, "var_within", v.var_within);
	want(c, "icc", v.icc);
	want(c, "design_effect", v.design_effect);
	want(c, "effective_n", v.effective_n);
	want(c, "grand_mean", v.grand_mean);
	want(c, "se_by_runs", v.se_by_groups);
	want(c, "se_naive_iid", v.se_naive);
}

static void case_ordered(struct checker *c)
{
	static const char *const keys[3] = {"g64", "g32", "g16"};
	double x[12], pair[3];
	double *g[3];
	size_t sizes[3], at = 0;
	struct rank_kw k;
	struct rank_jt j;
	struct rank_mw m[3];

	for (int i = 0; i < 3; i++) {
		g[i] = in(c, keys[i], &sizes[i]);
		memcpy(x + at, g[i], sizes[i] * sizeof(*x));
		at += sizes[i];
	}
	OK(c, rank_kruskal_wallis(x, sizes, 3, &k, &c->err));
	OK(c, rank_jonckheere(x, sizes, 3, 1, &j, &c->err));
	want(c, "kw_H", k.h);
	want(c, "kw_p_chi2", k.p);
	want(c, "JT", j.j);
	want(c, "JT_max", j.j_max);
	want(c, "JT_count_le", j.count_le);
	want(c, "JT_total", j.total);
	want(c, "JT_p_decreasing", j.p_decreasing);
	OK(c, rank_mann_whitney(g[0], 4, g[1], 4, &m[0], &c->err));
	OK(c, rank_mann_whitney(g[0], 4, g[2], 4, &m[1], &c->err));
	OK(c, rank_mann_whitney(g[1], 4, g[2], 4, &m[2], &c->err));
	for (int i = 0; i < 3; i++)
		pair[i] = m[i].p;
	want_all(c, "pairwise_wilcox_p_32v64_16v64_16v32", pair, 3);
}

static void want_split(struct checker *c, const char *path, const struct segment_split *s, bool u)
{
	char sub[80];

#define PART(name, value)                                                                          \
	snprintf(sub, sizeof(sub), "%s/" name, path);                                              \
	want(c, sub, value)
	if (strncmp(path, "greedy", 6) == 0) {
		PART("interval/0", (double)s->from);
		PART("interval/1", (double)s->to);
	}
	PART("tau", (double)s->tau);
	if (u) {
		PART("kappa", (double)s->kappa);
		PART("q", s->q);
	} else if (strncmp(path, "greedy", 6) == 0) {
		PART("t_stat", s->q);
	} else {
		PART("t", s->q);
	}
#undef PART
}

/* Share of orders of the whole series whose best V split is at least as good: (b + 1) / (m + 1). */
static double permutation_p(struct checker *c, const double *x, size_t n, uint32_t draws)
{
	struct energy e;
	struct rng rng;
	size_t ids[50], tau;
	uint32_t order[50];
	double q, more = 0;

	energy_init(&e, x, n);
	q = energy_best(&e, NULL, 1, &tau, NULL);
	rng_init(&rng, 3);
	for (size_t i = 0; i < n; i++)
		ids[i] = i;
	for (uint32_t d = 0; d < draws; d++) {
		rng_shuffle_index(&rng, ids, n);
		for (size_t i = 0; i < n; i++)
			order[i] = (uint32_t)ids[i];
		more += energy_best(&e, order, 1, &tau, NULL) >= q * (1 - 1e-12);
	}
	energy_done(&e);
	(void)c;
	return (more + 1) / (draws + 1.0);
}

static void case_edivisive(struct checker *c)
{
	size_t n, got;
	double *x = in(c, "x", &n), p;
	struct segment_split s, u[4], v[4];
	char path[40];

	OK(c, segment_energy_split(x, 0, n, 1, SEGMENT_U, &s, &c->err));
	want_split(c, "first_split_U", &s, true);
	OK(c, segment_energy_split(x, 0, n, 1, SEGMENT_V, &s, &c->err));
	want_split(c, "first_split_V", &s, false);
	OK(c, segment_energy_greedy(x, n, 1, SEGMENT_U, u, 4, &got, &c->err));
	assert_int_equal(got, 4);
	OK(c, segment_energy_greedy(x, n, 1, SEGMENT_V, v, 4, &got, &c->err));
	assert_int_equal(got, 4);
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "greedy_U/%zu", i);
		want_split(c, path, &u[i], true);
		snprintf(path, sizeof(path), "greedy_V/%zu", i);
		want_split(c, path, &v[i], false);
	}
	want_all(c, "change_points", (double[]){(double)v[0].tau, (double)v[1].tau}, 2);
	p = permutation_p(c, x, n, 20000);
	if (fabs(p - expected_number(c, "perm_p_first_split_V")) > 0.0005)
		fail_case(c, "perm_p_first_split_V", "got %g", p);
	set_aside(c, "perm_p_first_split_V", "absolute tolerance 0.0005, compared above");
}

static void case_nile(struct checker *c)
{
	size_t n;
	double *x = in(c, "x", &n), cp[3];
	struct segment_ls s;
	char path[40];

	OK(c, segment_least_squares(x, n, 3, &s, &c->err));
	for (size_t k = 0; k <= 3; k++) {
		snprintf(path, sizeof(path), "k%zu_sse", k);
		want(c, path, s.sse[k]);
		for (size_t i = 0; i < k; i++)
			cp[i] = (double)s.cp[k][i];
		snprintf(path, sizeof(path), "k%zu_cp", k);
		if (k)
			want_all(c, path, cp, k);
	}
	want_all(c, "bic", s.bic, 4);
	assert_int_equal(s.best, 1);
}

struct two {
	const double *a, *b;
};

static double mean_at(const double *x, const size_t *index, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[index[i]];
	return sum / (double)n;
}

static double ratio_of_means(const size_t *a, size_t na, const size_t *b, size_t nb, void *ctx)
{
	const struct two *t = ctx;

	return mean_at(t->b, b, nb) / mean_at(t->a, a, na);
}

static double median_at(const double *x, const size_t *index, size_t n)
{
	double s[16];

	assert_true(n <= ARRAY_LEN(s));
	for (size_t i = 0; i < n; i++)
		s[i] = x[index[i]];
	stat_sort(s, n);
	return summary_median(s, n);
}

static double ratio_of_medians(const size_t *a, size_t na, const size_t *b, size_t nb, void *ctx)
{
	const struct two *t = ctx;

	return median_at(t->b, b, nb) / median_at(t->a, a, na);
}

static double geo_ratio(const size_t *a, size_t na, const size_t *b UNUSED, size_t nb UNUSED,
			void *ctx)
{
	const struct two *t = ctx;
	double sum = 0;

	for (size_t i = 0; i < na; i++)
		sum += log(t->b[a[i]] / t->a[a[i]]);
	return exp(sum / (double)na);
}

static void boot_case(struct checker *c, boot_stat_fn fn, double rel)
{
	size_t na, nb;
	struct two t = {.a = in(c, "a", &na), .b = in(c, "b", &nb)};
	struct boot_options o = {.draws = 100000, .seed = 11};
	struct boot_result b;

	OK(c, boot_run(na, nb, fn, &t, &o, &b, &c->err));
	want_within(c, "theta", b.theta, 1e-11); /* 1e-12, the file prints 12 digits */
	if (fabs(b.accel - expected_number(c, "accel")) > 1e-9)
		fail_case(c, "accel", "got %.12g", b.accel);
	set_aside(c, "accel", "absolute tolerance, compared above");
	c->rel = rel;
	want(c, "pct_lo", b.percentile.lo);
	want(c, "pct_hi", b.percentile.hi);
	want(c, "bca_lo", b.bca.lo);
	want(c, "bca_hi", b.bca.hi);
	want_all(c, "R_boot_perc", (double[]){b.percentile.lo, b.percentile.hi}, 2);
	want_all(c, "R_boot_bca", (double[]){b.bca.lo, b.bca.hi}, 2);
	want_within(c, "boot_se", b.se, 0.01);
	/* 100,000 draws: the standard error of z0 is about 0.004 */
	if (fabs(b.z0 - expected_number(c, "z0")) > 0.016)
		fail_case(c, "z0", "got %g", b.z0);
	set_aside(c, "z0", "a random quantity, compared above");
	set_aside(c, "max_rel_diff_between_two_seeds", "a property of the reference computation");
}

static void case_boot_mean(struct checker *c)
{
	boot_case(c, ratio_of_means, 0.003);
}

static void case_boot_median(struct checker *c)
{
	boot_case(c, ratio_of_medians, 0.02);
}

static void case_boot_paired(struct checker *c)
{
	size_t n;
	struct two t = {.a = in(c, "a", &n), .b = in(c, "b", &n)};
	struct boot_options o = {.draws = 200000, .seed = 5};
	struct boot_result b;

	OK(c, boot_run(n, 0, geo_ratio, &t, &o, &b, &c->err));
	want(c, "theta", b.theta);
	want_within(c, "pct_lo", b.percentile.lo, 0.0005);
	want_within(c, "pct_hi", b.percentile.hi, 0.0005);
}

#define BINS 64
struct hist_runs {
	double a[5][BINS], b[5][BINS];
	double z_n[BINS]; /* how often the difference -z came out */
};

static double pooled_p99(double runs[5][BINS], const size_t *index, size_t n)
{
	double sum[BINS] = {0}, total = 0, cum = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < BINS; k++)
			sum[k] += runs[index[i]][k];
	for (size_t k = 0; k < BINS; k++)
		total += sum[k];
	for (size_t k = 0; k < BINS; k++) {
		cum += sum[k];
		if (cum >= 0.99 * total)
			return (double)k;
	}
	return NAN;
}

static double p99_difference(const size_t *a, size_t na, const size_t *b, size_t nb, void *ctx)
{
	struct hist_runs *h = ctx;
	double z = pooled_p99(h->b, b, nb) - pooled_p99(h->a, a, na);

	h->z_n[(int)-z]++;
	return z;
}

static void load_runs(struct checker *c, const char *key, double to[5][BINS])
{
	const json_t *runs = json_object_get(json_object_get(c->spec, "input"), key);
	const char *bin;
	json_t *run, *v;
	size_t i;

	json_array_foreach(runs, i, run) json_object_foreach(run, bin, v) to[i][atoi(bin)] =
		json_number_value(v);
}

static void case_run_bootstrap(struct checker *c)
{
	struct hist_runs h = {0};
	struct boot_options o = {.draws = 100000, .seed = 2};
	struct boot_result b;
	size_t all[5] = {0, 1, 2, 3, 4};
	double total = expected_number(c, "total");
	const json_t *dist = json_object_get(json_object_get(c->spec, "expected"), "distribution");
	const char *z;
	json_t *v;

	load_runs(c, "runsA", h.a);
	load_runs(c, "runsB", h.b);
	want(c, "pooled_p99_A", pooled_p99(h.a, all, 5));
	want(c, "pooled_p99_B", pooled_p99(h.b, all, 5));
	OK(c, boot_run(5, 5, p99_difference, &h, &o, &b, &c->err));
	want(c, "diff", b.theta);
	want(c, "ci_lo", b.percentile.lo);
	want(c, "ci_hi", b.percentile.hi);
	want(c, "total", pow(5, 10));
	/* shares of the draws against the exhaustive enumeration: 4 standard errors */
	json_object_foreach((json_t *)dist, z, v)
	{
		double exact = json_number_value(v) / total, share = h.z_n[-atoi(z)] / 100000;

		if (fabs(share - exact) > 4 * sqrt(exact * (1 - exact) / 100000) + 2e-4)
			fail_case(c, "distribution", "%s: share %g, exact %g", z, share, exact);
	}
	set_aside(c, "distribution", "compared above");
}

static void case_autocorrelation(struct checker *c)
{
	size_t n;
	double *x = in(c, "x", &n), acf[10];
	struct series_dependence d;

	OK(c, series_acf(x, n, 10, acf, &c->err));
	OK(c, series_dependence(x, n, 10, 10, &d, &c->err));
	want_all(c, "acf1_10", acf, 10);
	want(c, "ljung_box_Q10", d.ljung_box);
	want(c, "ljung_box_p", d.ljung_box_p);
	want(c, "tau_int", d.tau);
	want(c, "ess", d.ess);
	want(c, "se_naive", d.se_naive);
	want(c, "se_batch_means", d.se_batch);
}

static void case_quantiles(struct checker *c)
{
	static const struct {
		const char *path;
		enum quantile_type type;
	} types[] = {{"type1", QUANTILE_TYPE1},
		     {"type6", QUANTILE_TYPE6},
		     {"type7", QUANTILE_TYPE7},
		     {"type8", QUANTILE_TYPE8}};
	size_t n, nq;
	double *x = in(c, "x", &n), *q = in(c, "q", &nq), *out = pool_get(c, nq);

	stat_sort(x, n);
	for (size_t t = 0; t < ARRAY_LEN(types); t++) {
		for (size_t i = 0; i < nq; i++)
			out[i] = summary_quantile(x, n, q[i], types[t].type);
		want_all(c, types[t].path, out, nq);
	}
	for (size_t i = 0; i < nq; i++)
		out[i] = summary_quantile_hd(x, n, q[i]);
	want_all(c, "harrell_davis", out, nq);
}

static void want_pava(struct checker *c, const double *counts, size_t n)
{
	double *level = pool_get(c, n);
	size_t levels, at = 0;
	char path[40];

	OK(c, plateau_pava(counts, NULL, n, level, &levels, &c->err));
	assert_int_equal(levels, expected_len(c, "pava"));
	for (size_t k = 0; k < levels; k++) {
		size_t from = at;

		while (at < n && level[at] == level[from])
			at++;
		snprintf(path, sizeof(path), "pava/%zu/level", k);
		want(c, path, level[from]);
		snprintf(path, sizeof(path), "pava/%zu/bins", k);
		want(c, path, (double)(at - from));
	}
}

static void case_plateaus(struct checker *c)
{
	size_t n;
	double *lo = in(c, "bin_lo_us", &n), *counts = in(c, "counts", &n);
	struct plateau_fit f;
	struct plateau_flat flat;
	char path[40];

	OK(c, plateau_fit(counts, n, 4, 1, &f, &c->err));
	want(c, "n_steps", (double)f.steps);
	for (size_t k = 0; k <= f.steps; k++) {
		const struct plateau_segment *s = &f.seg[k];

		snprintf(path, sizeof(path), "segments_us/%zu", k);
		want_all(c, path, (double[]){lo[s->from], lo[s->to - 1] + 1}, 2);
		snprintf(path, sizeof(path), "levels/%zu", k);
		want(c, path, s->level);
		snprintf(path, sizeof(path), "chi2/%zu", k);
		want(c, path, s->chi2);
		snprintf(path, sizeof(path), "df/%zu", k);
		want(c, path, s->df);
		snprintf(path, sizeof(path), "p_flat/%zu", k);
		want(c, path, s->p_flat);
		if (k == 0)
			continue;
		snprintf(path, sizeof(path), "step_bins_us/%zu", k - 1);
		want(c, path, lo[s->from]);
		snprintf(path, sizeof(path), "path_counts_per_us/%zu", k - 1);
		want(c, path, f.seg[k - 1].level - s->level);
	}
	want_all(c, "loglik_by_k", f.loglik, f.tried);
	want_all(c, "bic_by_k", f.bic, f.tried);
	assert_true(f.descending);
	OK(c, plateau_flat(counts, NULL, 18, 1, &flat, &c->err)); /* 42..59 us */
	want(c, "p_flat_42_60", flat.p);
	want_pava(c, counts, n);
}

static void case_endpoint(struct checker *c)
{
	struct plateau_end e = {0};

	OK(c, plateau_endpoint(in_number(c, "lo"), in_number(c, "max"), in_number(c, "n"),
			       1 - in_number(c, "alpha"), &e, &c->err));
	want(c, "ci_lo", e.ci.lo);
	want(c, "ci_hi", e.ci.hi);
	want(c, "unbiased", e.unbiased);
}

static void case_max_grows(struct checker *c)
{
	size_t k;
	double *n = in(c, "n", &k), *harmonic = pool_get(c, k), *uniform = pool_get(c, k);

	for (size_t i = 0; i < k; i++) {
		for (double m = n[i]; m >= 1; m--)
			harmonic[i] += 1 / m;
		/* n values beat one more with probability n / (n + 1): E max of uniforms */
		uniform[i] = 1 - rate_new_max(n[i], 1);
	}
	want_all(c, "exponential", harmonic, k);
	want_all(c, "uniform", uniform, k);
}

static struct published_number printed(struct checker *c, const char *text)
{
	struct published_number n = {0};

	OK(c, published_number(text, &n, &c->err));
	return n;
}

static void case_published(struct checker *c)
{
	struct published_number prose = printed(c, "70.123"), table = printed(c, "70.231");
	struct published_number new_avg = printed(c, "71.521");
	struct published_number claim_prose = printed(c, "1.99"), claim_table = printed(c, "1.84");
	double fits[16], lo, hi;
	size_t n_fits = 0;

	for (int thousandths = 71515; thousandths <= 71525; thousandths++) {
		struct published_number new_one;
		char text[16];

		snprintf(text, sizeof(text), "%d.%03d", thousandths / 1000, thousandths % 1000);
		new_one = printed(c, text);
		if (published_percent_rounds(&prose, &new_one, &claim_prose) &&
		    published_percent_rounds(&table, &new_one, &claim_table))
			fits[n_fits++] = thousandths;
	}
	want_all(c, "new_avg_thousandths_consistent_with_both", fits, n_fits);
	published_percent_range(&table, &new_avg, &lo, &hi);
	want(c, "pct_from_table_lo", lo);
	want(c, "pct_from_table_hi", hi);
	published_percent_range(&prose, &new_avg, &lo, &hi);
	want(c, "pct_from_prose_lo", lo);
	want(c, "pct_from_prose_hi", hi);
	want(c, "prose_equals_table", fabs(prose.value - table.value) <= prose.half + table.half);
	want(c, "rel_difference_of_the_two_olds", (table.value - prose.value) / prose.value);
}

static void degenerate_tests(struct checker *c)
{
	static const double one[] = {1}, two[] = {2}, five[] = {5, 5, 5, 5, 5};
	static const double a115[] = {115, 114, 115, 115, 115};
	static const double b78[] = {78.8, 78.8, 78.8, 78.8, 78.8};
	struct ttest t;
	struct rank_mw m;
	struct perm_test p;

	/* n = 1: no test, the difference stands */
	OK(c, ttest_welch(one, 1, two, 1, 0.95, &t, &c->err));
	assert_true(t.state == STAT_TOO_FEW && t.diff == 1 && isnan(t.p) && isinf(t.ci.hi));
	/* all equal: difference exactly 0, p = 1 */
	OK(c, ttest_welch(five, 5, five, 5, 0.95, &t, &c->err));
	assert_true(t.state == STAT_NO_VARIANCE && t.diff == 0 && t.p == 1);
	OK(c, rank_mann_whitney(five, 5, five, 5, &m, &c->err));
	assert_true(m.state == STAT_NO_VARIANCE && m.p == 1 && m.cliff_b_a == 0);
	OK(c, perm_mean_diff(five, 5, five, 5, NULL, &p, &c->err));
	assert_true(p.p == 1 && p.diff == 0);
	/* no variance in one arm: still different */
	OK(c, ttest_welch(a115, 5, b78, 5, 0.95, &t, &c->err));
	want_within(c, "welch_19634/t", t.t, 1e-9);
	want_within(c, "welch_19634/df", t.df, 1e-9);
	OK(c, rank_mann_whitney(a115, 5, b78, 5, &m, &c->err));
	assert_true(m.exact && m.count == 2 && m.total == 252);
	assert_true(close_to(m.p, 0.00793650793651, 1e-9));
	/* no variance in both, means differ: t cannot tell, the exact tests can */
	OK(c, ttest_welch(five, 5, b78, 5, 0.95, &t, &c->err));
	assert_true(t.state == STAT_NO_VARIANCE && isnan(t.p));
	OK(c, rank_mann_whitney(five, 5, b78, 5, &m, &c->err));
	assert_true(m.count == 2 && m.total == 252);
}

static void case_degenerate(struct checker *c)
{
	static const double zero[] = {0, 0, 0}, up[] = {1, 2, 3}, up2[] = {4, 5, 6};
	static const double holed[] = {1, 2, NAN};
	struct moments mz = {3, 0, 0}, mu = {3, 2, 1};
	struct rank_mw m;
	struct rank_hl h;
	struct ratio q;
	struct ttest t;
	struct summary_stats s;

	degenerate_tests(c);
	/* base mean 0: no ratio, the difference stands */
	OK(c, ttest_ratio_welch(zero, 3, up, 3, 0.95, &q, &c->err));
	assert_true(q.state == STAT_UNDEFINED && isnan(q.ratio));
	OK(c, ttest_ratio_fieller(&mz, &mu, 0.95, &q, &c->err));
	assert_true(q.state == STAT_UNDEFINED);
	OK(c, ttest_welch(zero, 3, up, 3, 0.95, &t, &c->err));
	assert_true(t.state == STAT_OK && t.diff == 2);
	/* NaN is refused, with its place */
	assert_int_equal(ttest_welch(holed, 3, up, 3, 0.95, &t, &c->err), ERR_INVALID);
	assert_non_null(strstr(c->err.text, "a[2]"));
	assert_int_equal(summary_of(holed, 3, &s, &c->err), ERR_INVALID);
	assert_int_equal(rank_mann_whitney(up, 3, holed, 3, &m, &c->err), ERR_INVALID);
	/* 3 v 3 cannot reach 0.05; 4 v 4 can */
	OK(c, rank_mann_whitney(up, 3, up2, 3, &m, &c->err));
	assert_true(close_to(m.p, 0.1, 1e-12) && close_to(m.p_min, 0.1, 1e-12));
	OK(c, rank_hl_shift(up, 3, up2, 3, 0.95, &h, &c->err));
	assert_true(h.state == STAT_TOO_FEW && h.estimate == 3 && isinf(h.ci.lo));
	/* a maximum of 1000 against one of 1,000,000 samples */
	assert_true(close_to(rate_new_max(1000, 999000), 0.999, 1e-12));
	set_aside(c, "answers", "sentences; checked one by one above (units: the engine's)");
}

static void tail_2004(struct checker *c, const char *key, double *ret_n)
{
	const json_t *table = json_object_get(json_object_get(c->spec, "input"), key);
	double value[200], counts[200], low = 0, high = 0;
	struct plateau_uniform u;
	size_t n = 0;
	const char *bin;
	char path[60];
	json_t *v;

	json_object_foreach((json_t *)table, bin, v)
	{
		value[n] = atof(bin);
		counts[n++] = json_number_value(v);
		low += atoi(bin) < 65 ? json_number_value(v) : 0;
		high += atoi(bin) >= 65 && atoi(bin) < 95 ? json_number_value(v) : 0;
	}
	OK(c, plateau_uniform_tail(value, counts, n, 47, 5, &u, &c->err));
#define PART(name, value)                                                                          \
	snprintf(path, sizeof(path), "%s/" name, key);                                             \
	want(c, path, value)
	PART("n_ge_47", u.n);
	PART("max", u.max);
	PART("chi2", u.flat.chi2);
	PART("df", u.flat.df);
	PART("p_uniform_47_to_max", u.flat.p);
	PART("n_47_64", low);
	PART("n_65_94", high);
	PART("p_density_rises_one_sided", plateau_rises_p(low, 18, high, 30));
#undef PART
	snprintf(path, sizeof(path), "%s/group_sizes", key);
	want_all(c, path, u.size, 5);
	snprintf(path, sizeof(path), "%s/observed", key);
	want_all(c, path, u.observed, 5);
	snprintf(path, sizeof(path), "%s/N_table", key);
	want(c, path, 10400);
	*ret_n = u.n;
}

static void case_delays_2004(struct checker *c)
{
	static const char *const rate[3] = {"rate_32_over_64", "rate_16_over_64",
					    "rate_16_over_32"};
	static const int over[3][2] = {{1, 0}, {2, 0}, {2, 1}};
	double n[3];
	char path[60];

	tail_2004(c, "iozone_64", &n[0]);
	tail_2004(c, "iozone_32", &n[1]);
	tail_2004(c, "iozone_16", &n[2]);
	for (int i = 0; i < 3; i++) {
		struct rate_ratio q;

		OK(c, rate_ratio(n[over[i][1]], 10400, n[over[i][0]], 10400, 0.95, &q, &c->err));
#define PART(name, value)                                                                          \
	snprintf(path, sizeof(path), "%s/" name, rate[i]);                                         \
	want(c, path, value)
		PART("ratio", q.ratio);
		PART("p_naive", q.p);
		PART("ci_lo", q.ci.lo);
		PART("ci_hi", q.ci.hi);
#undef PART
	}
}

static const struct known known[] = {
	{"hist-compare", case_hist_compare},
	{"ks-useless", case_ks_useless},
	{"nist-numacc", case_nist},
	{"ancova-alternating", case_ancova},
	{"variance-components", case_components},
	{"ordered-settings", case_ordered},
	{"edivisive-two-changes", case_edivisive},
	{"ls-segmentation-nile", case_nile},
	{"boot-ratio-mean-S2", case_boot_mean},
	{"boot-ratio-median-S2", case_boot_median},
	{"boot-paired-ratio-S2", case_boot_paired},
	{"run-bootstrap-p99", case_run_bootstrap},
	{"autocorrelation-ess", case_autocorrelation},
	{"quantile-definitions", case_quantiles},
	{"tail-plateaus", case_plateaus},
	{"uniform-endpoint", case_endpoint},
	{"max-grows", case_max_grows},
	{"published-consistency", case_published},
	{"degenerate", case_degenerate},
	{"delays-2004-tail", case_delays_2004},
};

static void test_cases(void **state)
{
	(void)state;
	assert_int_equal(run_cases(known, ARRAY_LEN(known), 1), ARRAY_LEN(known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
