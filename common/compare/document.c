/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/document.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/compare/pack.h"

/* Changes only when values may change. */
#define METHOD 1

json_t *json_num(double v)
{
	if (!isfinite(v))
		return json_null();
	if (v == floor(v) && fabs(v) < 9e15)
		return json_integer((json_int_t)v);
	return json_real(v);
}

json_t *json_text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	char *clean;

	if (j)
		return j;
	clean = xstrdup(s);
	for (char *p = clean; *p; p++)
		if ((unsigned char)*p >= 128)
			*p = '?';
	j = json_checked(json_string(clean));
	free(clean);
	return j;
}

json_t *json_time(int64_t realtime_ns)
{
	char buf[40];

	return realtime_ns ? json_string(clock_rfc3339(realtime_ns, buf, sizeof(buf)))
			   : json_null();
}

json_t *json_run_id(const struct run *r)
{
	const char *id = json_string_value(json_object_get(r->extra, "id"));

	return id ? json_string(id) : *r->uid ? json_string(r->uid) : json_null();
}

json_t *json_interval(double lo, double hi)
{
	if (isnan(lo) || isnan(hi))
		return json_null();
	return PACK("[o,o]", json_num(lo), json_num(hi));
}

static json_t *labels_json(const struct labels *l)
{
	json_t *out = json_object();

	for (size_t i = 0; i < l->len; i++)
		json_object_set_new(out, l->v[i].key, json_text(l->v[i].value));
	return out;
}

/* --- sides --- */

static json_t *notes_json(const struct run *r)
{
	json_t *out = json_array();

	for (size_t i = 0; i < r->notes_len; i++)
		json_array_append_new(out, PACK("{s:o,s:o}", "code", json_text(r->notes[i].code),
						"text", json_text(r->notes[i].text)));
	return out;
}

static json_t *run_json(const struct run *r, const char *excluded)
{
	json_t *j = PACK("{s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o}", "id", json_run_id(r),
			 "uid", r->uid, "host", json_text(r->host), "order",
			 r->order ? json_integer(r->order) : json_null(), "block",
			 r->block ? json_integer(r->block) : json_null(), "boot_id",
			 json_text(r->boot_id), "started", json_time(r->started_ns), "state",
			 run_state_name(r->state), "factors", labels_json(&r->factors), "excluded",
			 json_text(excluded), "notes", notes_json(r));

	json_object_set_new(j, "source", json_text(r->source));
	return j;
}

static json_t *runs_json(const struct side *s)
{
	json_t *out = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(out, run_json(s->obs[i].run, NULL));
	if (s->summary_run)
		json_array_append_new(out, run_json(s->summary_run, NULL));
	for (size_t i = 0; i < s->n_out; i++)
		json_array_append_new(out, run_json(s->out[i].run, s->out[i].text));
	return out;
}

/* Factors that all runs of the side agree on. */
static json_t *side_factors(const struct side *s)
{
	const struct run *first = s->n ? s->obs[0].run : s->summary_run;
	json_t *out = first ? labels_json(&first->factors) : json_object();

	for (size_t i = 1; i < s->n; i++) {
		void *next;
		const char *key;
		json_t *v;

		json_object_foreach_safe(out, next, key, v)
		{
			const char *have = labels_get(&s->obs[i].run->factors, key);

			if (!have || strcmp(have, json_string_value(v)) != 0)
				json_object_del(out, key);
		}
	}
	return out;
}

static json_t *hosts_json(const struct side *s)
{
	json_t *seen = json_object(), *out = json_array(), *v;
	const char *key;

	for (size_t i = 0; i < s->n; i++)
		if (s->obs[i].run->host)
			json_object_set_new(seen, s->obs[i].run->host, json_true());
	if (s->summary_run && s->summary_run->host)
		json_object_set_new(seen, s->summary_run->host, json_true());
	json_object_foreach(seen, key, v) json_array_append_new(out, json_text(key));
	json_decref(seen);
	return out;
}

static const char *data_name(enum data_kind d)
{
	static const char *const names[] = {"full", "coarse", "values", "summary_only"};

	return names[d];
}

json_t *json_side(const struct cmp *c, int s)
{
	const struct side *side = &c->side[s];
	double n = c->data == DATA_SUMMARY ? (double)side->summary.n : (double)c->plan.n[s];
	json_t *j = PACK("{s:s,s:o,s:o,s:o,s:o,s:I,s:s,s:s}", "letter", s ? c->b : "A", "name",
			 json_text(side_name(c, s)), "selector", json_text(side->in->selector),
			 "factors", side_factors(side), "n", json_num(n), "runs_counted",
			 (json_int_t)side->n, "replicate", replicate_name(c->plan.replicate),
			 "data", data_name(c->data));

	json_object_update_new(j, PACK("{s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "samples",
				       (json_int_t)side->samples, "lost", (json_int_t)side->lost,
				       "missed", (json_int_t)side->missed, "overflow",
				       (json_int_t)side->overflow, "negative",
				       (json_int_t)side->negative, "hosts", hosts_json(side),
				       "runs", runs_json(side)));
	json_object_update_new(
		j, PACK("{s:I,s:I,s:o,s:s,s:o,s:o}", "estimated", (json_int_t)side->estimated,
			"doubtful", (json_int_t)side->doubtful, "method", json_text(side->method),
			"omission", omission_name(side->omission), "resolution_ns",
			side->resolution_ns ? json_integer(side->resolution_ns) : json_null(),
			"measured_h", json_num(side->hours)));
	return j;
}

/* --- rows --- */

static json_t *summary_json(const struct calc_summary *s)
{
	return PACK("{s:o,s:o,s:o,s:o,s:o,s:o}", "n", json_num(s->n), "min", json_num(s->min),
		    "avg", json_num(s->avg), "max", json_num(s->max), "sdev", json_num(s->sdev),
		    "range", json_num(s->range));
}

static json_t *row_side(const struct row *r, int s)
{
	json_t *j = summary_json(&r->sum[s]);

	if (isfinite(r->sure[s][0]) && r->stat.kind != STAT_MEAN)
		json_object_set_new(
			j, "bounds",
			PACK("[o,o]", json_num(r->sure[s][0]), json_num(r->sure[s][1])));
	if (r->stat.kind == STAT_OVER)
		json_object_set_new(j, "above", json_num(r->above[s]));
	if (r->at_least[s])
		json_object_set_new(j, "at_least", json_true());
	return j;
}

static json_t *more_json(const struct calc_effect *e)
{
	if (isnan(e->more_lo))
		return json_null();
	return PACK("[o,o]", json_num(ceil(e->more_lo)), json_num(ceil(e->more_hi)));
}

static json_t *delta_json(const struct row *r)
{
	const struct calc_effect *e = &r->effect;
	bool open = r->reading == READING_UNCLEAR;

	return PACK("{s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:s,s:o,s:o}", "abs", json_num(e->abs), "rel",
		    json_num(e->rel), "ci", json_interval(e->abs_lo, e->abs_hi), "ci_rel",
		    json_interval(e->rel_lo, e->rel_hi), "p", json_num(e->p), "p_adjusted",
		    json_num(r->p_adjusted), "reading", reading_name(r->reading), "test", e->test,
		    "mde_rel", json_num(e->mde_rel), "more_blocks",
		    open ? more_json(e) : json_null());
}

static json_t *rows_json(const struct cmp *c)
{
	json_t *out = json_array();

	for (size_t i = 0; i < c->n_rows; i++) {
		const struct row *r = &c->rows[i];

		json_array_append_new(
			out, PACK("{s:s,s:s,s:s,s:o,s:o,s:o,s:o}", "stat", r->stat.name, "unit",
				  r->unit, "role", role_name(r->role), "a", row_side(r, 0), "b",
				  row_side(r, 1), "delta", delta_json(r), "caution",
				  *r->caution ? json_string(r->caution) : json_null()));
	}
	return out;
}

json_t *methods_json(struct cmp *c)
{
	json_t *out = json_object();

	for (size_t i = 0; i < c->n_rows && c->word != WORD_NOT_COMPARABLE; i++) {
		const struct row *r = &c->rows[i];
		double *a, *b;
		size_t n;

		if (c->data == DATA_SUMMARY && r->stat.kind == STAT_MEAN) {
			json_object_set_new(out, r->stat.name,
					    calc_methods_moments(&r->sum[0], &r->sum[1], c->conf));
			continue;
		}
		if (c->data == DATA_SUMMARY || r->stat.kind == STAT_SDEV ||
		    r->effect.state != CALC_OK)
			continue;
		n = row_blocks(&c->plan, r, &a, &b);
		json_object_set_new(out, r->stat.name,
				    calc_methods(r->x[0], c->plan.n[0], r->x[1], c->plan.n[1], a, b,
						 n, c->conf, c->margin));
		free(a);
		free(b);
	}
	if (c->plan.confounded)
		json_object_set_new(out, "note",
				    json_string("the design is confounded with time: none of these "
						"p-values means what it says"));
	return out;
}

/* --- the rest --- */

static json_t *design_json(const struct cmp *c)
{
	const struct plan *p = &c->plan;
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const struct row *r = &c->rows[c->primary];
	double level = (r->sum[0].avg + r->sum[1].avg) / 2;
	double slope = r->effect.on_logs ? p->drift.slope : p->drift.slope / level;

	plan_describe(c, p, &text);
	return PACK("{s:s,s:I,s:b,s:b,s:o,s:s}", "order", run_order_name(p->order), "blocks",
		    (json_int_t)p->pairs, "paired", p->paired, "confounded", p->confounded, "drift",
		    PACK("{s:s,s:o,s:o}", "reading",
			 !p->drift.tested    ? "not_tested"
			 : p->drift.p < 0.05 ? "drift"
					     : "none",
			 "p", json_num(p->drift.p), "slope_rel_per_run",
			 json_num(p->drift.tested ? slope : NAN)),
		    "text", text.data);
}

static json_t *hosts_table(const struct cmp *c)
{
	json_t *items = json_array();
	size_t better = 0, worse = 0;

	if (!c->n_host_results) {
		json_decref(items);
		return json_null();
	}
	for (size_t h = 0; h < c->n_host_results; h++) {
		const struct host_result *r = &c->host_results[h];

		better += r->row.reading == READING_BETTER;
		worse += r->row.reading == READING_WORSE;
		json_array_append_new(items,
				      PACK("{s:o,s:o,s:o,s:o}", "host", json_text(r->host), "a",
					   row_side(&r->row, 0), "b", row_side(&r->row, 1), "delta",
					   delta_json(&r->row)));
	}
	return PACK("{s:s,s:o,s:I,s:I,s:o}", "stat", c->rows[c->primary].stat.name, "items", items,
		    "better", (json_int_t)better, "worse", (json_int_t)worse, "heterogeneity",
		    c->heterogeneity.tested
			    ? PACK("{s:o,s:o,s:o,s:o}", "q", json_num(c->heterogeneity.q), "df",
				   json_num(c->heterogeneity.df), "p", json_num(c->heterogeneity.p),
				   "i2", json_num(c->heterogeneity.i2))
			    : json_null());
}

static json_t *metric_json(const struct cmp *c)
{
	return PACK("{s:o,s:s,s:s,s:s,s:s,s:o,s:s}", "others", other_metrics(c), "name",
		    c->metric.name, "title", c->title, "unit", c->metric.unit, "better",
		    better_name(c->metric.better), "margin_rel", json_num(c->margin), "primary",
		    c->rows[c->primary].stat.name);
}

static json_t *verdict_json(const struct cmp *c)
{
	return PACK("{s:s,s:o,s:s,s:O}", "word", word_name(c->word), "sentence",
		    json_text(c->sentence.data), "primary", c->rows[c->primary].stat.name,
		    "reasons", c->reasons);
}

static json_t *to_json(struct cmp *c)
{
	return PACK("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:O,s:o,s:o,s:n}", "method", METHOD,
		    "metric", metric_json(c), "confidence", json_num(c->conf), "a", json_side(c, 0),
		    "b", json_side(c, 1), "design", design_json(c), "verdict", verdict_json(c),
		    "rows", rows_json(c), "charts", charts_json(c), "tail", tail_json(c),
		    "environment", c->environment, "methods", methods_json(c), "hosts",
		    hosts_table(c), "gate");
}

static void test_drift(struct cmp *c)
{
	struct plan *p = &c->plan;
	const struct row *r = &c->rows[c->primary];
	size_t n = p->n[0] + p->n[1], k = 0;
	double *y, *arm, *order;

	if (p->order == ORDER_UNKNOWN || p->replicate == REPLICATE_HOST ||
	    c->data == DATA_SUMMARY || !r->x[0] || r->effect.state != CALC_OK)
		return;
	y = xcalloc(n, sizeof(*y));
	arm = xcalloc(n, sizeof(*arm));
	order = xcalloc(n, sizeof(*order));
	for (int s = 0; s < 2; s++) {
		for (size_t u = 0; u < p->n[s]; u++) {
			y[k] = r->effect.on_logs ? log(r->x[s][u]) : r->x[s][u];
			arm[k] = s;
			order[k++] = p->units[s][u].rank;
		}
	}
	calc_drift(y, arm, order, n, c->conf, &p->drift);
	free(y);
	free(arm);
	free(order);
}

static int run_steps(struct cmp *c, struct err *reterr)
{
	int r = side_collect(c, reterr);

	if (r < 0)
		return r;
	find_hosts_and_factors(c);
	environment_compare(c);
	plan_make(c);
	tail_threshold(c);
	r = rows_make(c, reterr);
	if (r < 0)
		return r;
	test_drift(c);
	hosts_compare(c);
	verdict_make(c);
	return 0;
}

void cmp_done(struct cmp *c)
{
	for (size_t i = 0; i < c->n_rows; i++)
		row_done(&c->rows[i]);
	for (size_t i = 0; i < c->n_host_results; i++) {
		plan_done(&c->host_results[i].plan);
		row_done(&c->host_results[i].row);
	}
	plan_done(&c->plan);
	side_done(&c->side[0]);
	side_done(&c->side[1]);
	free(c->rows);
	free(c->host_results);
	free(c->hosts);
	free(c->factors);
	free(c->title);
	json_decref(c->environment);
	json_decref(c->reasons);
	strbuf_done(&c->sentence);
}

/* What a comparison adds is taken out of a comparison of the side with itself. */
static void strip_comparison(json_t *doc)
{
	size_t i;
	json_t *row;

	json_object_set_new(doc, "a", json_null());
	json_object_set_new(doc, "verdict", json_null());
	json_object_set_new(doc, "tail", json_null());
	json_object_set_new(doc, "charts", json_null());
	json_object_set_new(doc, "methods", json_object());
	json_object_set_new(doc, "design", json_null());
	json_array_foreach(json_object_get(doc, "rows"), i, row)
	{
		json_object_set_new(row, "a", json_null());
		json_object_set_new(row, "delta", json_null());
	}
}

int compare_single(const struct compare_side *side, const struct compare_options *o, json_t **ret,
		   struct err *reterr)
{
	int r = compare_document(side, side, o, ret, reterr);

	if (r == 0)
		strip_comparison(*ret);
	return r;
}

int compare_lettered(const struct compare_side *a, const struct compare_side *b,
		     const struct compare_options *o, const char *letter, json_t **ret,
		     struct err *reterr)
{
	struct cmp c = {
		.o = o, .b = letter, .side = {{.in = a, .tag = "a"}, {.in = b, .tag = "b"}}};
	int r;

	c.reasons = json_array();
	r = resolve_request(&c, reterr);
	if (r == 0)
		r = run_steps(&c, reterr);
	if (r == 0)
		*ret = to_json(&c);
	cmp_done(&c);
	return r;
}

int compare_document(const struct compare_side *a, const struct compare_side *b,
		     const struct compare_options *o, json_t **ret, struct err *reterr)
{
	return compare_lettered(a, b, o, "B", ret, reterr);
}
