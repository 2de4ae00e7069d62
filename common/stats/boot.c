/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/boot.h"

#include <math.h>

#include <Rmath.h>

#include "common/stats/rng.h"
#include "common/stats/summary.h"

#define DRAWS	  10000u
#define DRAWS_MAX 1000000u
#define RUNS_MAX  10000

/* Jackknife variance of one arm and the mean of its leave-one-out values. */
static double jack_var(const double *loo, size_t n, double *ret_mean)
{
	double mean = summary_mean(loo, n), sum = 0, size = (double)n;

	for (size_t i = 0; i < n; i++)
		sum += (loo[i] - mean) * (loo[i] - mean);
	*ret_mean = mean;
	return (size - 1) / size * sum;
}

static void jack_finish(struct boot_jackknife *j, double conf)
{
	double half;

	if (j->se == 0) {
		j->state = STAT_NO_VARIANCE;
		j->ci = (struct stat_interval){j->estimate, j->estimate};
		j->p = j->estimate == 0 ? 1 : NAN;
		return;
	}
	j->state = STAT_OK;
	half = qt((1 + conf) / 2, j->df, 1, 0) * j->se;
	j->ci = (struct stat_interval){j->estimate - half, j->estimate + half};
	j->p = 2 * pt(-fabs(j->estimate / j->se), j->df, 1, 0);
}

static struct boot_jackknife jack_none(double theta)
{
	return (struct boot_jackknife){.state = STAT_TOO_FEW,
				       .estimate = theta,
				       .bias = NAN,
				       .se = NAN,
				       .df = NAN,
				       .ci = {-INFINITY, INFINITY},
				       .p = NAN};
}

static int jack_check(double theta, const double *a, size_t na, const double *b, size_t nb,
		      double conf, struct err *reterr)
{
	int r = stat_check_conf(conf, reterr);

	if (r == 0)
		r = stat_check("theta", &theta, 1, reterr);
	if (r == 0)
		r = stat_check("loo of a", a, na, reterr);
	return r < 0 ? r : stat_check("loo of b", b, nb, reterr);
}

int boot_jackknife(double theta, const double *loo, size_t n, double conf,
		   struct boot_jackknife *ret, struct err *reterr)
{
	struct boot_jackknife j = jack_none(theta);
	double mean;
	int r = jack_check(theta, loo, n, NULL, 0, conf, reterr);

	if (r < 0)
		return r;
	if (n >= 2) {
		j.se = sqrt(jack_var(loo, n, &mean));
		j.bias = ((double)n - 1) * (mean - theta);
		j.df = (double)n - 1;
		jack_finish(&j, conf);
	}
	*ret = j;
	return 0;
}

int boot_jackknife2(double theta, const double *loo_a, size_t na, const double *loo_b, size_t nb,
		    double conf, struct boot_jackknife *ret, struct err *reterr)
{
	struct boot_jackknife j = jack_none(theta);
	double mean_a, mean_b, va, vb, dfa = (double)na - 1, dfb = (double)nb - 1;
	int r = jack_check(theta, loo_a, na, loo_b, nb, conf, reterr);

	if (r < 0)
		return r;
	if (na >= 2 && nb >= 2) {
		va = jack_var(loo_a, na, &mean_a);
		vb = jack_var(loo_b, nb, &mean_b);
		j.se = sqrt(va + vb);
		j.bias = dfa * (mean_a - theta) + dfb * (mean_b - theta);
		j.df = (va + vb) * (va + vb) / (va * va / dfa + vb * vb / dfb);
		jack_finish(&j, conf);
	}
	*ret = j;
	return 0;
}

struct boot_work {
	size_t na, nb;
	boot_stat_fn stat;
	void *ctx;
	size_t *a, *b;
};

static void draw(struct rng *rng, size_t *index, size_t n)
{
	for (size_t i = 0; i < n; i++)
		index[i] = rng_below(rng, (uint32_t)n);
}

static void identity(size_t *index, size_t n)
{
	for (size_t i = 0; i < n; i++)
		index[i] = i;
}

/* Adds one arm's part of the acceleration: l_ij = (n - 1) (mean of loo - theta without j). */
static void acceleration_of(struct boot_work *w, bool arm_b, double *cubes, double *squares)
{
	size_t n = arm_b ? w->nb : w->na;
	size_t *index = arm_b ? w->b : w->a;
	CLEANUP(freep) double *loo = xcalloc(n + 1, sizeof(*loo));
	double size = (double)n, mean;

	if (n < 2)
		return;
	for (size_t j = 0; j < n; j++) {
		for (size_t i = 0; i + 1 < n; i++)
			index[i] = i < j ? i : i + 1;
		loo[j] = arm_b ? w->stat(w->a, w->na, index, n - 1, w->ctx)
			       : w->stat(index, n - 1, w->b, w->nb, w->ctx);
	}
	identity(index, n);
	mean = summary_mean(loo, n);
	for (size_t j = 0; j < n; j++) {
		double l = (size - 1) * (mean - loo[j]);

		*cubes += l * l * l / (size * size * size);
		*squares += l * l / (size * size);
	}
}

static double acceleration(struct boot_work *w)
{
	double cubes = 0, squares = 0;

	acceleration_of(w, false, &cubes, &squares);
	acceleration_of(w, true, &cubes, &squares);
	return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* The share of draws that the BCa interval cuts at a normal quantile z. */
static double bca_level(double z0, double accel, double z)
{
	return pnorm(z0 + (z0 + z) / (1 - accel * (z0 + z)), 0, 1, 1, 0);
}

static void intervals(const double *t, size_t draws, double conf, struct boot_result *b)
{
	double below = 0, equal = 0, z = qnorm((1 + conf) / 2, 0, 1, 1, 0);

	b->percentile.lo = summary_quantile(t, draws, (1 - conf) / 2, QUANTILE_TYPE1);
	b->percentile.hi = summary_quantile(t, draws, (1 + conf) / 2, QUANTILE_TYPE1);
	for (size_t i = 0; i < draws; i++) {
		below += t[i] < b->theta;
		equal += t[i] == b->theta;
	}
	b->z0 = qnorm((below + equal / 2) / (double)draws, 0, 1, 1, 0);
	b->bca = b->percentile;
	if (isfinite(b->z0) && isfinite(b->accel)) {
		b->bca.lo =
			summary_quantile(t, draws, bca_level(b->z0, b->accel, -z), QUANTILE_TYPE1);
		b->bca.hi =
			summary_quantile(t, draws, bca_level(b->z0, b->accel, z), QUANTILE_TYPE1);
	}
}

static int boot_check(size_t na, size_t nb, const struct boot_options *o, struct boot_options *ret,
		      struct err *reterr)
{
	*ret = o ? *o : (struct boot_options){0};
	if (ret->draws == 0)
		ret->draws = DRAWS;
	if (ret->conf == 0)
		ret->conf = 0.95;
	if (ret->draws > DRAWS_MAX || na > RUNS_MAX || nb > RUNS_MAX)
		return err_set(reterr, ERR_LIMIT,
			       "bootstrap of %zu + %zu runs with %u draws: at most %d runs a side "
			       "and %u draws",
			       na, nb, ret->draws, RUNS_MAX, DRAWS_MAX);
	return stat_check_conf(ret->conf, reterr);
}

int boot_run(size_t na, size_t nb, boot_stat_fn stat, void *ctx, const struct boot_options *options,
	     struct boot_result *ret, struct err *reterr)
{
	struct boot_result b = {.state = STAT_TOO_FEW,
				.theta = NAN,
				.se = NAN,
				.z0 = NAN,
				.accel = NAN,
				.percentile = {-INFINITY, INFINITY},
				.bca = {-INFINITY, INFINITY}};
	CLEANUP(freep) size_t *index = NULL;
	CLEANUP(freep) double *t = NULL;
	struct boot_options o;
	struct boot_work w;
	struct summary_stats s;
	struct rng rng;
	int r = boot_check(na, nb, options, &o, reterr);

	if (r < 0)
		return r;
	b.draws = o.draws;
	b.seed = o.seed;
	if (na < 2 || nb == 1) {
		*ret = b;
		return 0;
	}
	index = xcalloc(na + nb, sizeof(*index));
	t = xcalloc(o.draws, sizeof(*t));
	w = (struct boot_work){na, nb, stat, ctx, index, index + na};
	identity(w.a, na);
	identity(w.b, nb);
	b.theta = stat(w.a, na, w.b, nb, ctx);
	b.accel = acceleration(&w);
	rng_init(&rng, o.seed);
	for (uint32_t i = 0; i < o.draws; i++) {
		draw(&rng, w.a, na);
		draw(&rng, w.b, nb);
		t[i] = stat(w.a, na, w.b, nb, ctx);
	}
	r = summary_of(t, o.draws, &s, reterr);
	if (r < 0)
		return err_prefix(reterr, "bootstrap statistic: ");
	b.se = s.sd;
	b.state = s.range == 0 ? STAT_NO_VARIANCE : STAT_OK;
	stat_sort(t, o.draws);
	intervals(t, o.draws, o.conf, &b);
	*ret = b;
	return 0;
}
