/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/dist.h"

#include <math.h>

static int check_points(const char *name, const struct dist_points *p, double *ret_total,
			struct err *reterr)
{
	double total = 0;
	int r = stat_check(name, p->x, p->n, reterr);

	if (r == 0 && p->w)
		r = stat_check("weight", p->w, p->n, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n; i++) {
		double w = p->w ? p->w[i] : 1;

		if (i > 0 && p->x[i] < p->x[i - 1])
			return err_set(reterr, ERR_INVALID,
				       "%s[%zu] is below the value before it: "
				       "sort first",
				       name, i);
		if (w < 0)
			return err_set(reterr, ERR_INVALID, "%s[%zu] has the weight %g", name, i,
				       w);
		total += w;
	}
	if (!(total > 0))
		return err_set(reterr, ERR_INVALID, "%s has no samples", name);
	*ret_total = total;
	return 0;
}

static double mean_of(const struct dist_points *p, double total)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		sum += (p->w ? p->w[i] : 1) * (p->x[i] - p->x[0]);
	return p->x[0] + sum / total;
}

/* Weight of all points at x from *i on; moves *i past them. */
static double take_at(const struct dist_points *p, size_t *i, double x)
{
	double w = 0;

	for (; *i < p->n && p->x[*i] == x; (*i)++)
		w += p->w ? p->w[*i] : 1;
	return w;
}

int dist_compare(const struct dist_points *a, const struct dist_points *b,
		 struct dist_distance *ret, struct err *reterr)
{
	struct dist_distance d = {0};
	double total_a, total_b, sum_a = 0, sum_b = 0, last = 0;
	size_t i = 0, j = 0;
	int r = check_points("a", a, &total_a, reterr);

	if (r == 0)
		r = check_points("b", b, &total_b, reterr);
	if (r < 0)
		return r;
	while (i < a->n || j < b->n) {
		double x = i == a->n ? b->x[j] : j == b->n ? a->x[i] : fmin(a->x[i], b->x[j]);
		double gap = fabs(sum_a / total_a - sum_b / total_b), wa, wb;

		d.wasserstein += i + j > 0 ? gap * (x - last) : 0;
		wa = take_at(a, &i, x);
		wb = take_at(b, &j, x);
		/* b here beats all of A below and half of A here */
		d.cliff_b_a += wb / total_b * ((2 * sum_a + wa) / total_a) - wb / total_b;
		sum_a += wa;
		sum_b += wb;
		d.ks = fmax(d.ks, fabs(sum_a / total_a - sum_b / total_b));
		last = x;
	}
	d.mean_a = mean_of(a, total_a);
	d.mean_b = mean_of(b, total_b);
	*ret = d;
	return 0;
}

double dist_ks_p(double d, double na, double nb)
{
	double lambda = d * sqrt(na * nb / (na + nb)), sum = 0;

	if (!(lambda > 0))
		return lambda == 0 ? 1 : NAN;
	if (lambda < 1) { /* the other theta series converges here */
		for (int k = 1; k < 40; k += 2)
			sum += exp(-k * k * M_PI * M_PI / (8 * lambda * lambda));
		return 1 - sqrt(2 * M_PI) / lambda * sum;
	}
	for (int k = 1; k < 40; k++)
		sum += (k % 2 ? 1 : -1) * exp(-2.0 * k * k * lambda * lambda);
	return 2 * sum;
}

double dist_grouped_quantile(const double *lo, const double *hi, const double *n, size_t len,
			     double q)
{
	double total = 0, rank, below = 0;

	for (size_t i = 0; i < len; i++)
		total += n[i];
	if (!(total > 0 && q >= 0 && q <= 1))
		return NAN;
	rank = q * total;
	for (size_t i = 0; i < len; i++) {
		if (n[i] > 0 && below + n[i] >= rank)
			return lo[i] + (hi[i] - lo[i]) * (rank - below) / n[i];
		below += n[i];
	}
	return hi[len - 1];
}

double dist_ccdf(const double *lo, const double *n, size_t len, double t)
{
	double total = 0, above = 0;

	for (size_t i = 0; i < len; i++) {
		total += n[i];
		above += lo[i] >= t ? n[i] : 0;
	}
	return total > 0 ? above / total : NAN;
}
