/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is compared: the metric that both sides have, its direction and margin, the hosts and the
 * factors that tell the sides apart. */
#include <stdio.h>

#include "common/compare/internal.h"
#include "common/compare/pack.h"

static bool has_metric(const struct compare_side *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i]->series_len; k++)
			if (s->runs[i]->series[k].kind != SERIES_ABSENT &&
			    !strcmp(s->runs[i]->series[k].metric, name))
				return true;
	return false;
}

static void list_metrics(const struct compare_side *s, struct strbuf *out)
{
	json_t *seen = json_object(), *v;
	const char *key;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i]->series_len; k++)
			if (s->runs[i]->series[k].kind != SERIES_ABSENT)
				json_object_set_new(seen, s->runs[i]->series[k].metric,
						    json_true());
	json_object_foreach(seen, key, v) strbuf_printf(out, "%s%s", out->len ? ", " : "", key);
	if (!out->len)
		strbuf_puts(out, "none");
	json_decref(seen);
}

/* Why a side could not measure it; NULL: it never said. */
static const char *why_absent(const struct compare_side *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i]->series_len; k++) {
			const struct series *x = &s->runs[i]->series[k];

			if (x->kind == SERIES_ABSENT && x->reason && !strcmp(x->metric, name))
				return x->reason;
		}
	return NULL;
}

static int no_such_metric(const struct cmp *c, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf a = {0}, b = {0};

	for (int side = 0; c->o->metric && side < 2; side++) {
		const char *why = why_absent(c->side[side].in, c->o->metric);

		if (why && !has_metric(c->side[side].in, c->o->metric))
			return err_set(reterr, ERR_NOT_FOUND, "%s was not measured in %s: %.300s",
				       c->o->metric, side_name(c, side), why);
	}

	list_metrics(c->side[0].in, &a);
	list_metrics(c->side[1].in, &b);
	return err_set(reterr, ERR_NOT_FOUND,
		       "no metric %s%s in both sides; A has: %.150s; B has: %.150s",
		       c->o->metric ? c->o->metric : "that is", c->o->metric ? "" : " the same",
		       a.data, b.data);
}

/* The one asked for, else the first of the catalogue that both have, else A's first that B has. */
static const char *choose_metric(const struct cmp *c)
{
	const struct compare_side *a = c->side[0].in, *b = c->side[1].in;

	if (c->o->metric)
		return has_metric(a, c->o->metric) && has_metric(b, c->o->metric) ? c->o->metric
										  : NULL;
	for (const struct metric *m = metric_all(); m->name; m++)
		if (has_metric(a, m->name) && has_metric(b, m->name))
			return m->name;
	for (size_t i = 0; i < a->n; i++) {
		for (size_t k = 0; k < a->runs[i]->series_len; k++) {
			const struct series *s = &a->runs[i]->series[k];

			if (s->kind != SERIES_ABSENT && has_metric(b, s->metric))
				return s->metric;
		}
	}
	return NULL;
}

static const char *unit_in(const struct compare_side *s, const char *metric)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i]->series_len; k++)
			if (s->runs[i]->series[k].kind != SERIES_ABSENT &&
			    !strcmp(s->runs[i]->series[k].metric, metric))
				return s->runs[i]->series[k].unit;
	return NULL;
}

static char *title_of(const struct metric *m, const char *name)
{
	char *title = xstrdup(*m->title ? m->title : name);

	for (char *p = title; *p && !*m->title; p++)
		if (*p == '_')
			*p = ' ';
	return title;
}

static int set_direction(struct cmp *c, struct err *reterr)
{
	const char *b = c->o->better;

	if (!b)
		return 0;
	for (int k = BETTER_NONE; k <= BETTER_HIGHER; k++) {
		if (!strcmp(b, better_name((enum better)k))) {
			c->metric.better = (enum better)k;
			return 0;
		}
	}
	return err_set(reterr, ERR_INVALID,
		       "better is \"lower\", \"higher\" or \"none\", not \"%.40s\"", b);
}

json_t *other_metrics(const struct cmp *c)
{
	const struct compare_side *a = c->side[0].in;
	json_t *seen = json_object(), *out = json_array(), *v;
	const char *name;

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < a->runs[i]->series_len; k++) {
			name = a->runs[i]->series[k].metric;
			if (strcmp(name, c->metric.name) != 0 && !json_object_get(seen, name) &&
			    has_metric(a, name) && has_metric(c->side[1].in, name))
				json_object_set_new(seen, name, json_true());
		}
	json_object_foreach(seen, name, v) json_array_append_new(out, json_text(name));
	json_decref(seen);
	return out;
}

int resolve_request(struct cmp *c, struct err *reterr)
{
	const char *name, *unit;

	for (int s = 0; s < 2; s++)
		if (!c->side[s].in->n)
			return err_set(reterr, ERR_NOT_FOUND, "side %s has no runs", s ? "B" : "A");
	c->conf = c->o->confidence != 0 ? c->o->confidence : 0.95;
	if (!(c->conf >= 0.5 && c->conf < 1))
		return err_set(reterr, ERR_INVALID,
			       "confidence %g: give a share between 0.5 and 1, such as 0.95",
			       c->o->confidence);
	name = choose_metric(c);
	if (!name)
		return no_such_metric(c, reterr);
	c->metric = *metric_find(name);
	c->title = title_of(&c->metric, name);
	c->metric.name = name;
	unit = unit_in(c->side[0].in, name);
	c->metric.unit = unit ? unit : c->metric.unit;
	c->unit_is_ns = !strcmp(c->metric.unit, "ns");
	c->margin = c->o->margin_rel >= 0 ? c->o->margin_rel : c->metric.margin_rel;
	if (!(c->margin <= 10))
		return err_set(reterr, ERR_INVALID,
			       "margin %g: give a share of the value, such as 0.01 for 1 %%",
			       c->margin);
	return set_direction(c, reterr);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_hosts(struct cmp *c)
{
	size_t n = 0, kept = 0;

	c->hosts = xcalloc(c->side[0].n + c->side[1].n + 1, sizeof(*c->hosts));
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->side[s].n; i++)
			c->hosts[n++] =
				c->side[s].obs[i].run->host ? c->side[s].obs[i].run->host : "";
	qsort(c->hosts, n, sizeof(*c->hosts), by_name);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(c->hosts[kept - 1], c->hosts[i]) != 0)
			c->hosts[kept++] = c->hosts[i];
	c->n_hosts = kept;
}

static const struct run *counted(const struct side *s, size_t i)
{
	return s->summary_run ? s->summary_run : s->obs[i].run;
}

/* The level that all runs of a side share, NULL when there is none. */
static const char *level_of(const struct side *s, const char *factor)
{
	const char *level = NULL;
	size_t n = s->summary_run ? 1 : s->n;

	for (size_t i = 0; i < n; i++) {
		const char *l = labels_get(&counted(s, i)->factors, factor);

		if (!l || (level && strcmp(level, l) != 0))
			return NULL;
		level = l;
	}
	return level;
}

void find_hosts_and_factors(struct cmp *c)
{
	const struct side *a = &c->side[0];
	const struct labels *l;

	find_hosts(c);
	c->factor = c->o->factor;
	if (!a->n && !a->summary_run)
		return;
	l = &counted(a, 0)->factors;
	c->factors = xcalloc(l->len + 1, sizeof(*c->factors));
	for (size_t i = 0; i < l->len; i++) {
		const char *la = level_of(a, l->v[i].key), *lb = level_of(&c->side[1], l->v[i].key);

		if (la && lb && strcmp(la, lb) != 0)
			c->factors[c->n_factors++] = l->v[i];
	}
	if (!c->factor && c->n_factors == 1)
		c->factor = c->factors[0].key;
}
