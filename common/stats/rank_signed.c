/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wilcoxon signed rank and the paired Hodges-Lehmann estimate. */
#include <math.h>

#include <Rmath.h>

#include "common/stats/rank_count.h"
#include "common/stats/summary.h"

#define WALSH_N_MAX 2800 /* 4,000,000 Walsh averages */

static void signed_normal(struct rank_signed *s, double n, double ties)
{
	double dev = s->v - n * (n + 1) / 4;
	double sd = sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48);

	s->p = 2 * pnorm(-fmax(fabs(dev) - 0.5, 0) / sd, 0, 1, 1, 0);
	s->p_less = pnorm((dev + 0.5) / sd, 0, 1, 1, 0);
	s->p_greater = pnorm((dev - 0.5) / sd, 0, 1, 0, 0);
	s->p_min = 2 * exp2(-n);
}

static void signed_exact(struct rank_signed *s, const uint32_t *rank)
{
	CLEANUP(freep) double *table = NULL;
	struct rank_counts c = {0};
	double at = 2 * s->v, last, low;

	if (!rank_counts_signs(rank, s->n_used, &c))
		return;
	table = c.n;
	last = (double)c.len - 1;
	s->exact = true;
	s->total = c.total;
	s->p_less = rank_counts_sum(&c, 0, at) / c.total;
	s->p_greater = rank_counts_sum(&c, at, last) / c.total;
	low = fmin(at, last - at); /* symmetric about last / 2 */
	s->count = fmin(2 * rank_counts_sum(&c, 0, low), c.total);
	s->p = s->count / c.total;
	s->p_min = 2 / c.total;
}

int rank_signed(const double *d, size_t n, struct rank_signed *ret, struct err *reterr)
{
	struct rank_signed s = {.state = STAT_OK,
				.v = NAN,
				.count = NAN,
				.total = NAN,
				.p = NAN,
				.p_less = NAN,
				.p_greater = NAN,
				.p_min = NAN};
	CLEANUP(freep) double *size = NULL;
	CLEANUP(freep) double *value = NULL;
	CLEANUP(freep) uint32_t *rank = NULL;
	double ties;
	int r = stat_check("d", d, n, reterr);

	if (r < 0)
		return r;
	if (n > RANK_N_MAX)
		return err_set(reterr, ERR_LIMIT, "signed rank of %zu values: at most %d", n,
			       RANK_N_MAX);
	size = xcalloc(n + 1, sizeof(*size));
	value = xcalloc(n + 1, sizeof(*value));
	rank = xcalloc(n + 1, sizeof(*rank));
	for (size_t i = 0; i < n; i++)
		if (d[i] != 0) {
			value[s.n_used] = d[i];
			size[s.n_used++] = fabs(d[i]);
		}
	if (s.n_used == 0) {
		s.state = n ? STAT_NO_VARIANCE : STAT_TOO_FEW;
		if (n)
			s.p = s.p_less = s.p_greater = s.p_min = 1;
		*ret = s;
		return 0;
	}
	ties = rank_doubled(size, s.n_used, rank);
	s.ties = ties > 0;
	s.v = 0;
	for (size_t i = 0; i < s.n_used; i++)
		s.v += value[i] > 0 ? rank[i] / 2.0 : 0;
	signed_normal(&s, (double)s.n_used, ties);
	signed_exact(&s, rank);
	*ret = s;
	return 0;
}

/* Counts of the no-tie distribution, indexed by V itself. */
static bool plain_counts(size_t n, struct rank_counts *ret)
{
	CLEANUP(freep) uint32_t *rank = xcalloc(n + 1, sizeof(*rank));

	for (size_t i = 0; i < n; i++)
		rank[i] = (uint32_t)i + 1;
	return n > 0 && rank_counts_signs(rank, n, ret);
}

double rank_signed_cdf(double v, size_t n)
{
	CLEANUP(freep) double *table = NULL;
	struct rank_counts c = {0};

	if (!plain_counts(n, &c))
		return NAN;
	table = c.n;
	return rank_counts_sum(&c, 0, v) / c.total;
}

double rank_signed_quantile(double p, size_t n)
{
	CLEANUP(freep) double *table = NULL;
	struct rank_counts c = {0};

	if (!(p >= 0 && p <= 1) || !plain_counts(n, &c))
		return NAN;
	table = c.n;
	return rank_counts_quantile(&c, p);
}

int rank_hl_paired(const double *d, size_t n, double conf, struct rank_hl *ret, struct err *reterr)
{
	struct rank_hl h = {.state = STAT_TOO_FEW,
			    .estimate = NAN,
			    .coverage = NAN,
			    .ci = {-INFINITY, INFINITY}};
	CLEANUP(freep) double *walsh = NULL;
	size_t m = 0, averages = n * (n + 1) / 2;
	double k;
	int r = stat_check("d", d, n, reterr);

	if (r == 0)
		r = stat_check_conf(conf, reterr);
	if (r < 0)
		return r;
	if (n > WALSH_N_MAX)
		return err_set(reterr, ERR_LIMIT, "pseudo-median of %zu values: at most %d", n,
			       WALSH_N_MAX);
	if (n == 0) {
		*ret = h;
		return 0;
	}
	walsh = xcalloc(averages, sizeof(*walsh));
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			walsh[m++] = d[i] + (d[j] - d[i]) / 2;
	stat_sort(walsh, averages);
	h.estimate = summary_median(walsh, averages);
	k = rank_signed_quantile((1 - conf) / 2, n);
	h.coverage = k >= 1 ? 1 - 2 * rank_signed_cdf(k - 1, n) : 1;
	if (isnan(k)) { /* beyond the table */
		double size = (double)n, sd = sqrt(size * (size + 1) * (2 * size + 1) / 24);

		k = floor(size * (size + 1) / 4 - qnorm((1 + conf) / 2, 0, 1, 1, 0) * sd);
		h.coverage = conf;
	}
	if (k >= 1) {
		h.state = STAT_OK;
		h.k = (uint64_t)k;
		h.ci = (struct stat_interval){walsh[h.k - 1], walsh[averages - h.k]};
	}
	*ret = h;
	return 0;
}
