/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers questions about common/stats on stdin, for stats_against_scipy.py. A line is an
 * operation, then lists "n v1 .. vn"; the answer is one line of numbers with 17 digits. */
#include <math.h>
#include <stdio.h>

#include "common/stats/boot.h"
#include "common/stats/dist.h"
#include "common/stats/perm.h"
#include "common/stats/power.h"
#include "common/stats/rank.h"
#include "common/stats/rate.h"
#include "common/stats/regress.h"
#include "common/stats/series.h"
#include "common/stats/spread.h"
#include "common/stats/ttest.h"

#define LISTS	 4
#define LIST_MAX 2000

struct list {
	double v[LIST_MAX];
	size_t n;
};
static struct list in[LISTS];
static struct err err;

static void must(int r)
{
	if (r < 0) {
		printf("error %s\n", err.text);
		exit(1);
	}
}

static void say(size_t n, const double *v)
{
	for (size_t i = 0; i < n; i++)
		printf("%s%.17g", i ? " " : "", v[i]);
	printf("\n");
}
#define SAY(...) say(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void do_welch(void)
{
	struct ttest t;

	must(ttest_welch(in[0].v, in[0].n, in[1].v, in[1].n, 0.95, &t, &err));
	SAY(t.t, t.p, t.df, t.p_less, t.p_greater);
}

static void do_pooled(void)
{
	struct ttest t;

	must(ttest_pooled(in[0].v, in[0].n, in[1].v, in[1].n, 0.95, &t, &err));
	SAY(t.t, t.p);
}

static void do_paired(void)
{
	struct ttest t;

	must(ttest_paired(in[0].v, in[1].v, in[0].n, 0.9, &t, &err));
	SAY(t.t, t.p, t.ci.lo, t.ci.hi);
}

static void do_yuen(void)
{
	struct ttest t;

	must(ttest_yuen(in[0].v, in[0].n, in[1].v, in[1].n, 0.2, 0.95, &t, &err));
	SAY(t.t, t.p);
}

static void do_mw(void)
{
	struct rank_mw m;

	must(rank_mann_whitney(in[0].v, in[0].n, in[1].v, in[1].n, &m, &err));
	SAY(m.u_a, m.exact ? m.p : NAN, m.p_normal, m.p_normal_nocc);
}

static void do_signed(void)
{
	struct rank_signed s;

	must(rank_signed(in[0].v, in[0].n, &s, &err));
	SAY(s.v, s.p, s.p_less, s.p_greater);
}

static void do_kw(void)
{
	static double x[LISTS * LIST_MAX];
	size_t n[3], at = 0;
	struct rank_kw k;

	for (int i = 0; i < 3; i++) {
		memcpy(x + at, in[i].v, in[i].n * sizeof(*x));
		at += n[i] = in[i].n;
	}
	must(rank_kruskal_wallis(x, n, 3, &k, &err));
	SAY(k.h, k.p);
}

static void do_anova(void)
{
	static double x[LISTS * LIST_MAX];
	size_t n[3], at = 0;
	struct spread_components c;

	for (int i = 0; i < 3; i++) {
		memcpy(x + at, in[i].v, in[i].n * sizeof(*x));
		at += n[i] = in[i].n;
	}
	must(spread_components(x, n, 3, &c, &err));
	SAY(c.f, c.p);
}

static void do_bf(void)
{
	struct spread_bf b;

	must(spread_brown_forsythe(in[0].v, in[0].n, in[1].v, in[1].n, &b, &err));
	SAY(b.f, b.p);
}

static void do_perm(void)
{
	struct perm_test p, s;

	must(perm_mean_diff(in[0].v, in[0].n, in[1].v, in[1].n, NULL, &p, &err));
	must(perm_sign_flip(in[0].v, in[0].n, NULL, &s, &err));
	SAY(p.diff, p.p, p.p_less, s.p);
}

static void do_quantiles(void)
{
	double q = in[1].v[0], *x = in[0].v;
	size_t n = in[0].n;

	stat_sort(x, n);
	SAY(summary_quantile(x, n, q, QUANTILE_TYPE1), summary_quantile(x, n, q, QUANTILE_TYPE6),
	    summary_quantile(x, n, q, QUANTILE_TYPE7), summary_quantile(x, n, q, QUANTILE_TYPE8),
	    summary_quantile_hd(x, n, q));
}

static void do_dist(void)
{
	struct dist_points a = {in[0].v, NULL, in[0].n}, b = {in[1].v, NULL, in[1].n};
	struct dist_distance d;

	stat_sort(in[0].v, in[0].n);
	stat_sort(in[1].v, in[1].n);
	must(dist_compare(&a, &b, &d, &err));
	SAY(d.ks, d.wasserstein);
}

static void do_binomial(void)
{
	SAY(rate_binomial_p(in[0].v[0], in[0].v[1], in[0].v[2]));
}

static void do_share(void)
{
	struct rate_share s;

	must(rate_share(in[0].v[0], in[0].v[1], 0.95, &s, &err));
	SAY(s.clopper_pearson.lo, s.clopper_pearson.hi, s.wilson.lo, s.wilson.hi);
}

static void do_power(void)
{
	SAY(power_two_sample(in[0].v[0], in[0].v[1], 0.05),
	    power_paired(in[0].v[0], in[0].v[1], 0.05));
}

static void do_ancova(void)
{
	struct regress_order o;

	must(regress_ancova(in[0].v, in[1].v, in[2].v, in[0].n, 0.95, &o, &err));
	SAY(o.effect, o.slope, o.sigma);
}

static void do_trend(void)
{
	struct regress_trend t;

	must(regress_trend(in[0].v, in[0].n, &t, &err));
	SAY(t.slope, t.p, t.tau, t.sen_slope);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ops[] = {{"welch", do_welch},
	   {"pooled", do_pooled},
	   {"paired", do_paired},
	   {"yuen", do_yuen},
	   {"mw", do_mw},
	   {"signed", do_signed},
	   {"kw", do_kw},
	   {"anova", do_anova},
	   {"bf", do_bf},
	   {"perm", do_perm},
	   {"quantiles", do_quantiles},
	   {"dist", do_dist},
	   {"binomial", do_binomial},
	   {"share", do_share},
	   {"power", do_power},
	   {"ancova", do_ancova},
	   {"trend", do_trend}};

/* Reads "n v1 .. vn" lists up to the end of the line. */
static void read_lists(char *line)
{
	char *save = NULL, *word;

	for (int l = 0; l < LISTS; l++)
		in[l].n = 0;
	for (int l = 0; l < LISTS && (word = strtok_r(line, " \n", &save)); l++, line = NULL) {
		size_t n = (size_t)atoi(word);

		for (size_t i = 0; i < n && i < LIST_MAX; i++) {
			word = strtok_r(NULL, " \n", &save);
			if (!word) {
				printf("error: list %d is short\n", l);
				exit(1);
			}
			in[l].v[in[l].n++] = strtod(word, NULL);
		}
	}
}

int main(void)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) > 0) {
		size_t len = strcspn(line, " \n"), op = 0;

		while (op < ARRAY_LEN(ops) &&
		       (strlen(ops[op].name) != len || strncmp(ops[op].name, line, len) != 0))
			op++;
		if (op == ARRAY_LEN(ops)) {
			printf("error: no operation %.*s\n", (int)len, line);
			return 1;
		}
		read_lists(line + len);
		ops[op].fn();
	}
	free(line);
	return 0;
}
