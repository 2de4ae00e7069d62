/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/regress.h"

#include <math.h>

#include <Rmath.h>

#include "common/stats/summary.h"

/* Columns whose part orthogonal to the earlier ones is below this share are dependent. */
#define RANK_TOLERANCE 1e-9

/* Householder QR of the n x k matrix in place (column j at x + j * n); y becomes Q'y. Returns false
 * when a column depends on those before it. diag[j] is R's diagonal; R's upper part stays in x. */
static bool qr(double *x, double *y, size_t n, size_t k, double *diag)
{
	for (size_t j = 0; j < k; j++) {
		double *col = x + j * n, norm = 0, whole = 0, vv;

		for (size_t i = 0; i < n; i++)
			whole = hypot(whole, col[i]);
		for (size_t i = j; i < n; i++)
			norm = hypot(norm, col[i]);
		if (!(norm > RANK_TOLERANCE * whole))
			return false;
		diag[j] = col[j] > 0 ? -norm : norm;
		col[j] -= diag[j];
		vv = 0;
		for (size_t i = j; i < n; i++)
			vv += col[i] * col[i];
		for (size_t c = j + 1; c <= k; c++) {
			double *to = c < k ? x + c * n : y, dot = 0;

			for (size_t i = j; i < n; i++)
				dot += col[i] * to[i];
			for (size_t i = j; i < n; i++)
				to[i] -= 2 * dot / vv * col[i];
		}
	}
	return true;
}

/* Solves R coef = Q'y and the diagonal of (R'R)^-1. */
static void back_substitute(const double *x, const double *qty, size_t n, size_t k,
			    const double *diag, double *coef, double *inv_diag)
{
	double inv[REGRESS_K_MAX][REGRESS_K_MAX] = {{0}};

	for (size_t j = k; j-- > 0;) {
		double sum = qty[j];

		for (size_t c = j + 1; c < k; c++)
			sum -= x[c * n + j] * coef[c];
		coef[j] = sum / diag[j];
	}
	for (size_t c = 0; c < k; c++) {
		inv[c][c] = 1 / diag[c];
		for (size_t j = c; j-- > 0;) {
			double sum = 0;

			for (size_t m = j + 1; m <= c; m++)
				sum += x[m * n + j] * inv[m][c];
			inv[j][c] = -sum / diag[j];
		}
	}
	for (size_t j = 0; j < k; j++) {
		inv_diag[j] = 0;
		for (size_t c = j; c < k; c++)
			inv_diag[j] += inv[j][c] * inv[j][c];
	}
}

static struct regress_fit fit_none(enum stat_state state, size_t k)
{
	struct regress_fit f = {.state = state, .k = k, .df = NAN, .sigma = NAN};

	for (size_t j = 0; j < REGRESS_K_MAX; j++)
		f.coef[j] = f.se[j] = f.t[j] = f.p[j] = NAN;
	return f;
}

static void residuals(const double *y, const double *x, size_t n, size_t k, const double *coef,
		      double *resid)
{
	for (size_t i = 0; i < n; i++) {
		resid[i] = y[i];
		for (size_t j = 0; j < k; j++)
			resid[i] -= coef[j] * x[i * k + j];
	}
}

static void fit_errors(struct regress_fit *f, double rss, const double *inv_diag)
{
	f->sigma = sqrt(rss / f->df);
	for (size_t j = 0; j < f->k; j++) {
		f->se[j] = f->sigma * sqrt(inv_diag[j]);
		if (f->se[j] == 0)
			continue; /* t and p stay NAN */
		f->t[j] = f->coef[j] / f->se[j];
		f->p[j] = 2 * pt(-fabs(f->t[j]), f->df, 1, 0);
	}
	if (f->sigma == 0)
		f->state = STAT_NO_VARIANCE;
}

int regress_ols(const double *y, const double *x, size_t n, size_t k, struct regress_fit *ret,
		double *resid, struct err *reterr)
{
	struct regress_fit f;
	CLEANUP(freep) double *q = NULL, *qty = NULL, *e = NULL;
	double diag[REGRESS_K_MAX], inv_diag[REGRESS_K_MAX], rss = 0;
	int r;

	if (k < 1 || k > REGRESS_K_MAX)
		return err_set(reterr, ERR_LIMIT, "regression with %zu columns: 1 to %d", k,
			       REGRESS_K_MAX);
	r = stat_check("y", y, n, reterr);
	if (r == 0)
		r = stat_check("x", x, n * k, reterr);
	if (r < 0)
		return r;
	f = fit_none(STAT_TOO_FEW, k);
	if (n <= k) {
		*ret = f;
		return 0;
	}
	q = xcalloc(n * k, sizeof(*q));
	qty = xcalloc(n, sizeof(*qty));
	e = xcalloc(n, sizeof(*e));
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < k; j++)
			q[j * n + i] = x[i * k + j];
	memcpy(qty, y, n * sizeof(*qty));
	if (!qr(q, qty, n, k, diag)) {
		*ret = fit_none(STAT_UNDEFINED, k);
		return 0;
	}
	f.state = STAT_OK;
	f.df = (double)(n - k);
	back_substitute(q, qty, n, k, diag, f.coef, inv_diag);
	residuals(y, x, n, k, f.coef, e);
	for (size_t i = 0; i < n; i++)
		rss += e[i] * e[i];
	fit_errors(&f, rss, inv_diag);
	if (resid)
		memcpy(resid, e, n * sizeof(*resid));
	*ret = f;
	return 0;
}

double regress_durbin_watson(const double *resid, size_t n)
{
	double num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		den += resid[i] * resid[i];
		if (i > 0)
			num += (resid[i] - resid[i - 1]) * (resid[i] - resid[i - 1]);
	}
	return den > 0 ? num / den : NAN;
}

static double lag1_of(const double *resid, size_t n)
{
	double num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		den += resid[i] * resid[i];
		if (i > 0)
			num += resid[i] * resid[i - 1];
	}
	return den > 0 ? num / den : NAN;
}

static int ancova_check(const double *y, const double *arm, const double *order, size_t n,
			struct err *reterr)
{
	int r = stat_check("y", y, n, reterr);

	if (r == 0)
		r = stat_check("order", order, n, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (arm[i] != 0 && arm[i] != 1)
			return err_set(reterr, ERR_INVALID, "arm[%zu] = %g: 0 is A, 1 is B", i,
				       arm[i]);
	return 0;
}

int regress_ancova(const double *y, const double *arm, const double *order, size_t n, double conf,
		   struct regress_order *ret, struct err *reterr)
{
	struct regress_order o = {0};
	struct regress_fit fit, plain;
	CLEANUP(freep) double *x = xcalloc(n + 1, 3 * sizeof(*x));
	CLEANUP(freep) double *resid = xcalloc(n + 1, sizeof(*resid));
	double middle = summary_mean(order, n), half;
	int r = ancova_check(y, arm, order, n, reterr);

	if (r == 0)
		r = stat_check_conf(conf, reterr);
	if (r < 0)
		return r;
	o.durbin_watson = o.durbin_watson_arm_only = o.lag1 = NAN;
	for (size_t i = 0; i < n; i++) {
		x[2 * i] = 1;
		x[2 * i + 1] = arm[i];
	}
	r = regress_ols(y, x, n, 2, &plain, resid, reterr);
	if (r < 0)
		return r;
	if (plain.state == STAT_OK)
		o.durbin_watson_arm_only = regress_durbin_watson(resid, n);
	for (size_t i = 0; i < n; i++) {
		x[3 * i] = 1;
		x[3 * i + 1] = arm[i];
		x[3 * i + 2] = order[i] - middle;
	}
	r = regress_ols(y, x, n, 3, &fit, resid, reterr);
	if (r < 0)
		return r;
	o.state = fit.state;
	o.effect = fit.coef[1];
	o.se = fit.se[1];
	o.t = fit.t[1];
	o.p = fit.p[1];
	o.df = fit.df;
	o.slope = fit.coef[2];
	o.slope_se = fit.se[2];
	o.slope_p = fit.p[2];
	o.sigma = fit.sigma;
	o.ci = (struct stat_interval){-INFINITY, INFINITY};
	if (fit.state == STAT_OK) {
		half = qt((1 + conf) / 2, fit.df, 1, 0) * o.se;
		o.ci = (struct stat_interval){o.effect - half, o.effect + half};
		o.durbin_watson = regress_durbin_watson(resid, n);
		o.lag1 = lag1_of(resid, n);
	}
	*ret = o;
	return 0;
}

/* sum over tie groups of t (t - 1) (2t + 5). */
static double kendall_ties(const double *y, size_t n)
{
	CLEANUP(freep) double *s = xcalloc(n + 1, sizeof(*s));
	double sum = 0;
	size_t end;

	memcpy(s, y, n * sizeof(*s));
	stat_sort(s, n);
	for (size_t i = 0; i < n; i = end) {
		double t;

		for (end = i + 1; end < n && s[end] == s[i]; end++)
			;
		t = (double)(end - i);
		sum += t * (t - 1) * (2 * t + 5);
	}
	return sum;
}

static void mann_kendall(const double *y, size_t n, struct regress_trend *t)
{
	CLEANUP(freep) double *slope = xcalloc(n * (n - 1) / 2 + 1, sizeof(*slope));
	double size = (double)n, var;
	size_t m = 0;

	t->s = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			t->s += (y[j] > y[i]) - (y[j] < y[i]);
			slope[m++] = (y[j] - y[i]) / (double)(j - i);
		}
	stat_sort(slope, m);
	t->sen_slope = summary_median(slope, m);
	t->tau = t->s / (size * (size - 1) / 2);
	var = (size * (size - 1) * (2 * size + 5) - kendall_ties(y, n)) / 18;
	t->p_mk = var > 0 ? 2 * pnorm(-fmax(fabs(t->s) - 1, 0) / sqrt(var), 0, 1, 1, 0) : 1;
}

int regress_trend(const double *y, size_t n, struct regress_trend *ret, struct err *reterr)
{
	struct regress_trend t = {.state = STAT_TOO_FEW,
				  .slope = NAN,
				  .intercept = NAN,
				  .p = NAN,
				  .tau = NAN,
				  .s = NAN,
				  .p_mk = NAN,
				  .sen_slope = NAN};
	CLEANUP(freep) double *x = NULL;
	struct regress_fit fit;
	int r = stat_check("y", y, n, reterr);

	if (r < 0)
		return r;
	if (n > REGRESS_TREND_MAX)
		return err_set(reterr, ERR_LIMIT, "trend of %zu points: at most %d", n,
			       REGRESS_TREND_MAX);
	if (n < 3) {
		*ret = t;
		return 0;
	}
	x = xcalloc(n, 2 * sizeof(*x));
	for (size_t i = 0; i < n; i++) {
		x[2 * i] = 1;
		x[2 * i + 1] = (double)i;
	}
	r = regress_ols(y, x, n, 2, &fit, NULL, reterr);
	if (r < 0)
		return r;
	t.state = fit.state;
	t.intercept = fit.coef[0];
	t.slope = fit.coef[1];
	t.p = fit.p[1];
	mann_kendall(y, n, &t);
	*ret = t;
	return 0;
}
