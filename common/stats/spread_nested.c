/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variance of values in runs in boots, by the method of moments. */
#include "common/stats/spread.h"

#include <math.h>

#include <Rmath.h>

/* Sums of squares and of sizes on the way through the levels. */
struct nested_sums {
	double n, runs, boots;		      /* counts */
	double ss_boots, ss_runs, ss_values;  /* around the level above */
	double run_sq, boot_sq, run_sq_share; /* sum n_ij^2, sum n_i^2, sum n_ij^2 / n_i */
};

static void add_boot(const double *x, const size_t *run_n, size_t runs, double grand,
		     struct nested_sums *s)
{
	size_t n = 0, at = 0;
	double boot_mean, run_sq = 0;

	for (size_t r = 0; r < runs; r++)
		n += run_n[r];
	boot_mean = summary_mean(x, n);
	for (size_t r = 0; r < runs; at += run_n[r++]) {
		double size = (double)run_n[r], mean = summary_mean(x + at, run_n[r]);

		s->ss_runs += size * (mean - boot_mean) * (mean - boot_mean);
		for (size_t i = 0; i < run_n[r]; i++)
			s->ss_values += (x[at + i] - mean) * (x[at + i] - mean);
		run_sq += size * size;
	}
	s->ss_boots += (double)n * (boot_mean - grand) * (boot_mean - grand);
	s->run_sq += run_sq;
	s->boot_sq += (double)n * (double)n;
	s->run_sq_share += run_sq / (double)n;
}

/* p of MS_boots against var_values + k var_runs, the mean square that it has without boots. With
 * equal sizes that is MS_runs itself and its df. */
static double test_boots(const struct spread_nested *v, double k1, double k2)
{
	double share = k2 / k1, runs = share * v->ms_runs, values = (1 - share) * v->ms_values;
	double base = runs + values;
	double df = base * base / (runs * runs / v->df_runs + values * values / v->df_values);

	return base > 0 ? pf(v->ms_boots / base, v->df_boots, df, 0, 0) : NAN;
}

static void solve(const struct nested_sums *s, struct spread_nested *v)
{
	double k1 = (s->n - s->run_sq_share) / v->df_runs;
	double k2 = (s->run_sq_share - s->run_sq / s->n) / v->df_boots;
	double k3 = (s->n - s->boot_sq / s->n) / v->df_boots;

	v->ms_boots = s->ss_boots / v->df_boots;
	v->ms_runs = s->ss_runs / v->df_runs;
	v->ms_values = s->ss_values / v->df_values;
	v->var_values = v->ms_values;
	v->var_runs = fmax(0, (v->ms_runs - v->ms_values) / k1);
	v->var_boots = fmax(0, (v->ms_boots - v->var_values - k2 * v->var_runs) / k3);
	if (v->ms_values > 0) {
		v->state = STAT_OK;
		v->p_runs = pf(v->ms_runs / v->ms_values, v->df_runs, v->df_values, 0, 0);
		v->p_boots = test_boots(v, k1, k2);
	} else {
		v->state = STAT_NO_VARIANCE;
	}
}

int spread_nested(const double *x, const size_t *run_n, const size_t *boot_runs, size_t boots,
		  struct spread_nested *ret, struct err *reterr)
{
	struct spread_nested v = {.state = STAT_TOO_FEW,
				  .ms_boots = NAN,
				  .ms_runs = NAN,
				  .ms_values = NAN,
				  .df_boots = NAN,
				  .df_runs = NAN,
				  .df_values = NAN,
				  .var_boots = NAN,
				  .var_runs = NAN,
				  .var_values = NAN,
				  .p_boots = NAN,
				  .p_runs = NAN};
	struct nested_sums s = {.boots = (double)boots};
	size_t n = 0, runs = 0, at = 0, run = 0;
	double grand;
	int r;

	for (size_t b = 0; b < boots; b++) {
		if (boot_runs[b] == 0)
			return err_set(reterr, ERR_INVALID, "boot %zu has no runs: leave it out",
				       b);
		for (size_t k = 0; k < boot_runs[b]; k++, runs++) {
			if (run_n[runs] == 0)
				return err_set(reterr, ERR_INVALID,
					       "run %zu has no values: leave it out", runs);
			n += run_n[runs];
		}
	}
	r = stat_check("x", x, n, reterr);
	if (r < 0)
		return r;
	grand = summary_mean(x, n);
	for (size_t b = 0; b < boots; b++) {
		size_t before = at;

		add_boot(x + at, run_n + run, boot_runs[b], grand, &s);
		for (size_t k = 0; k < boot_runs[b]; k++)
			at += run_n[run++];
		s.n += (double)(at - before);
	}
	s.runs = (double)runs;
	v.df_boots = s.boots - 1;
	v.df_runs = s.runs - s.boots;
	v.df_values = s.n - s.runs;
	if (v.df_boots >= 1 && v.df_runs >= 1 && v.df_values >= 1)
		solve(&s, &v);
	*ret = v;
	return 0;
}
