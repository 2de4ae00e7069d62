/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The staircase in words and numbers. */
#include <stdio.h>

#include "common/compare/document.h"
#include "common/compare/format.h"
#include "common/compare/staircase.h"
#include "common/compare/pack.h"

#define FLAT_AT_LEAST 0.05
#define CAUSES_MAX    12

static const char assumes[] = "It assumes wake-ups at a random phase, independent of the sections "
			      "that delay them; timers "
			      "tied to the load, frequency changes and firmware break that.";

static const char *value_text(const struct cmp *c, double v, char *buf, size_t cap)
{
	return format_value(c->metric.unit, v, buf, cap);
}

/* The delay that almost every wake-up has anyway: sections begin there. */
static int64_t base_of(const struct cmp *c)
{
	struct stat_def d = {.kind = STAT_QUANTILE, .q = 0.01};
	double a = stat_of_hist(&d, &c->side[0].pooled).lo;
	double b = stat_of_hist(&d, &c->side[1].pooled).lo;

	return isfinite(a) && isfinite(b) ? (int64_t)fmin(a, b) : 0;
}

static int64_t body_end(const struct cmp *c, int s)
{
	struct stat_def d = {.kind = STAT_QUANTILE, .q = 0.99};
	double v = stat_of_hist(&d, &c->side[s].pooled).lo;

	return isfinite(v) && v < (double)c->threshold ? (int64_t)v : c->threshold;
}

static void find(const struct cmp *c, int s, struct staircase *st)
{
	const struct hist **runs = xcalloc(c->side[s].n + 1, sizeof(*runs));

	for (size_t i = 0; i < c->side[s].n; i++)
		runs[i] = &c->side[s].obs[i].hist;
	staircase_find(&c->side[s].pooled, runs, c->side[s].n, body_end(c, s), c->threshold,
		       c->conf, st);
	free(runs);
}

static json_t *pair_or_null(double lo, double hi)
{
	return isfinite(lo) && isfinite(hi) ? PACK("[o,o]", json_num(lo), json_num(hi))
					    : json_null();
}

/* Rates are per ns of delay and wake-up: a section that starts once a second adds 1e-9. */
static json_t *step_json(const struct staircase_step *t, int64_t base, bool is_ns)
{
	double per = is_ns ? 1e9 : 1;

	return PACK("{s:I,s:I,s:o,s:I,s:o,s:o,s:o,s:o,s:b}", "from", (json_int_t)t->from, "edge",
		    (json_int_t)t->edge, "edge_ci", pair_or_null(t->edge_lo, t->edge_hi), "length",
		    (json_int_t)(t->edge - base), "length_ci",
		    pair_or_null(t->edge_lo - (double)base, t->edge_hi - (double)base),
		    "rate_per_s", json_num(t->rate * per), "rate_ci",
		    pair_or_null(t->rate_lo * per, t->rate_hi * per), "p_flat", json_num(t->p_flat),
		    "stable", t->stable);
}

static json_t *staircase_json(const struct staircase *st, int64_t base, bool is_ns)
{
	json_t *steps = json_array(), *classes = json_array(), *hump = json_null();

	if (!st->known) {
		json_decref(steps);
		json_decref(classes);
		return json_null();
	}
	for (size_t i = 0; i < st->steps; i++)
		json_array_append_new(steps, step_json(&st->step[i], base, is_ns));
	for (size_t i = 0; i < STAIRCASE_CLASSES; i++)
		json_array_append_new(classes,
				      PACK("{s:o,s:o}", "from", json_num(st->class_from[i]), "n",
					   json_num(st->class_count[i])));
	if (st->hump)
		hump = PACK("{s:I,s:I,s:o,s:o}", "from", (json_int_t)st->hump_from, "to",
			    (json_int_t)st->hump_to, "n", json_num(st->hump_count), "p",
			    json_num(st->hump_p));
	return PACK("{s:o,s:I,s:I,s:o,s:b,s:o,s:o,s:o}", "n", json_num(st->count), "from",
		    (json_int_t)st->from, "max", (json_int_t)st->max, "p_flat",
		    json_num(st->p_flat), "flat", st->p_flat >= FLAT_AT_LEAST && !st->hump,
		    "classes", classes, "hump", hump, "sections", steps);
}

static void say_flatness(const struct cmp *c, int s, const struct staircase *st, struct strbuf *out)
{
	char from[40], to[40], p[40];

	value_text(c, (double)st->from, from, sizeof(from));
	value_text(c, (double)st->max, to, sizeof(to));
	if (st->p_flat < 1e-99)
		snprintf(p, sizeof(p), "p < 1e-99");
	else if (st->p_flat < 1e-4)
		snprintf(p, sizeof(p), "p = %.0e", st->p_flat);
	else
		snprintf(p, sizeof(p), "p = %.2g", st->p_flat);
	strbuf_printf(out, " %s: %.0f samples from %s to %s ", s ? c->b : "A", st->count, from, to);
	if (st->hump) {
		char a[40], b[40];

		strbuf_printf(
			out,
			"are not evenly spread (%s): %.0f of them lie between %s and %s, a hump. "
			"A density that rises is no residual wait: they look locked to something.",
			p, st->hump_count, value_text(c, (double)st->hump_from, a, sizeof(a)),
			value_text(c, (double)st->hump_to, b, sizeof(b)));
	} else if (st->p_flat < FLAT_AT_LEAST) {
		strbuf_printf(out, "are not evenly spread (%s).", p);
	} else {
		strbuf_printf(out,
			      "are compatible with an even spread (%s), as one section length "
			      "would give.",
			      p);
	}
}

static void say_sections(const struct cmp *c, int s, const struct staircase *st, int64_t base,
			 struct strbuf *out)
{
	bool first = true;

	for (size_t i = 0; i < st->steps; i++) {
		const struct staircase_step *t = &st->step[i];
		char length[40], lo[40], hi[40];

		if (!t->stable || st->hump)
			continue;
		if (first)
			strbuf_printf(out, " %s: sections of", s ? c->b : "A");
		else
			strbuf_puts(out, " and");
		strbuf_printf(out, " about %s (%s to %s, %.3g a second)",
			      value_text(c, (double)(t->edge - base), length, sizeof(length)),
			      value_text(c, t->edge_lo - (double)base, lo, sizeof(lo)),
			      value_text(c, t->edge_hi - (double)base, hi, sizeof(hi)),
			      t->rate * (c->unit_is_ns ? 1e9 : 1));
		first = false;
	}
	if (!first)
		strbuf_puts(out, " would explain the steps.");
}

/* A wake-up takes its ordinary time after the section, too: then the end of one section is as
 * wide as the body, and is found as several edges close together. */
static void say_rounded(const struct cmp *c, int s, const struct staircase *st, struct strbuf *out)
{
	struct stat_def d = {.kind = STAT_QUANTILE, .q = 0.5};
	double middle = stat_of_hist(&d, &c->side[s].pooled).v;
	double width = (double)body_end(c, s) - (double)base_of(c);
	double sum = 0, rate = 0;
	char a[40], b[40];
	size_t n = 0;

	for (size_t i = 0; i < st->steps; i++) {
		const struct staircase_step *t = &st->step[i];

		if (!t->stable || st->hump)
			continue;
		if (n && (double)t->edge - sum / rate > width)
			sum = rate = (double)(n = 0);
		sum += t->rate * (double)t->edge;
		rate += t->rate;
		n++;
	}
	if (n >= 2)
		strbuf_printf(
			out,
			" In %s edges lie closer together than the body is wide (%s): they may be "
			"one section of about %s whose end is rounded.",
			s ? c->b : "A", value_text(c, width, a, sizeof(a)),
			value_text(c, sum / rate - middle, b, sizeof(b)));
}

json_t *hypothesis_json(struct cmp *c)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	struct staircase st[2];
	int64_t base = base_of(c);
	char base_words[40];
	bool sections = false;

	find(c, 0, &st[0]);
	find(c, 1, &st[1]);
	if (!st[0].known && !st[1].known)
		return json_null();
	strbuf_puts(&text, "Hypothesis, not a verdict.");
	for (int s = 0; s < 2; s++) {
		bool stable = false;

		for (size_t i = 0; i < st[s].steps; i++)
			stable |= st[s].step[i].stable && !st[s].hump;
		sections |= stable;
		if (stable)
			say_sections(c, s, &st[s], base, &text);
		else if (st[s].known)
			say_flatness(c, s, &st[s], &text);
	}
	if (sections)
		strbuf_printf(&text, " Lengths count from %s, which 99 of 100 samples reach.",
			      value_text(c, (double)base, base_words, sizeof(base_words)));
	for (int s = 0; s < 2; s++)
		say_rounded(c, s, &st[s], &text);
	if (c->side[0].n == 1 && c->side[1].n == 1)
		strbuf_puts(&text, " One run a side: how runs differ is not known.");
	strbuf_printf(&text, " %s", assumes);
	return PACK("{s:s,s:s,s:s,s:I,s:o,s:o}", "label", "hypothesis", "text", text.data,
		    "assumes", assumes, "base", (json_int_t)base, "a",
		    staircase_json(&st[0], base, c->unit_is_ns), "b",
		    staircase_json(&st[1], base, c->unit_is_ns));
}
