/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/plateau.h"

#include <math.h>

#include <Rmath.h>

static int check_counts(const double *counts, size_t n, struct err *reterr)
{
	int r = stat_check("counts", counts, n, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (counts[i] < 0)
			return err_set(reterr, ERR_INVALID, "counts[%zu] = %g is negative", i,
				       counts[i]);
	return 0;
}

static int check_dispersion(double dispersion, struct err *reterr)
{
	if (!(isfinite(dispersion) && dispersion >= 1))
		return err_set(reterr, ERR_INVALID,
			       "dispersion %g: 1 is Poisson, more is bursts, less cannot be known",
			       dispersion);
	return 0;
}

int plateau_flat(const double *counts, const double *sizes, size_t n, double dispersion,
		 struct plateau_flat *ret, struct err *reterr)
{
	struct plateau_flat f = {.state = STAT_TOO_FEW, .chi2 = NAN, .df = NAN, .p = NAN};
	double total = 0, width = 0;
	int r = check_counts(counts, n, reterr);

	if (r == 0)
		r = check_dispersion(dispersion, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		double size = sizes ? sizes[i] : 1;

		if (!(isfinite(size) && size > 0))
			return err_set(reterr, ERR_INVALID, "class %zu has the width %g", i, size);
		total += counts[i];
		width += size;
	}
	if (n >= 2 && total > 0) {
		f.state = STAT_OK;
		f.df = (double)n - 1;
		f.chi2 = 0;
		for (size_t i = 0; i < n; i++) {
			double expect = total * (sizes ? sizes[i] : 1) / width;

			f.chi2 += (counts[i] - expect) * (counts[i] - expect) / expect;
		}
		f.chi2 /= dispersion;
		f.p = pchisq(f.chi2, f.df, 0, 0);
	}
	*ret = f;
	return 0;
}

/* Poisson log likelihood of bins [from, to) with one level, without sum log(x!). */
static double loglik(const double *cum, size_t from, size_t to)
{
	double c = cum[to] - cum[from];

	return c > 0 ? c * log(c / (double)(to - from)) - c : 0;
}

/* best[k * (n + 1) + j]: largest logL of the first j bins with k steps; cut: where the last step
 * is. The logarithms are dear, so each last segment [i, j) is weighed once for all k. */
static void dynamic_programme(const double *cum, size_t n, size_t k_max, double *best, size_t *cut)
{
	CLEANUP(freep) double *last = xcalloc(n + 1, sizeof(*last));

	for (size_t j = 1; j <= n; j++) {
		for (size_t i = 0; i < j; i++)
			last[i] = loglik(cum, i, j);
		best[j] = last[0];
		for (size_t k = 1; k <= k_max && k < j; k++) {
			const double *before = best + (k - 1) * (n + 1);
			double *to = best + k * (n + 1) + j;

			*to = -INFINITY;
			for (size_t i = k; i < j; i++)
				if (before[i] + last[i] > *to) {
					*to = before[i] + last[i];
					cut[k * (n + 1) + j] = i;
				}
		}
	}
}

static int fill_segments(const double *counts, size_t n, const size_t *cut, double dispersion,
			 struct plateau_fit *f, struct err *reterr)
{
	size_t to = n;

	f->descending = true;
	for (size_t k = f->steps + 1; k-- > 0;) {
		struct plateau_segment *s = &f->seg[k];
		struct plateau_flat flat;
		double sum = 0;
		int r;

		s->to = to;
		s->from = k ? cut[k * (n + 1) + to] : 0;
		for (size_t i = s->from; i < s->to; i++)
			sum += counts[i];
		s->level = sum / (double)(s->to - s->from);
		r = plateau_flat(counts + s->from, NULL, s->to - s->from, dispersion, &flat,
				 reterr);
		if (r < 0)
			return r;
		s->chi2 = flat.chi2;
		s->df = flat.df;
		s->p_flat = flat.p;
		to = s->from;
	}
	for (size_t k = 1; k <= f->steps; k++)
		f->descending &= f->seg[k].level < f->seg[k - 1].level;
	return 0;
}

int plateau_fit(const double *counts, size_t bins, size_t k_max, double dispersion,
		struct plateau_fit *ret, struct err *reterr)
{
	struct plateau_fit f = {.state = STAT_TOO_FEW};
	CLEANUP(freep) double *cum = NULL, *best = NULL;
	CLEANUP(freep) size_t *cut = NULL;
	int r = check_counts(counts, bins, reterr);

	if (r == 0)
		r = check_dispersion(dispersion, reterr);
	if (r < 0)
		return r;
	if (bins > PLATEAU_BINS_MAX || k_max > PLATEAU_STEPS_MAX)
		return err_set(reterr, ERR_LIMIT,
			       "plateaus of %zu bins with %zu steps: at most %d "
			       "and %d",
			       bins, k_max, PLATEAU_BINS_MAX, PLATEAU_STEPS_MAX);
	cum = xcalloc(bins + 1, sizeof(*cum));
	for (size_t i = 0; i < bins; i++)
		cum[i + 1] = cum[i] + counts[i];
	if (bins < 2 || cum[bins] == 0) {
		*ret = f;
		return 0;
	}
	k_max = k_max < bins - 1 ? k_max : bins - 1;
	best = xcalloc((k_max + 1) * (bins + 1), sizeof(*best));
	cut = xcalloc((k_max + 1) * (bins + 1), sizeof(*cut));
	dynamic_programme(cum, bins, k_max, best, cut);
	f.state = STAT_OK;
	f.tried = k_max + 1;
	for (size_t k = 0; k <= k_max; k++) {
		f.loglik[k] = best[k * (bins + 1) + bins];
		/* overdispersed counts carry less information: quasi-likelihood */
		f.bic[k] = -2 * f.loglik[k] / dispersion + (2 * (double)k + 1) * log((double)bins);
		if (f.bic[k] < f.bic[f.steps])
			f.steps = k;
	}
	r = fill_segments(counts, bins, cut, dispersion, &f, reterr);
	if (r == 0)
		*ret = f;
	return r;
}

int plateau_pava(const double *y, const double *w, size_t n, double *level, size_t *ret_levels,
		 struct err *reterr)
{
	struct pool {
		double mean, weight;
		size_t bins;
	};
	CLEANUP(freep) struct pool *p = xcalloc(n + 1, sizeof(*p));
	size_t m = 0, at = 0;
	int r = stat_check("y", y, n, reterr);

	if (r == 0 && w)
		r = stat_check("weight", w, n, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (w && w[i] <= 0)
			return err_set(reterr, ERR_INVALID, "weight[%zu] = %g: must be positive", i,
				       w[i]);
		p[m++] = (struct pool){y[i], w ? w[i] : 1, 1};
		while (m > 1 && p[m - 1].mean >= p[m - 2].mean) {
			struct pool *to = &p[m - 2], *from = &p[m - 1];
			double weight = to->weight + from->weight;

			to->mean = (to->mean * to->weight + from->mean * from->weight) / weight;
			to->weight = weight;
			to->bins += from->bins;
			m--;
		}
	}
	for (size_t k = 0; k < m; k++)
		for (size_t i = 0; i < p[k].bins; i++)
			level[at++] = p[k].mean;
	*ret_levels = m;
	return 0;
}

static int check_tail(const double *value, const double *counts, size_t n, double lo,
		      size_t classes, struct err *reterr)
{
	int r = stat_check("value", value, n, reterr);

	if (r == 0)
		r = check_counts(counts, n, reterr);
	if (r < 0)
		return r;
	if (classes < 2 || classes > 20)
		return err_set(reterr, ERR_LIMIT, "%zu classes: 2 to 20", classes);
	if (lo != floor(lo))
		return err_set(reterr, ERR_INVALID, "tail from %g: bins are whole numbers", lo);
	for (size_t i = 0; i < n; i++)
		if (value[i] != floor(value[i]) || (i > 0 && value[i] <= value[i - 1]))
			return err_set(reterr, ERR_INVALID,
				       "value[%zu] = %g: bins are whole numbers in rising order", i,
				       value[i]);
	return 0;
}

/* Whole numbers k of [0, width) with floor(k * classes / width) = class. */
static double class_size(size_t class, size_t classes, double width)
{
	return ceil((double)(class + 1) * width / (double)classes) -
	       ceil((double)class * width / (double)classes);
}

int plateau_uniform_tail(const double *value, const double *counts, size_t n, double lo,
			 size_t classes, struct plateau_uniform *ret, struct err *reterr)
{
	struct plateau_uniform u = {.state = STAT_TOO_FEW, .max = NAN, .classes = classes};
	double width;
	int r = check_tail(value, counts, n, lo, classes, reterr);

	if (r < 0)
		return r;
	u.flat = (struct plateau_flat){.state = STAT_TOO_FEW, .chi2 = NAN, .df = NAN, .p = NAN};
	for (size_t i = 0; i < n; i++)
		if (value[i] >= lo && counts[i] > 0) {
			u.n += counts[i];
			u.max = value[i];
		}
	width = u.max - lo + 1;
	if (u.n < 2 * (double)classes + 1 || width < (double)classes) {
		*ret = u;
		return 0;
	}
	for (size_t k = 0; k < classes; k++)
		u.size[k] = class_size(k, classes, width);
	for (size_t i = 0; i < n; i++)
		if (value[i] >= lo && value[i] <= u.max) {
			double k = floor((value[i] - lo) * (double)classes / width);

			u.observed[(size_t)k] += counts[i] - (value[i] == u.max ? 1 : 0);
		}
	u.state = STAT_OK;
	r = plateau_flat(u.observed, u.size, classes, 1, &u.flat, reterr);
	if (r == 0)
		*ret = u;
	return r;
}

double plateau_rises_p(double x1, double w1, double x2, double w2)
{
	if (!(w1 > 0 && w2 > 0 && x1 >= 0 && x2 >= 0))
		return NAN;
	return pbinom(x2 - 1, x1 + x2, w2 / (w1 + w2), 0, 0);
}

int plateau_endpoint(double lo, double max, double n, double conf, struct plateau_end *ret,
		     struct err *reterr)
{
	int r = stat_check_conf(conf, reterr);

	if (r < 0)
		return r;
	if (!(isfinite(lo) && isfinite(max) && max >= lo && n >= 1 && isfinite(n)))
		return err_set(reterr, ERR_INVALID,
			       "end of a tail from %g with %g values up to %g: "
			       "needs one value above the begin",
			       lo, n, max);
	ret->ci.lo = max;
	ret->ci.hi = lo + (max - lo) * pow(1 - conf, -1 / n);
	ret->unbiased = lo + (max - lo) * (n + 1) / n;
	return 0;
}

double plateau_dispersion(const double *x, const double *exposure, size_t n)
{
	double total = 0, time = 0, chi2 = 0;

	for (size_t i = 0; i < n; i++) {
		total += x[i];
		time += exposure[i];
	}
	if (n < 2 || !(total > 0) || !(time > 0))
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double expect = total * exposure[i] / time;

		if (!(expect > 0))
			return NAN;
		chi2 += (x[i] - expect) * (x[i] - expect) / expect;
	}
	return fmax(1, chi2 / (double)(n - 1));
}
