/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/compare_job_work.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/compare/profile.h"

/* Shortest text that gives the double back would need 17 digits; 15 are beyond any statistic. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

struct compare_work *compare_work_new(void)
{
	return xcalloc(1, sizeof(struct compare_work));
}

void metric_edits_free(struct metric_edit *edits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(edits[i].name);
		free(edits[i].better);
		free(edits[i].primary);
	}
	free(edits);
}

void compare_work_free(void *ctx)
{
	struct compare_work *w = ctx;

	compare_ask_done(&w->ask);
	for (size_t i = 0; i < COMPARE_SIDES_MAX; i++) {
		runs_done(&w->runs[i]);
		free(w->result.ids[i]);
	}
	metric_edits_free(w->edits, w->n_edits);
	for (size_t i = 0; i < COMPARE_FORMATS; i++)
		strbuf_done(&w->result.out[i]);
	free(w->result.sentence);
	free(w->result.query);
	free(w);
}

/* ---- names of several sides: the level of the factor that tells them apart ---- */

static bool levels_differ(const struct compare_work *w, const char *factor)
{
	for (size_t i = 0; i < w->n_sides; i++) {
		const char *mine = labels_get(&w->runs[i].v[0]->factors, factor);

		for (size_t k = 0; k < w->runs[i].len; k++) {
			const char *other = labels_get(&w->runs[i].v[k]->factors, factor);

			if (!mine || !other || strcmp(mine, other))
				return false;
		}
		for (size_t k = 0; k < i; k++)
			if (!strcmp(mine, labels_get(&w->runs[k].v[0]->factors, factor)))
				return false;
	}
	return true;
}

static void name_sides(const struct compare_work *w, struct compare_side *sides)
{
	static const char *const letters[COMPARE_SIDES_MAX] = {"A", "B", "C", "D", "E", "F"};
	const struct labels *l = &w->runs[0].v[0]->factors;
	const char *factor = NULL;

	for (size_t i = 0; w->n_sides > 2 && i < l->len && !factor; i++)
		if (levels_differ(w, l->v[i].key))
			factor = l->v[i].key;
	for (size_t i = 0; i < w->n_sides; i++) {
		sides[i] = (struct compare_side){
			.name = factor ? labels_get(&w->runs[i].v[0]->factors, factor) : letters[i],
			.selector = w->ask.sides[i],
			.runs = w->runs[i].v,
			.n = w->runs[i].len,
		};
	}
}

/* ---- comparing ---- */

static int compare(const struct compare_work *w, const struct compare_side *sides,
		   const struct compare_options *o, json_t **ret, struct err *reterr)
{
	if (w->n_sides == 1)
		return compare_single(&sides[0], o, ret, reterr);
	if (w->n_sides == 2)
		return compare_document(&sides[0], &sides[1], o, ret, reterr);
	return compare_many(sides, w->n_sides, o, ret, reterr);
}

static const json_t *first_document(const json_t *doc)
{
	const json_t *items = json_object_get(doc, "items");

	return items ? json_array_get(items, 0) : doc;
}

static const struct metric_edit *edit_of(const struct compare_work *w, const json_t *doc)
{
	const json_t *metric = json_object_get(first_document(doc), "metric");
	const char *name = json_string_value(json_object_get(metric, "name"));

	for (size_t i = 0; name && i < w->n_edits; i++)
		if (!strcmp(w->edits[i].name, name))
			return &w->edits[i];
	return NULL;
}

/* Which metric is compared is known only afterwards when none was asked for; a person's margin,
 * direction and statistic for it then ask for a second round. */
static int compare_edited(const struct compare_work *w, const struct compare_side *sides,
			  const char *const *also, json_t **ret, struct err *reterr)
{
	struct compare_options o = {
		.metric = w->ask.metric,
		.labels = w->ask.labels.len ? &w->ask.labels : NULL,
		.confidence = w->ask.confidence,
		.margin_rel = w->ask.margin_rel,
		.primary = w->ask.primary,
		.stats = w->ask.n_stats ? (const char *const *)w->ask.stats : NULL,
		.factor = w->ask.factor,
		.anyway = w->ask.anyway,
		.corrected = w->ask.corrected,
		.history = w->ask.history,
		.tail_threshold = w->ask.tail_threshold,
		.also = also,
	};
	int rc = compare(w, sides, &o, ret, reterr);
	const struct metric_edit *e = rc ? NULL : edit_of(w, *ret);

	if (!e)
		return rc;
	o.better = e->better;
	o.margin_rel = o.margin_rel < 0 ? e->margin_rel : o.margin_rel;
	o.primary = o.primary ? o.primary : e->primary;
	json_decref(*ret);
	*ret = NULL;
	return compare(w, sides, &o, ret, reterr);
}

/* Of several comparisons: one failure fails, else one that cannot tell makes it inconclusive. */
static int apply_gate(struct compare_work *w, json_t *doc, struct err *reterr)
{
	int rc = gate_apply(doc, (const char *const *)w->ask.rules, w->ask.n_rules,
			    w->ask.gate_mode, &w->result.gate, reterr);

	w->result.gated = rc == 0;
	return rc;
}

static void add_links(struct compare_work *w, json_t *doc)
{
	struct strbuf q CLEANUP(strbuf_done) = {0};

	compare_ask_query(&w->ask, &q);
	json_object_set_new(
		doc, "links",
		json_pack("{s:o, s:o, s:o, s:o, s:s}", "ui", json_sprintf("/compare?%s", q.data),
			  "text", json_sprintf("/api/v1/compare?%s&format=text", q.data), "csv",
			  json_sprintf("/api/v1/compare?%s&format=csv", q.data), "markdown",
			  json_sprintf("/api/v1/compare?%s&format=markdown", q.data), "pin",
			  "/api/v1/comparisons"));
	w->result.query = strbuf_take(&q);
}

static void note_verdict(struct compare_result *r, const json_t *doc)
{
	const json_t *v = json_object_get(doc, "verdict");
	const char *word = json_string_value(json_object_get(v, "word"));
	const char *sentence = json_string_value(json_object_get(v, "sentence"));
	const json_t *method = json_object_get(first_document(doc), "method");

	(void)snprintf(r->word, sizeof(r->word), "%s", word ? word : "");
	r->sentence = sentence ? xstrdup(sentence) : NULL;
	r->method = (int)json_integer_value(method);
}

/* ---- rendering ---- */

static struct strbuf *out(struct compare_work *w, enum compare_format f)
{
	return &w->result.out[__builtin_ctz(f)];
}

static int render(struct compare_work *w, const json_t *doc, struct err *reterr)
{
	if (w->formats & COMPARE_JSON) {
		char *text CLEANUP(freep) = json_dumps(doc, DUMP_FLAGS);

		strbuf_puts(out(w, COMPARE_JSON), text);
	}
	if (w->formats & COMPARE_TEXT)
		compare_render_text(doc, out(w, COMPARE_TEXT));
	if (w->formats & COMPARE_CSV)
		compare_render_csv(doc, out(w, COMPARE_CSV));
	if (w->formats & COMPARE_MARKDOWN)
		compare_render_markdown(doc, out(w, COMPARE_MARKDOWN));
	if (w->formats & COMPARE_JUNIT)
		gate_render_junit(doc, out(w, COMPARE_JUNIT));
	if (w->formats & COMPARE_SVG)
		return compare_render_svg(doc, w->chart, w->dark, out(w, COMPARE_SVG), reterr);
	return 0;
}

/* ---- profiles ---- */

static void add_profile_links(const struct compare_work *w, json_t *doc)
{
	struct strbuf q CLEANUP(strbuf_done) = {0};

	compare_ask_query(&w->ask, &q);
	json_object_set_new(
		doc, "links",
		json_pack("{s:o, s:o, s:o}", "text",
			  json_sprintf("/api/v1/profile/diff?%s&format=text", q.data), "csv",
			  json_sprintf("/api/v1/profile/diff?%s&format=csv", q.data), "markdown",
			  json_sprintf("/api/v1/profile/diff?%s&format=markdown", q.data)));
}

static int compare_profiles(struct compare_work *w, const struct compare_side *sides)
{
	struct compare_options o = {.metric = w->ask.metric,
				    .confidence = w->ask.confidence,
				    .margin_rel = w->ask.margin_rel,
				    .factor = w->ask.factor,
				    .anyway = w->ask.anyway};
	json_t *doc = NULL;
	char *text;
	int rc = profile_diff(&sides[0], &sides[1], &o, &doc, &w->err);

	if (rc)
		return rc;
	add_profile_links(w, doc);
	if (w->formats & COMPARE_JSON) {
		text = json_dumps(doc, DUMP_FLAGS);
		strbuf_puts(out(w, COMPARE_JSON), text);
		free(text);
	}
	if (w->formats & COMPARE_TEXT)
		profile_render_text(doc, out(w, COMPARE_TEXT));
	if (w->formats & COMPARE_CSV)
		profile_render_csv(doc, out(w, COMPARE_CSV));
	if (w->formats & COMPARE_MARKDOWN)
		profile_render_markdown(doc, out(w, COMPARE_MARKDOWN));
	json_decref(doc);
	return 0;
}

static int compare_metric(struct compare_work *w, const struct compare_side *sides)
{
	char *stats[COMPARE_RULES_MAX + 1] = {NULL};
	json_t *doc = NULL;
	int rc;

	gate_stats((const char *const *)w->ask.rules, w->ask.n_rules, stats);
	rc = compare_edited(w, sides, (const char *const *)stats, &doc, &w->err);
	for (size_t i = 0; i < w->ask.n_rules; i++)
		free(stats[i]);
	if (!rc && w->ask.n_rules)
		rc = apply_gate(w, doc, &w->err);
	if (!rc) {
		add_links(w, doc);
		note_verdict(&w->result, doc);
		rc = render(w, doc, &w->err);
	}
	json_decref(doc);
	return rc;
}

void compare_work_run(void *ctx)
{
	struct compare_work *w = ctx;
	struct compare_side sides[COMPARE_SIDES_MAX];
	int64_t begin_ns = clock_monotonic_ns();

	name_sides(w, sides);
	w->rc = w->profile ? compare_profiles(w, sides) : compare_metric(w, sides);
	w->compare_ns = clock_monotonic_ns() - begin_ns;
}
