/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For mailing lists: ASCII, at most 76 columns. */
#include <math.h>
#include <stdio.h>

#include "common/compare/compare.h"
#include "common/compare/render.h"

#define COLUMNS RENDER_COLUMNS

static void put_side(const json_t *item, const char *key, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const json_t *side = json_object_get(item, key);
	const char *selector = render_str(side, "selector"), *name = render_str(side, "name");
	char first[8];

	/* A side that is only called by its letter is what was asked for. */
	if (!strcmp(name, render_letter(item, key)) && *selector)
		strbuf_puts(&text, selector);
	else if (*selector && strcmp(selector, name) != 0)
		strbuf_printf(&text, "%s [%s]", name, selector);
	else
		strbuf_puts(&text, name);
	strbuf_puts(&text, ": ");
	render_side_facts(side, &text);
	snprintf(first, sizeof(first), "%s  ", render_letter(item, key));
	render_wrapped(out, first, 3, text.data);
}

static const char *direction_words(const char *better)
{
	if (!strcmp(better, "lower"))
		return "lower is better";
	return !strcmp(better, "higher") ? "higher is better" : "no better direction known";
}

static void put_metric(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const json_t *m = json_object_get(item, "metric");
	char margin[24];

	strbuf_printf(&text, "%s, %s; margin %s, confidence %.4g %%", render_str(m, "title"),
		      direction_words(render_str(m, "better")),
		      format_percent(render_num(m, "margin_rel"), false, margin, sizeof(margin)),
		      render_num(item, "confidence") * 100);
	render_wrapped(out, "", 3, text.data);
	if (*render_str(json_object_get(item, "design"), "text"))
		render_wrapped(out, "", 3, render_str(json_object_get(item, "design"), "text"));
}

static void put_cells(const json_t *side, struct scale s, double typical, struct strbuf *out)
{
	static const char *const keys[] = {"min", "avg", "max", "sdev", "range"};
	char cell[40];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		double v = render_num(side, keys[i]);

		strbuf_printf(out, " %7s",
			      isnan(v) ? "-" : format_scaled(s, v, typical, cell, sizeof(cell)));
	}
}

/* "-9.9 % [-10.0, -9.8]" */
static void put_relative(const json_t *delta, struct strbuf *out)
{
	const json_t *ci = json_object_get(delta, "ci_rel");
	char rel[24], lo[24], hi[24];
	double v = render_num(delta, "rel");

	if (isnan(v))
		return;
	strbuf_printf(out, " %9s", format_percent(v, true, rel, sizeof(rel)));
	if (!json_is_array(ci))
		return;
	format_percent(json_number_value(json_array_get(ci, 0)), true, lo, sizeof(lo));
	format_percent(json_number_value(json_array_get(ci, 1)), true, hi, sizeof(hi));
	lo[strlen(lo) - 2] = '\0';
	hi[strlen(hi) - 2] = '\0';
	if (json_is_null(json_array_get(ci, 0)) || json_is_null(json_array_get(ci, 1)))
		strbuf_puts(out, " [unbounded]");
	else
		strbuf_printf(out, " [%s,%s]", lo, hi);
}

static void put_row(const json_t *item, const json_t *row, struct strbuf *out)
{
	const json_t *delta = json_object_get(row, "delta");
	CLEANUP(strbuf_done) struct strbuf line = {0};
	double typical, change = render_num(delta, "abs");
	struct scale s = render_scale(row, &typical);
	char cell[40];

	strbuf_printf(&line, "%-11.11s%s", render_str(row, "stat"), render_letter(item, "a"));
	put_cells(json_object_get(row, "a"), s, typical, &line);
	put_relative(delta, &line);
	render_line(out, &line);
	strbuf_printf(&line, "%10.10s %s", s.unit, render_letter(item, "b"));
	put_cells(json_object_get(row, "b"), s, typical, &line);
	format_scaled(s, change, typical, cell, sizeof(cell));
	strbuf_printf(&line, "  %s%-8s %s",
		      change > 0   ? "+"
		      : change < 0 ? ""
				   : " ",
		      isnan(change) ? "" : cell, render_reading(row));
	render_line(out, &line);
}

static void put_cautions(const json_t *item, struct strbuf *out)
{
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(item, "rows"), i, row)
	{
		CLEANUP(strbuf_done) struct strbuf text = {0};

		if (json_is_null(json_object_get(row, "caution")))
			continue;
		strbuf_printf(&text, "%s: %s", render_str(row, "stat"), render_str(row, "caution"));
		render_wrapped(out, "note: ", 6, text.data);
	}
}

static void put_flags(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};

	render_flags(item, &text);
	if (text.len)
		render_wrapped(out, "flagged: ", 2, text.data);
}

static void put_mde(const json_t *item, struct strbuf *out)
{
	const char *primary = render_str(json_object_get(item, "verdict"), "primary");
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(item, "rows"), i, row)
	{
		const json_t *delta = json_object_get(row, "delta");
		CLEANUP(strbuf_done) struct strbuf text = {0};
		double mde = render_num(delta, "mde_rel");
		char p[32], size[24];

		if (strcmp(render_str(row, "stat"), primary) != 0 || !*render_str(delta, "test"))
			continue;
		strbuf_printf(&text, "%s: %s, %s", primary, render_str(delta, "test"),
			      format_p(render_num(delta, "p"), p, sizeof(p)));
		if (!isnan(mde))
			strbuf_printf(&text, "; a change of %s would be seen 4 times in 5",
				      format_percent(mde, false, size, sizeof(size)));
		render_wrapped(out, "test: ", 6, text.data);
	}
}

static void put_hosts(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	const json_t *hosts = json_object_get(item, "hosts");
	size_t i;
	json_t *h;

	if (!json_is_object(hosts))
		return;
	strbuf_printf(out, "\n%s of each host by itself\n", render_str(hosts, "stat"));
	json_array_foreach(json_object_get(hosts, "items"), i, h)
	{
		strbuf_printf(&line, "  %-20.20s", render_str(h, "host"));
		put_relative(json_object_get(h, "delta"), &line);
		strbuf_printf(&line, "  %s", render_reading(h));
		render_line(out, &line);
	}
}

static void put_verdict(const json_t *item, struct strbuf *out)
{
	const json_t *v = json_object_get(item, "verdict");
	size_t i;
	json_t *reason;

	strbuf_printf(out, "verdict: %s\n", render_str(v, "word"));
	render_wrapped(out, "  ", 2, render_str(v, "sentence"));
	json_array_foreach(json_object_get(v, "reasons"), i, reason)
		render_wrapped(out, "  - ", 4, render_str(reason, "text"));
}

static void put_rest(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf tail = {0}, env = {0};
	const json_t *guess = json_object_get(json_object_get(item, "tail"), "hypothesis");

	render_tail(item, &tail);
	if (tail.len)
		render_wrapped(out, "", 2, tail.data);
	render_blame_text(item, out);
	if (json_is_object(guess))
		render_wrapped(out, "", 2, render_str(guess, "text"));
	render_environment(item, &env);
	if (env.len)
		render_wrapped(out, "environment: ", 2, env.data);
}

/* A side without a partner: what it measured. */
static void put_single(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	size_t i;
	json_t *row;

	put_side(item, "b", out);
	put_metric(item, out);
	strbuf_printf(out, "\n%12s %7s %7s %7s %7s %7s\n", "", "min", "avg", "max", "sdev",
		      "range");
	json_array_foreach(json_object_get(item, "rows"), i, row)
	{
		double typical;
		struct scale s = render_scale(row, &typical);

		strbuf_printf(&line, "%-12.12s", render_str(row, "stat"));
		put_cells(json_object_get(row, "b"), s, typical, &line);
		strbuf_printf(&line, " %s", s.unit);
		render_line(out, &line);
	}
	strbuf_putc(out, '\n');
}

static void put_item(const json_t *item, struct strbuf *out)
{
	size_t i;
	json_t *row;

	if (!json_is_object(json_object_get(item, "a"))) {
		put_single(item, out);
		return;
	}
	put_side(item, "a", out);
	put_side(item, "b", out);
	put_metric(item, out);
	strbuf_printf(out, "\n%12s %7s %7s %7s %7s %7s %7s-A\n", "", "min", "avg", "max", "sdev",
		      "range", render_letter(item, "b"));
	json_array_foreach(json_object_get(item, "rows"), i, row) put_row(item, row, out);
	put_hosts(item, out);
	strbuf_putc(out, '\n');
	put_verdict(item, out);
	put_mde(item, out);
	put_rest(item, out);
	put_flags(item, out);
	put_cautions(item, out);
}

/* The sides of a list in one table, before the pairs. */
static void put_overview(const json_t *doc, struct strbuf *out)
{
	const json_t *first = render_item(doc, 0), *item, *row;
	CLEANUP(strbuf_done) struct strbuf line = {0};
	size_t k;

	strbuf_printf(&line, "%-14s", "all sides");
	strbuf_printf(&line, " %9s", "A");
	for (size_t i = 0; (item = render_item(doc, i)); i++)
		strbuf_printf(&line, " %9s", render_letter(item, "b"));
	render_line(out, &line);
	json_array_foreach(json_object_get(first, "rows"), k, row)
	{
		char cell[40];
		double typical;
		struct scale s = render_scale(row, &typical);
		double v = render_num(json_object_get(row, "a"), "avg");

		strbuf_printf(&line, "%-10.10s %3.3s %9s", render_str(row, "stat"), s.unit,
			      format_scaled(s, v, typical, cell, sizeof(cell)));
		for (size_t i = 0; (item = render_item(doc, i)); i++) {
			const json_t *other = json_array_get(json_object_get(item, "rows"), k);

			v = render_num(json_object_get(other, "b"), "avg");
			strbuf_printf(&line, " %9s",
				      format_scaled(s, v, typical, cell, sizeof(cell)));
		}
		render_line(out, &line);
	}
}

static void put_trend(const json_t *doc, struct strbuf *out)
{
	const json_t *trend = json_object_get(doc, "trend");
	const json_t *guess = json_object_get(doc, "prediction");

	if (json_is_object(trend))
		render_wrapped(out, "trend: ", 7, render_str(trend, "text"));
	if (json_is_object(guess))
		render_wrapped(out, "hypothesis: ", 7, render_str(guess, "text"));
}

static void put_gate(const json_t *doc, struct strbuf *out)
{
	const json_t *gate = json_object_get(doc, "gate");
	size_t i;
	json_t *rule;

	if (!json_is_object(gate))
		return;
	strbuf_printf(out, "gate: %s\n", render_str(gate, "result"));
	json_array_foreach(json_object_get(gate, "rules"), i, rule)
	{
		CLEANUP(strbuf_done) struct strbuf text = {0};

		strbuf_printf(&text, "%s: %s: %s", render_str(rule, "rule"),
			      render_str(rule, "result"), render_str(rule, "why"));
		render_wrapped(out, "  - ", 4, text.data);
	}
}

void compare_render_text(const json_t *doc, struct strbuf *out)
{
	const json_t *item;

	if (json_array_size(json_object_get(doc, "sides")) > 2) {
		put_overview(doc, out);
		put_trend(doc, out);
		strbuf_puts(out, "\n----\n\n");
	}
	for (size_t i = 0; (item = render_item(doc, i)); i++) {
		if (i)
			strbuf_puts(out, "\n----\n\n");
		put_item(item, out);
	}
	put_gate(doc, out);
}
