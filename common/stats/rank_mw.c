/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mann-Whitney and the two-sample Hodges-Lehmann shift. */
#include <math.h>

#include <Rmath.h>

#include "common/stats/rank_count.h"
#include "common/stats/summary.h"

#define PAIRS_MAX 4000000

static int check_sides(const double *a, size_t na, const double *b, size_t nb, struct err *reterr)
{
	int r;

	if (na > RANK_N_MAX || nb > RANK_N_MAX)
		return err_set(reterr, ERR_LIMIT,
			       "rank test of %zu and %zu values: at most %d a side; reduce each "
			       "run to one number first",
			       na, nb, RANK_N_MAX);
	r = stat_check("a", a, na, reterr);
	return r < 0 ? r : stat_check("b", b, nb, reterr);
}

static struct rank_mw mw_none(enum stat_state state)
{
	return (struct rank_mw){.state = state,
				.u_a = NAN,
				.u_b = NAN,
				.count = NAN,
				.total = NAN,
				.p = NAN,
				.p_less = NAN,
				.p_greater = NAN,
				.p_normal = NAN,
				.p_normal_nocc = NAN,
				.p_min = NAN,
				.cliff_b_a = NAN};
}

static double two_sided_normal(double z)
{
	return 2 * pnorm(-fabs(z), 0, 1, 1, 0);
}

/* Tie-corrected normal approximation; also the answer when counting would be too long. */
static void mw_normal(struct rank_mw *m, double na, double nb, double ties)
{
	double n = na + nb, dev = m->u_b - na * nb / 2;
	double sd = sqrt(na * nb / 12 * (n + 1 - ties / (n * (n - 1))));
	double cc = fmax(fabs(dev) - 0.5, 0);

	m->p_normal = two_sided_normal(cc / sd);
	m->p_normal_nocc = two_sided_normal(dev / sd);
	m->p = m->p_normal;
	m->p_less = pnorm((dev + 0.5) / sd, 0, 1, 1, 0);
	m->p_greater = pnorm((dev - 0.5) / sd, 0, 1, 0, 0);
	m->p_min = 2 * exp(-lchoose(n, na));
}

/* Exact tails from a table of one side's statistic: `at` is where we are, `mean` its middle.
 * `low_p` is the share at or below `at`. */
static void exact_tails(const struct rank_counts *c, double at, double mean, struct rank_mw *m,
			double *low_p, double *high_p)
{
	double dev = fabs(at - mean), last = (double)c->len - 1, far;
	size_t lo = 0, hi = c->len - 1;

	while (c->n[lo] == 0)
		lo++;
	while (c->n[hi] == 0)
		hi--;
	far = fmax(mean - (double)lo, (double)hi - mean);
	m->exact = true;
	m->total = c->total;
	m->count =
		dev == 0 ? c->total
			 : rank_counts_sum(c, 0, mean - dev) + rank_counts_sum(c, mean + dev, last);
	m->p = m->count / m->total;
	m->p_min = (rank_counts_sum(c, 0, mean - far) + rank_counts_sum(c, mean + far, last)) /
		   m->total;
	*low_p = rank_counts_sum(c, 0, at) / m->total;
	*high_p = rank_counts_sum(c, at, last) / m->total;
}

static void mw_exact(struct rank_mw *m, const uint32_t *rank, size_t na, size_t nb)
{
	CLEANUP(freep) double *table = NULL;
	struct rank_counts c = {0};
	double at = 0, mean;

	if (!m->ties) {
		if (!rank_counts_u(na, nb, &c))
			return;
		table = c.n;
		exact_tails(&c, m->u_b, (double)na * (double)nb / 2, m, &m->p_less, &m->p_greater);
		return;
	}
	/* the smaller side makes the smaller table; ranks of B stand behind those of A */
	if (!rank_counts_subset(rank, na + nb, na <= nb ? na : nb, &c))
		return;
	table = c.n;
	for (size_t i = na <= nb ? 0 : na; i < (na <= nb ? na : na + nb); i++)
		at += rank[i];
	mean = (double)(na <= nb ? na : nb) * (double)(na + nb + 1);
	if (na <= nb) /* low ranks of A: B is greater */
		exact_tails(&c, at, mean, m, &m->p_greater, &m->p_less);
	else
		exact_tails(&c, at, mean, m, &m->p_less, &m->p_greater);
}

int rank_mann_whitney(const double *a, size_t na, const double *b, size_t nb, struct rank_mw *ret,
		      struct err *reterr)
{
	size_t n = na + nb;
	CLEANUP(freep) double *x = NULL;
	CLEANUP(freep) uint32_t *rank = NULL;
	struct rank_mw m = mw_none(STAT_OK);
	double ties, sum_a = 0, pairs = (double)na * (double)nb;
	int r = check_sides(a, na, b, nb, reterr);

	if (r < 0)
		return r;
	if (na == 0 || nb == 0) {
		*ret = mw_none(STAT_TOO_FEW);
		return 0;
	}
	x = xcalloc(n, sizeof(*x));
	rank = xcalloc(n, sizeof(*rank));
	memcpy(x, a, na * sizeof(*x));
	memcpy(x + na, b, nb * sizeof(*x));
	ties = rank_doubled(x, n, rank);
	for (size_t i = 0; i < na; i++)
		sum_a += rank[i];
	m.ties = ties > 0;
	m.u_a = sum_a / 2 - (double)na * ((double)na + 1) / 2;
	m.u_b = pairs - m.u_a;
	m.cliff_b_a = (m.u_b - m.u_a) / pairs;
	if (ties >= (double)n * ((double)n * (double)n - 1)) { /* all equal */
		m.state = STAT_NO_VARIANCE;
		m.exact = true;
		m.p = m.p_less = m.p_greater = m.p_normal = m.p_normal_nocc = m.p_min = 1;
	} else {
		mw_normal(&m, (double)na, (double)nb, ties);
		mw_exact(&m, rank, na, nb);
	}
	*ret = m;
	return 0;
}

double rank_mw_cdf(double u, size_t na, size_t nb)
{
	CLEANUP(freep) double *table = NULL;
	struct rank_counts c = {0};

	if (na == 0 || nb == 0 || !rank_counts_u(na, nb, &c))
		return NAN;
	table = c.n;
	/* from the nearer end, so that tails of 1e-50 keep their digits */
	if (u > (double)(c.len - 1) / 2)
		return 1 - rank_counts_sum(&c, floor(u) + 1, (double)c.len - 1) / c.total;
	return rank_counts_sum(&c, 0, u) / c.total;
}

double rank_mw_quantile(double p, size_t na, size_t nb)
{
	CLEANUP(freep) double *table = NULL;
	struct rank_counts c = {0};

	if (!(p >= 0 && p <= 1) || na == 0 || nb == 0 || !rank_counts_u(na, nb, &c))
		return NAN;
	table = c.n;
	return rank_counts_quantile(&c, p);
}

/* k of the order-statistic interval and its coverage; normal approximation beyond the table. */
static void mw_k(size_t na, size_t nb, double conf, double *ret_k, double *ret_coverage)
{
	double pairs = (double)na * (double)nb;
	double k = rank_mw_quantile((1 - conf) / 2, na, nb);

	if (isnan(k)) {
		double sd = sqrt(pairs * ((double)(na + nb) + 1) / 12);

		*ret_k = floor(pairs / 2 - qnorm((1 + conf) / 2, 0, 1, 1, 0) * sd);
		*ret_coverage = conf;
		return;
	}
	*ret_k = k;
	*ret_coverage = k >= 1 ? 1 - 2 * rank_mw_cdf(k - 1, na, nb) : 1;
}

int rank_hl_shift(const double *a, size_t na, const double *b, size_t nb, double conf,
		  struct rank_hl *ret, struct err *reterr)
{
	struct rank_hl h = {.state = STAT_TOO_FEW,
			    .estimate = NAN,
			    .coverage = NAN,
			    .ci = {-INFINITY, INFINITY}};
	CLEANUP(freep) double *d = NULL;
	size_t pairs = na * nb;
	double k;
	int r = check_sides(a, na, b, nb, reterr);

	if (r == 0)
		r = stat_check_conf(conf, reterr);
	if (r < 0)
		return r;
	if (pairs > PAIRS_MAX)
		return err_set(reterr, ERR_LIMIT,
			       "shift of %zu x %zu values: at most 4,000,000 "
			       "pairs",
			       na, nb);
	if (pairs == 0) {
		*ret = h;
		return 0;
	}
	d = xcalloc(pairs, sizeof(*d));
	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			d[i * nb + j] = b[j] - a[i];
	stat_sort(d, pairs);
	h.estimate = summary_median(d, pairs);
	mw_k(na, nb, conf, &k, &h.coverage);
	if (k >= 1) {
		h.state = STAT_OK;
		h.k = (uint64_t)k;
		h.ci = (struct stat_interval){d[h.k - 1], d[pairs - h.k]};
	}
	*ret = h;
	return 0;
}
