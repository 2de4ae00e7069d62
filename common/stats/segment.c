/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/segment.h"

#include <math.h>

#include "common/stats/segment_energy.h"
#include "common/stats/summary.h"

struct indexed {
	double x;
	size_t at;
};

static int cmp_indexed(const void *pa, const void *pb)
{
	const struct indexed *a = pa, *b = pb;

	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

void energy_init(struct energy *e, const double *x, size_t n)
{
	CLEANUP(freep) struct indexed *s = xcalloc(n + 1, sizeof(*s));
	double mean = summary_mean(x, n), below = 0, total = 0;

	*e = (struct energy){.n = n};
	e->x = xcalloc(n + 1, sizeof(*e->x));
	e->all = xcalloc(n + 1, sizeof(*e->all));
	e->rank = xcalloc(n + 1, sizeof(*e->rank));
	e->tree_sum = xcalloc(n + 1, sizeof(*e->tree_sum));
	e->tree_n = xcalloc(n + 1, sizeof(*e->tree_n));
	for (size_t i = 0; i < n; i++) {
		e->x[i] = x[i] - mean;
		s[i] = (struct indexed){e->x[i], i};
		total += e->x[i];
	}
	if (n > 1)
		qsort(s, n, sizeof(*s), cmp_indexed);
	for (size_t i = 0; i < n; i++) {
		double v = s[i].x, above = total - below - v;

		e->rank[s[i].at] = (uint32_t)i + 1;
		e->all[s[i].at] = v * (double)i - below + above - v * (double)(n - 1 - i);
		e->pairs += e->all[s[i].at] / 2;
		below += v;
	}
}

void energy_done(struct energy *e)
{
	free(e->x);
	free(e->all);
	free(e->rank);
	free(e->tree_sum);
	free(e->tree_n);
	*e = (struct energy){0};
}

/* Sum of |x[k] - x[i]| over the points already in the tree; then adds k. */
static double tree_pass(struct energy *e, size_t k, double count, double sum)
{
	double low_n = 0, low_sum = 0, v = e->x[k];

	for (size_t r = e->rank[k]; r > 0; r &= r - 1) {
		low_n += e->tree_n[r];
		low_sum += e->tree_sum[r];
	}
	for (size_t r = e->rank[k]; r <= e->n; r += r & -r) {
		e->tree_n[r]++;
		e->tree_sum[r] += v;
	}
	return v * low_n - low_sum + (sum - low_sum) - v * (count - low_n);
}

double energy_best(struct energy *e, const uint32_t *order, size_t min_len, size_t *ret_tau,
		   double *q_at)
{
	double left = 0, right = e->pairs, sum = 0, best = 0;
	size_t len = min_len ? min_len : 1;

	memset(e->tree_sum, 0, (e->n + 1) * sizeof(*e->tree_sum));
	memset(e->tree_n, 0, (e->n + 1) * sizeof(*e->tree_n));
	*ret_tau = e->n;
	for (size_t tau = 1; tau < e->n; tau++) { /* moves one point to the left side */
		size_t k = order ? order[tau - 1] : tau - 1;
		double n = (double)tau, m = (double)(e->n - tau), q;
		double to_left = tree_pass(e, k, n - 1, sum);

		left += to_left;
		right -= e->all[k] - to_left;
		sum += e->x[k];
		if (q_at)
			q_at[tau] = 0;
		if (tau < len || e->n - tau < len)
			continue;
		q = 2 / (n + m) * (e->pairs - left - right - left * m / n - right * n / m);
		if (q_at)
			q_at[tau] = q;
		if (*ret_tau == e->n || q > best) {
			best = q;
			*ret_tau = tau;
		}
	}
	return best;
}

static int check_series(const double *x, size_t n, struct err *reterr)
{
	if (n > SEGMENT_N_MAX)
		return err_set(reterr, ERR_LIMIT, "series of %zu points: at most %d", n,
			       SEGMENT_N_MAX);
	return stat_check("x", x, n, reterr);
}

/* U statistics with free kappa. left[k] holds the sum of |x[k] - x[i]| over i < tau, before[k] over
 * all i < k; a pass over kappa then needs one step a point. */
static void split_u(const double *x, size_t from, size_t to, size_t min_len,
		    struct segment_split *best)
{
	CLEANUP(freep) double *left = xcalloc(to - from + 1, sizeof(*left));
	CLEANUP(freep) double *before = xcalloc(to - from + 1, sizeof(*before));
	size_t len = to - from;
	double within_left = 0;

	x += from;
	for (size_t k = 0; k < len; k++)
		for (size_t i = 0; i < k; i++)
			before[k] += fabs(x[k] - x[i]);
	for (size_t tau = 1; tau < len; tau++) {
		double n = (double)tau, between = 0, within_right = 0;

		within_left += before[tau - 1];
		for (size_t k = tau - 1; k < len; k++)
			left[k] += fabs(x[k] - x[tau - 1]);
		for (size_t kappa = tau + 1; kappa <= len; kappa++) {
			double m = (double)(kappa - tau), q;

			between += left[kappa - 1];
			within_right += before[kappa - 1] - left[kappa - 1];
			if (tau < min_len || kappa - tau < min_len)
				continue;
			q = n * m / (n + m) *
			    (2 * between / (n * m) -
			     (tau > 1 ? 2 * within_left / (n * (n - 1)) : 0) -
			     (m > 1 ? 2 * within_right / (m * (m - 1)) : 0));
			if (best->tau == to || q > best->q * (1 + 1e-12)) {
				best->q = q;
				best->tau = from + tau;
				best->kappa = from + kappa;
			}
		}
	}
}

int segment_energy_split(const double *x, size_t from, size_t to, size_t min_len,
			 enum segment_variant variant, struct segment_split *ret,
			 struct err *reterr)
{
	struct segment_split s = {.from = from, .to = to, .tau = to, .kappa = to};
	struct energy e;
	size_t tau;
	int r;

	if (from > to)
		return err_set(reterr, ERR_INVALID, "series from %zu to %zu", from, to);
	r = check_series(x + from, to - from, reterr);
	if (r < 0)
		return r;
	if (min_len == 0)
		min_len = 1;
	if (variant == SEGMENT_U) {
		split_u(x, from, to, min_len, &s);
	} else {
		energy_init(&e, x + from, to - from);
		s.q = energy_best(&e, NULL, min_len, &tau, NULL);
		s.tau = from + tau;
		energy_done(&e);
	}
	*ret = s;
	return 0;
}

int segment_energy_greedy(const double *x, size_t n, size_t min_len, enum segment_variant variant,
			  struct segment_split *ret, size_t max_splits, size_t *ret_n,
			  struct err *reterr)
{
	CLEANUP(freep) struct segment_split *open = xcalloc(2 * max_splits + 2, sizeof(*open));
	size_t open_n = 0, done = 0;
	int r = segment_energy_split(x, 0, n, min_len, variant, &open[0], reterr);

	if (r < 0)
		return r;
	open_n = 1;
	while (done < max_splits) {
		size_t pick = open_n;
		struct segment_split s;

		for (size_t i = 0; i < open_n; i++)
			if (open[i].tau < open[i].to &&
			    (pick == open_n || open[i].q > open[pick].q))
				pick = i;
		if (pick == open_n)
			break;
		s = ret[done++] = open[pick];
		r = segment_energy_split(x, s.from, s.tau, min_len, variant, &open[pick], reterr);
		if (r == 0)
			r = segment_energy_split(x, s.tau, s.to, min_len, variant, &open[open_n++],
						 reterr);
		if (r < 0)
			return r;
	}
	*ret_n = done;
	return 0;
}

/* Sum of squared deviations of x[from, to) from its mean; sums are of centred values. */
static double cost(const double *sum, const double *sq, size_t from, size_t to)
{
	double s = sum[to] - sum[from];

	return fmax(0, sq[to] - sq[from] - s * s / (double)(to - from));
}

static void ls_programme(const double *sum, const double *sq, size_t n, size_t k_max, double *best,
			 size_t *cut)
{
	for (size_t j = 1; j <= n; j++)
		best[j] = cost(sum, sq, 0, j);
	for (size_t k = 1; k <= k_max; k++)
		for (size_t j = k + 1; j <= n; j++) {
			double *to = best + k * (n + 1) + j;

			*to = INFINITY;
			for (size_t i = k; i < j; i++) {
				double c = best[(k - 1) * (n + 1) + i] + cost(sum, sq, i, j);

				if (c < *to) {
					*to = c;
					cut[k * (n + 1) + j] = i;
				}
			}
		}
}

int segment_least_squares(const double *x, size_t n, size_t k_max, struct segment_ls *ret,
			  struct err *reterr)
{
	struct segment_ls s = {0};
	CLEANUP(freep) double *sum = NULL, *sq = NULL, *best = NULL;
	CLEANUP(freep) size_t *cut = NULL;
	double mean, size = (double)n;
	int r = check_series(x, n, reterr);

	if (r == 0 && k_max > SEGMENT_K_MAX)
		r = err_set(reterr, ERR_LIMIT, "%zu changes: at most %d", k_max, SEGMENT_K_MAX);
	if (r < 0)
		return r;
	if (n == 0) {
		*ret = s;
		return 0;
	}
	k_max = k_max < n - 1 ? k_max : n - 1;
	mean = summary_mean(x, n);
	sum = xcalloc(n + 1, sizeof(*sum));
	sq = xcalloc(n + 1, sizeof(*sq));
	best = xcalloc((k_max + 1) * (n + 1), sizeof(*best));
	cut = xcalloc((k_max + 1) * (n + 1), sizeof(*cut));
	for (size_t i = 0; i < n; i++) {
		sum[i + 1] = sum[i] + (x[i] - mean);
		sq[i + 1] = sq[i] + (x[i] - mean) * (x[i] - mean);
	}
	ls_programme(sum, sq, n, k_max, best, cut);
	s.tried = k_max + 1;
	for (size_t k = 0; k <= k_max; k++) {
		size_t to = n;

		s.sse[k] = best[k * (n + 1) + n];
		s.bic[k] = s.sse[k] <= 1e-14 * sq[n]
				   ? -INFINITY
				   : size * log(s.sse[k] / size) + (2 * (double)k + 1) * log(size);
		for (size_t c = k; c-- > 0;) {
			to = cut[(c + 1) * (n + 1) + to];
			s.cp[k][c] = to;
		}
		if (s.bic[k] < s.bic[s.best])
			s.best = k;
	}
	*ret = s;
	return 0;
}
