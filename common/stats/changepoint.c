/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of work: outliers aside, dependence measured, drift against steps, then recursive
 * E-divisive splits, each tested by permuted blocks, then every survivor tested once more between
 * its neighbours. */
#include "common/stats/changepoint.h"

#include <math.h>

#include <Rmath.h>

#include "common/stats/regress.h"
#include "common/stats/rng.h"
#include "common/stats/segment_energy.h"
#include "common/stats/summary.h"

#define ALPHA	      0.01
#define DRAWS	      499
#define DRAWS_MAX     100000
#define MIN_LEN	      5
#define EFFECTIVE_MIN 20   /* independent points below which nothing can be said */
#define BLOCKS_MIN    20   /* shorter blocks rather than fewer */
#define WINDOW	      3	   /* neighbours on each side of a possible outlier */
#define OUTLIER_SD    5.0  /* robust deviations from the neighbours' median */
#define OUTLIER_SHARE 0.05 /* more of them are a second mode, not outliers */
#define TRIM	      0.2  /* share of the largest differences left out */
#define LR_95	      7.35 /* Hansen (2000), 95 % of the likelihood ratio of a break's place */

const char *changepoint_reading_name(enum changepoint_reading r)
{
	static const char *const names[] = {
		[CHANGEPOINT_NONE] = "none",
		[CHANGEPOINT_STEPS] = "steps",
		[CHANGEPOINT_DRIFT] = "drift",
		[CHANGEPOINT_SHORT] = "history_too_short",
	};

	return (unsigned int)r < ARRAY_LEN(names) ? names[r] : "unknown";
}

/* What the search carries along. y is the series without its outliers, place[i] the index of y[i]
 * in the series as given. */
struct search {
	struct changepoint_options o;
	const double *y;
	const size_t *place;
	size_t n;
	size_t block;
	double lag1;
	double leak; /* what blocks of this length lose of the long-run variance */
	struct rng rng;
	size_t cut[CHANGEPOINT_MAX]; /* accepted, ascending, in y */
	double q[CHANGEPOINT_MAX], p[CHANGEPOINT_MAX];
	size_t cuts;
};

/* Median of the neighbours of i, without i itself. */
static double neighbours_median(const double *x, size_t n, size_t i)
{
	double near[2 * WINDOW];
	size_t from = i > WINDOW ? i - WINDOW : 0, to = i + WINDOW < n ? i + WINDOW + 1 : n, m = 0;

	for (size_t k = from; k < to; k++)
		if (k != i)
			near[m++] = x[k];
	stat_sort(near, m);
	return summary_median(near, m);
}

/* A point far from both sides, where the series goes on as before. `dev` is |x - neighbours|. */
static bool is_outlier(const double *x, size_t n, size_t i, double dev, double scale)
{
	if (dev <= OUTLIER_SD * scale)
		return false;
	/* the next point is far as well: a step begins or ends here */
	if (i + 1 < n && fabs(x[i + 1] - x[i]) < dev / 2)
		return false;
	return i == 0 || fabs(x[i - 1] - x[i]) >= dev / 2;
}

/* Marks single points that return. More than a few are a mode of the system, not outliers. */
static void find_outliers(const double *x, size_t n, struct changepoint_result *ret)
{
	CLEANUP(freep) double *dev = xcalloc(n + 1, sizeof(*dev));
	CLEANUP(freep) double *sorted = xcalloc(n + 1, sizeof(*sorted));
	size_t found = 0, most = (size_t)fmax(1, OUTLIER_SHARE * (double)n);
	double scale;

	if (n < 2 * WINDOW + 2)
		return;
	for (size_t i = 0; i < n; i++)
		sorted[i] = dev[i] = fabs(x[i] - neighbours_median(x, n, i));
	stat_sort(sorted, n);
	scale = 1.4826 * summary_median(sorted, n);
	for (size_t i = 1; i + 1 < n; i++) { /* the ends have not returned */
		if (!is_outlier(x, n, i, dev[i], scale))
			continue;
		if (found == most || found == CHANGEPOINT_MAX)
			return;
		ret->outlier[found++] = i;
	}
	ret->outliers = found;
}

/* Mean square of x[i + lag] - x[i] without the largest ones, which steps make. */
static double mean_square_step(const double *x, size_t n, size_t lag)
{
	CLEANUP(freep) double *d = xcalloc(n + 1, sizeof(*d));
	size_t m = 0, keep;
	double sum = 0;

	for (size_t i = 0; i + lag < n; i++, m++)
		d[m] = (x[i + lag] - x[i]) * (x[i + lag] - x[i]);
	stat_sort(d, m);
	keep = m - (size_t)(TRIM * (double)m);
	for (size_t i = 0; i < keep; i++)
		sum += d[i];
	return keep ? sum / (double)keep : 0;
}

static double squares(const double *y, size_t from, size_t to)
{
	double mean = summary_mean(y + from, to - from), sum = 0;

	for (size_t i = from; i < to; i++)
		sum += (y[i] - mean) * (y[i] - mean);
	return sum;
}

/* Lag-1 correlation of residuals, with its bias of about -(1 + 3 rho) / n for each of the `fitted`
 * numbers that were taken off (Kendall 1954). */
static double lag1_corrected(const double *resid, size_t n, size_t fitted)
{
	double var = 0, cov = 0, rho;

	for (size_t i = 0; i < n; i++) {
		var += resid[i] * resid[i];
		cov += i ? resid[i] * resid[i - 1] : 0;
	}
	rho = var > 0 ? cov / var : 0;
	return rho + (1 + 3 * rho) / (double)n * (double)fitted;
}

static size_t best_step(const double *x, size_t n)
{
	double least = INFINITY;
	size_t cut = n;

	for (size_t t = 2; t + 2 <= n; t++) {
		double sse = squares(x, 0, t) + squares(x, t, n);

		if (sse < least) {
			least = sse;
			cut = t;
		}
	}
	return cut;
}

static void take_means_off(const double *x, size_t n, size_t cut, double *resid)
{
	double left = summary_mean(x, cut), right = cut < n ? summary_mean(x + cut, n - cut) : 0;

	for (size_t i = 0; i < n; i++)
		resid[i] = x[i] - (i < cut ? left : right);
}

static void take_line_off(const double *x, size_t n, double *resid)
{
	double mean = summary_mean(x, n), middle = ((double)n - 1) / 2, sxy = 0, sxx = 0;

	for (size_t i = 0; i < n; i++) {
		sxy += ((double)i - middle) * (x[i] - mean);
		sxx += ((double)i - middle) * ((double)i - middle);
	}
	for (size_t i = 0; i < n; i++)
		resid[i] = x[i] - mean - sxy / sxx * ((double)i - middle);
}

/* Lag-1 correlation: the smallest of four estimates, so that no step and no drift passes for
 * dependence. Around the mean; around the best single step; around a line; and, for many steps,
 * from differences (for AR(1) E(x[i+2]-x[i])^2 / E(x[i+1]-x[i])^2 = 1 + rho, and a level shift
 * touches one or two of them only), which is noisier. */
static double lag1_of(const double *x, size_t n)
{
	CLEANUP(freep) double *resid = xcalloc(n + 1, sizeof(*resid));
	double one = mean_square_step(x, n, 1), two = mean_square_step(x, n, 2), rho;

	if (n < 3 || !(one > 0))
		return 0;
	rho = two / one - 1;
	take_means_off(x, n, n, resid);
	rho = fmin(rho, lag1_corrected(resid, n, 1));
	take_means_off(x, n, best_step(x, n), resid);
	rho = fmin(rho, lag1_corrected(resid, n, 2));
	take_line_off(x, n, resid);
	rho = fmin(rho, lag1_corrected(resid, n, 2));
	return fmin(fmax(rho, -0.95), 0.95);
}

/* Variance of the sum of b AR(1) neighbours over b, in units of one's variance. */
static double block_variance(double rho, size_t b)
{
	double sum = 1, power = 1;

	for (size_t k = 1; k < b; k++) {
		power *= rho;
		sum += 2 * (1 - (double)k / (double)b) * power;
	}
	return sum;
}

static double inflation(double rho)
{
	return (1 + rho) / (1 - rho);
}

/* Blocks as long as the dependence asks for (a tenth of the long-run variance lost), but at least
 * BLOCKS_MIN of them; what they lose all the same is known for AR(1) and given back to q. */
static void choose_block(struct search *s)
{
	double rho = fmax(s->lag1, 0), want = 20 * rho / (1 - rho * rho);
	size_t most = s->n / BLOCKS_MIN ? s->n / BLOCKS_MIN : 1;

	s->block = want < 1 ? 1 : (size_t)fmin(ceil(want), (double)most);
	s->leak = block_variance(rho, s->block) / inflation(rho);
}

/* One order of m points in which whole blocks have moved. */
static void permute_blocks(struct search *s, uint32_t *order, size_t *blocks, size_t m)
{
	size_t count = (m + s->block - 1) / s->block, at = 0;
	/* where the short block falls must not always be the end */
	size_t shift = s->block > 1 ? rng_below(&s->rng, (uint32_t)m) : 0;

	for (size_t b = 0; b < count; b++)
		blocks[b] = b;
	rng_shuffle_index(&s->rng, blocks, count);
	for (size_t b = 0; b < count; b++)
		for (size_t i = blocks[b] * s->block; i < (blocks[b] + 1) * s->block && i < m; i++)
			order[at++] = (uint32_t)((i + shift) % m);
}

/* Best split of y[from, to) and its p = (b + 1) / (m + 1). Stops drawing when alpha is out of reach
 * (p is then a lower bound above alpha). tau = to when the part is too short. */
static void test_split(struct search *s, size_t from, size_t to, size_t *ret_tau, double *ret_q,
		       double *ret_p)
{
	size_t m = to - from, tau, ignored;
	CLEANUP(freep) uint32_t *order = xcalloc(m + 1, sizeof(*order));
	CLEANUP(freep) size_t *blocks = xcalloc(m + 1, sizeof(*blocks));
	double more = 0, limit = s->o.alpha * (s->o.draws + 1.0);
	struct energy e;

	*ret_p = 1;
	*ret_tau = to;
	*ret_q = 0;
	if (m < 2 * s->o.min_len)
		return;
	energy_init(&e, s->y + from, m);
	*ret_q = energy_best(&e, NULL, s->o.min_len, &tau, NULL);
	*ret_tau = from + tau;
	for (uint32_t d = 0; d < s->o.draws && more + 1 <= limit; d++) {
		permute_blocks(s, order, blocks, m);
		more += energy_best(&e, order, s->o.min_len, &ignored, NULL) >=
			*ret_q * s->leak * (1 - 1e-12);
	}
	energy_done(&e);
	*ret_p = (more + 1) / (s->o.draws + 1.0);
}

static void insert_cut(struct search *s, size_t cut)
{
	size_t i = s->cuts++;

	for (; i > 0 && s->cut[i - 1] > cut; i--)
		s->cut[i] = s->cut[i - 1];
	s->cut[i] = cut;
}

static void split_recursively(struct search *s, size_t from, size_t to)
{
	size_t tau;
	double q, p;

	if (s->cuts == CHANGEPOINT_MAX)
		return;
	test_split(s, from, to, &tau, &q, &p);
	if (tau == to || p > s->o.alpha)
		return;
	insert_cut(s, tau);
	split_recursively(s, from, tau);
	split_recursively(s, tau, to);
}

static void remove_cut(struct search *s, size_t i)
{
	s->cuts--;
	for (; i < s->cuts; i++)
		s->cut[i] = s->cut[i + 1];
}

static size_t part_from(const struct search *s, size_t i)
{
	return i ? s->cut[i - 1] : 0;
}

static size_t part_to(const struct search *s, size_t i)
{
	return i + 1 < s->cuts ? s->cut[i + 1] : s->n;
}

static bool is_known(const struct search *s, size_t cut)
{
	for (size_t i = 0; i < s->o.n_known; i++)
		if (s->place[cut] == s->o.known[i])
			return true;
	return false;
}

/* p of a cut at a place that was not chosen here. */
static double test_place(struct search *s, size_t from, size_t to, size_t cut)
{
	size_t m = to - from, ignored;
	CLEANUP(freep) uint32_t *order = xcalloc(m + 1, sizeof(*order));
	CLEANUP(freep) size_t *blocks = xcalloc(m + 1, sizeof(*blocks));
	CLEANUP(freep) double *q_at = xcalloc(m + 1, sizeof(*q_at));
	double more = 0, limit = s->o.alpha * (s->o.draws + 1.0), q;
	struct energy e;

	energy_init(&e, s->y + from, m);
	(void)energy_best(&e, NULL, 1, &ignored, q_at);
	q = q_at[cut - from];
	for (uint32_t d = 0; d < s->o.draws && more + 1 <= limit; d++) {
		permute_blocks(s, order, blocks, m);
		(void)energy_best(&e, order, 1, &ignored, q_at);
		more += q_at[cut - from] >= q * s->leak * (1 - 1e-12);
	}
	energy_done(&e);
	return (more + 1) / (s->o.draws + 1.0);
}

/* The cut where it fits best between its neighbours. A known one that no other place bears out,
 * because a later step back is too young to be cut, is tested where it was. */
static void test_again(struct search *s, size_t i)
{
	size_t from = part_from(s, i), to = part_to(s, i), was = s->cut[i];

	test_split(s, from, to, &s->cut[i], &s->q[i], &s->p[i]);
	if (s->p[i] <= s->o.alpha || !is_known(s, was))
		return;
	s->cut[i] = was;
	s->p[i] = test_place(s, from, to, was);
}

/* A cut that was best for the whole may be needless, or elsewhere, once its neighbours are known.
 */
static void prune(struct search *s)
{
	size_t worst = 0;

	while (s->cuts > 0 && worst < SIZE_MAX) {
		worst = SIZE_MAX;
		for (size_t i = 0; i < s->cuts; i++) {
			test_again(s, i);
			if (s->p[i] > s->o.alpha && (worst == SIZE_MAX || s->p[i] > s->p[worst]))
				worst = i;
		}
		if (worst < SIZE_MAX)
			remove_cut(s, worst);
	}
}

static double median_of(const double *y, size_t from, size_t to)
{
	CLEANUP(freep) double *x = xcalloc(to - from + 1, sizeof(*x));

	memcpy(x, y + from, (to - from) * sizeof(*x));
	stat_sort(x, to - from);
	return summary_median(x, to - from);
}

/* Places that fit nearly as well: likelihood ratio of a step at t, shared out over the independent
 * points. */
static void plausible_places(const struct search *s, size_t from, size_t to, size_t at,
			     size_t *ret_lo, size_t *ret_hi)
{
	double best = INFINITY, limit;
	size_t len = s->o.min_len;

	for (size_t t = from + len; t + len <= to; t++)
		best = fmin(best, squares(s->y, from, t) + squares(s->y, t, to));
	limit = best * (1 + LR_95 * inflation(fmax(s->lag1, 0)) / (double)(to - from));
	*ret_lo = *ret_hi = at;
	for (size_t t = from + len; t + len <= to; t++)
		if (squares(s->y, from, t) + squares(s->y, t, to) <= limit) {
			*ret_lo = t < *ret_lo ? t : *ret_lo;
			*ret_hi = t > *ret_hi ? t : *ret_hi;
		}
}

static void fill_step(const struct search *s, size_t i, struct changepoint_step *ret)
{
	size_t from = part_from(s, i), to = part_to(s, i), lo, hi;

	plausible_places(s, from, to, s->cut[i], &lo, &hi);
	ret->at = s->place[s->cut[i]];
	ret->lo = s->place[lo];
	ret->hi = s->place[hi];
	ret->before = median_of(s->y, from, s->cut[i]);
	ret->after = median_of(s->y, s->cut[i], to);
	ret->rel = ret->before != 0 ? ret->after / ret->before - 1 : NAN;
	ret->q = s->q[i];
	ret->p = s->p[i];
}

/* Smallest step first: without it the levels beside it change. */
static void drop_small_steps(struct search *s)
{
	while (s->cuts > 0 && s->o.min_rel > 0) {
		size_t least = 0;
		double size = INFINITY;

		for (size_t i = 0; i < s->cuts; i++) {
			double before = median_of(s->y, part_from(s, i), s->cut[i]);
			double after = median_of(s->y, s->cut[i], part_to(s, i));
			double rel = before != 0 ? fabs(after / before - 1) : INFINITY;

			if (rel < size) {
				size = rel;
				least = i;
			}
		}
		if (size >= s->o.min_rel)
			return;
		remove_cut(s, least);
		for (size_t i = least; i < s->cuts; i++) {
			s->q[i] = s->q[i + 1];
			s->p[i] = s->p[i + 1];
		}
	}
}

/* Is a straight line both significant and better than up to three steps? */
static int test_drift(const struct search *s, struct changepoint_result *ret, bool *ret_drift,
		      struct err *reterr)
{
	CLEANUP(freep) double *x = xcalloc(s->n + 1, 2 * sizeof(*x));
	double inflate = inflation(fmax(s->lag1, 0)), n_eff = (double)s->n / inflate;
	struct regress_fit fit;
	struct segment_ls ls;
	double line, step = INFINITY;
	int r;

	for (size_t i = 0; i < s->n; i++) {
		x[2 * i] = 1;
		x[2 * i + 1] = (double)s->place[i];
	}
	r = regress_ols(s->y, x, s->n, 2, &fit, NULL, reterr);
	if (r == 0)
		r = segment_least_squares(s->y, s->n, 3, &ls, reterr);
	if (r < 0)
		return r;
	ret->drift_per_point = fit.coef[1];
	ret->drift_p = 1;
	*ret_drift = false;
	if (fit.state == STAT_NO_VARIANCE && fit.coef[1] != 0) {
		ret->drift_p = 0;
		*ret_drift = true;
		return 0;
	}
	if (fit.state != STAT_OK)
		return 0;
	ret->drift_p = 2 * pt(-fabs(fit.t[1]) / sqrt(inflate), n_eff - 2, 1, 0);
	line = n_eff * log(fit.sigma * fit.sigma * fit.df) + 2 * log(n_eff);
	for (size_t k = 1; k < ls.tried; k++)
		step = fmin(step, n_eff * log(ls.sse[k]) + (2 * (double)k + 1) * log(n_eff));
	*ret_drift = ret->drift_p <= s->o.alpha && line < step;
	return 0;
}

static int check_options(const struct changepoint_options *o, struct changepoint_options *ret,
			 struct err *reterr)
{
	*ret = o ? *o : (struct changepoint_options){0};
	if (ret->alpha == 0)
		ret->alpha = ALPHA;
	if (ret->draws == 0)
		ret->draws = DRAWS;
	if (ret->min_len == 0)
		ret->min_len = MIN_LEN;
	if (!(ret->alpha > 0 && ret->alpha < 0.5) || !(ret->min_rel >= 0))
		return err_set(reterr, ERR_INVALID,
			       "change points with alpha %g and smallest step %g: alpha is between "
			       "0 and 0.5, a step a share such as 0.01",
			       ret->alpha, ret->min_rel);
	if (ret->draws > DRAWS_MAX || ret->alpha * (ret->draws + 1.0) < 1)
		return err_set(reterr, ERR_LIMIT,
			       "%u permutations: alpha %g needs at least %.0f, and %d are the most",
			       ret->draws, ret->alpha, ceil(1 / ret->alpha) - 1, DRAWS_MAX);
	return 0;
}

/* Known cuts to places in y, kept as far as both sides have room. */
static void place_known(struct search *s)
{
	size_t last = 0, k = 0;

	for (size_t i = 0; i < s->o.n_known && s->cuts < CHANGEPOINT_MAX; i++) {
		while (k < s->n && s->place[k] < s->o.known[i])
			k++;
		if (k < last + s->o.min_len || k + s->o.min_len > s->n)
			continue;
		s->cut[s->cuts++] = last = k;
	}
}

/* The series without its known levels: what dependence is measured on. */
static void take_levels_off(const struct search *s, double *resid)
{
	for (size_t i = 0; i <= s->cuts; i++) {
		size_t from = i ? s->cut[i - 1] : 0, to = i < s->cuts ? s->cut[i] : s->n;
		double mean = summary_mean(s->y + from, to - from);

		for (size_t k = from; k < to; k++)
			resid[k] = s->y[k] - mean;
	}
}

/* A step in the newest level, too young to be known, must not pass for dependence either. */
static double lag1_known(const struct search *s)
{
	CLEANUP(freep) double *resid = xcalloc(s->n + 1, sizeof(*resid));
	size_t from = s->cuts ? s->cut[s->cuts - 1] : 0, n = s->n - from;
	double rho;

	if (!s->cuts)
		return lag1_of(s->y, s->n);
	take_levels_off(s, resid);
	rho = lag1_of(resid, s->n);
	take_means_off(s->y + from, n, best_step(s->y + from, n), resid + from);
	return fmax(fmin(rho, lag1_corrected(resid, s->n, s->cuts + 2)), -0.95);
}

/* Points that this dependence needs. The correlation of n points is known to 1 / sqrt(n) only, so
 * that much of it is no reason to be silent. */
static size_t points_needed(const struct search *s)
{
	double rho = fmax(s->lag1 - 1 / sqrt((double)s->n), 0);

	return (size_t)ceil(EFFECTIVE_MIN * inflation(rho));
}

static void search_steps(struct search *s, struct changepoint_result *ret)
{
	size_t known = s->cuts, edge[CHANGEPOINT_MAX + 2] = {0};

	memcpy(edge + 1, s->cut, known * sizeof(*edge));
	edge[known + 1] = s->n;
	for (size_t i = 0; i <= known; i++)
		split_recursively(s, edge[i], edge[i + 1]);
	prune(s);
	drop_small_steps(s);
	ret->steps = s->cuts;
	for (size_t i = 0; i < s->cuts; i++)
		fill_step(s, i, &ret->step[i]);
	ret->reading = s->cuts ? CHANGEPOINT_STEPS : CHANGEPOINT_NONE;
}

int changepoint_find(const double *x, size_t n, const struct changepoint_options *o,
		     struct changepoint_result *ret, struct err *reterr)
{
	CLEANUP(freep) double *y = xcalloc(n + 1, sizeof(*y));
	CLEANUP(freep) size_t *place = xcalloc(n + 1, sizeof(*place));
	struct changepoint_result c = {.n = n, .drift_per_point = NAN, .drift_p = NAN};
	struct search s = {.y = y, .place = place};
	bool drift = false;
	int r = check_options(o, &s.o, reterr);

	if (r == 0 && n > SEGMENT_N_MAX)
		r = err_set(reterr, ERR_LIMIT,
			    "history of %zu points: at most %d; take the last "
			    "ones",
			    n, SEGMENT_N_MAX);
	if (r == 0)
		r = stat_check("x", x, n, reterr);
	if (r < 0)
		return r;
	find_outliers(x, n, &c);
	for (size_t i = 0, k = 0; i < n; i++) {
		if (k < c.outliers && c.outlier[k] == i) {
			k++;
			continue;
		}
		place[s.n] = i;
		y[s.n++] = x[i];
	}
	c.seed = s.o.seed;
	rng_init(&s.rng, s.o.seed);
	place_known(&s);
	c.lag1 = s.lag1 = lag1_known(&s);
	choose_block(&s);
	c.block = s.block;
	c.needed = points_needed(&s) + c.outliers;
	if (n < c.needed || s.n < 4 * s.o.min_len) {
		c.reading = CHANGEPOINT_SHORT;
		c.needed = c.needed > 4 * s.o.min_len ? c.needed : 4 * s.o.min_len;
		*ret = c;
		return 0;
	}
	/* a history with established levels is not one slow drift */
	r = s.cuts ? 0 : test_drift(&s, &c, &drift, reterr);
	if (r < 0)
		return r;
	if (drift)
		c.reading = CHANGEPOINT_DRIFT;
	else
		search_steps(&s, &c);
	*ret = c;
	return 0;
}
