/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/adjust.h"

#include <math.h>

struct ranked {
	double p;
	size_t at;
};

static int cmp_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->p != b->p)
		return a->p < b->p ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* What a p of rank i (from 1) of m is multiplied by. */
static double factor(enum adjust_method method, size_t i, size_t m)
{
	double size = (double)m, harmonic = 0;

	switch (method) {
	case ADJUST_BH:
		return size / (double)i;
	case ADJUST_BY:
		for (size_t k = m; k > 0; k--)
			harmonic += 1 / (double)k;
		return harmonic * size / (double)i;
	case ADJUST_HOLM:
	case ADJUST_HOCHBERG:
		return size - (double)i + 1;
	case ADJUST_BONFERRONI:
		break;
	}
	return size;
}

int adjust_p(enum adjust_method method, const double *p, size_t n, double *out, struct err *reterr)
{
	CLEANUP(freep) struct ranked *v = xcalloc(n + 1, sizeof(*v));
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(p[i]))
			continue;
		if (p[i] < 0 || p[i] > 1)
			return err_set(reterr, ERR_INVALID, "p[%zu] = %g is not a probability", i,
				       p[i]);
		v[m++] = (struct ranked){p[i], i};
	}
	if (m > 1)
		qsort(v, m, sizeof(*v), cmp_ranked);
	if (out != p)
		for (size_t i = 0; i < n; i++)
			out[i] = p[i];
	for (size_t i = 0; i < m; i++)
		v[i].p = fmin(1, v[i].p * factor(method, i + 1, m));
	if (method == ADJUST_HOLM) /* step down: never below an earlier one */
		for (size_t i = 1; i < m; i++)
			v[i].p = fmax(v[i].p, v[i - 1].p);
	else /* step up: never above a later one */
		for (size_t i = m; i-- > 1;)
			v[i - 1].p = fmin(v[i - 1].p, v[i].p);
	for (size_t i = 0; i < m; i++)
		out[v[i].at] = v[i].p;
	return 0;
}
