/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several hosts: each is compared with itself first, then they are pooled with the host as the
 * replicate. Host sets that differ between the sides are refused, and CPU models are not mixed. */
#include "common/compare/internal.h"

static void compare_one(struct cmp *c, const char *host, struct host_result *ret)
{
	const struct row *primary = &c->rows[c->primary];

	ret->host = host;
	plan_of_host(c, host, &ret->plan);
	ret->row = (struct row){.stat = primary->stat, .role = ROLE_PRIMARY, .unit = primary->unit};
	row_fill(c, &ret->plan, &ret->row);
}

static void measure_heterogeneity(struct cmp *c)
{
	double *d = xcalloc(c->n_host_results, sizeof(*d));
	double *se = xcalloc(c->n_host_results, sizeof(*se));
	size_t n = 0;

	for (size_t i = 0; i < c->n_host_results; i++) {
		const struct calc_effect *e = &c->host_results[i].row.effect;

		if (e->state != CALC_OK || !e->on_logs || !(e->se > 0))
			continue;
		d[n] = log1p(e->rel);
		se[n++] = e->se;
	}
	calc_heterogeneity(d, se, n == c->n_host_results ? n : 0, &c->heterogeneity);
	free(d);
	free(se);
}

void hosts_compare(struct cmp *c)
{
	calc_heterogeneity(NULL, NULL, 0, &c->heterogeneity);
	if (c->n_hosts < 2 || c->data == DATA_SUMMARY)
		return;
	c->host_results = xcalloc(c->n_hosts, sizeof(*c->host_results));
	for (size_t h = 0; h < c->n_hosts; h++)
		compare_one(c, c->hosts[h], &c->host_results[c->n_host_results++]);
	measure_heterogeneity(c);
}
