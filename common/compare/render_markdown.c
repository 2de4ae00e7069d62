/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For pull requests and wikis. */
#include <math.h>
#include <stdio.h>

#include "common/compare/compare.h"
#include "common/compare/render.h"

static void put_side(const json_t *item, const char *key, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf facts = {0};
	const json_t *side = json_object_get(item, key);

	strbuf_printf(out, "- **%s** ", render_letter(item, key));
	if (!strcmp(render_str(side, "name"), render_letter(item, key)) &&
	    *render_str(side, "selector"))
		render_markdown_text(out, render_str(side, "selector"));
	else
		render_markdown_text(out, render_str(side, "name"));
	render_side_facts(side, &facts);
	strbuf_printf(out, ": %s\n", facts.data);
}

static void put_cells(const json_t *side, struct scale s, double typical, struct strbuf *out)
{
	static const char *const keys[] = {"min", "avg", "max", "sdev", "range"};
	char cell[40];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		double v = render_num(side, keys[i]);

		strbuf_printf(out, " %s |",
			      isnan(v) ? "" : format_scaled(s, v, typical, cell, sizeof(cell)));
	}
}

static void put_row(const json_t *item, const json_t *row, struct strbuf *out)
{
	const json_t *delta = json_object_get(row, "delta");
	const json_t *ci = json_object_get(delta, "ci_rel");
	double typical;
	struct scale s = render_scale(row, &typical);
	char rel[24], lo[24], hi[24];

	strbuf_printf(out, "| %s%s%s%s | %s |", render_str(row, "stat"), *s.unit ? " (" : "",
		      s.unit, *s.unit ? ")" : "", render_letter(item, "a"));
	put_cells(json_object_get(row, "a"), s, typical, out);
	strbuf_puts(out, " | | |\n");
	strbuf_printf(out, "| | %s |", render_letter(item, "b"));
	put_cells(json_object_get(row, "b"), s, typical, out);
	strbuf_printf(out, " %s |",
		      isnan(render_num(delta, "rel"))
			      ? ""
			      : format_percent(render_num(delta, "rel"), true, rel, sizeof(rel)));
	if (json_is_number(json_array_get(ci, 0)) && json_is_number(json_array_get(ci, 1)))
		strbuf_printf(out, " %s to %s |",
			      format_percent(json_number_value(json_array_get(ci, 0)), true, lo,
					     sizeof(lo)),
			      format_percent(json_number_value(json_array_get(ci, 1)), true, hi,
					     sizeof(hi)));
	else
		strbuf_puts(out, " |");
	strbuf_printf(out, " %s |\n", render_reading(row));
}

static void put_list(const json_t *reasons, struct strbuf *out)
{
	size_t i;
	json_t *reason;

	json_array_foreach(reasons, i, reason)
	{
		strbuf_puts(out, "- ");
		render_markdown_text(out, render_str(reason, "text"));
		strbuf_putc(out, '\n');
	}
}

static void put_item(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf tail = {0}, env = {0}, flags = {0};
	const json_t *v = json_object_get(item, "verdict");
	size_t i;
	json_t *row;

	strbuf_puts(out, "### ");
	render_markdown_text(out, render_str(json_object_get(item, "metric"), "title"));
	strbuf_printf(out, ": %s\n\n", render_str(v, "word"));
	render_markdown_text(out, render_str(v, "sentence"));
	strbuf_puts(out, "\n\n");
	put_side(item, "a", out);
	put_side(item, "b", out);
	strbuf_printf(out, "- %s\n", render_str(json_object_get(item, "design"), "text"));
	put_list(json_object_get(v, "reasons"), out);
	strbuf_puts(out,
		    "\n| statistic | side | min | avg | max | sdev | range | change | interval | "
		    "reading |\n|---|---|--:|--:|--:|--:|--:|--:|---|---|\n");
	json_array_foreach(json_object_get(item, "rows"), i, row) put_row(item, row, out);
	render_tail(item, &tail);
	render_environment(item, &env);
	if (tail.len) {
		strbuf_putc(out, '\n');
		render_markdown_text(out, tail.data);
		strbuf_putc(out, '\n');
	}
	render_blame_markdown(item, out);
	if (env.len) {
		strbuf_puts(out, "\nEnvironment: ");
		render_markdown_text(out, env.data);
		strbuf_putc(out, '\n');
	}
	render_flags(item, &flags);
	if (flags.len)
		strbuf_printf(out, "\nFlagged: %s\n", flags.data);
}

static void put_gate(const json_t *doc, struct strbuf *out)
{
	const json_t *gate = json_object_get(doc, "gate");
	size_t i;
	json_t *rule;

	if (!json_is_object(gate))
		return;
	strbuf_printf(out, "\n**gate: %s**\n\n| rule | result | why |\n|---|---|---|\n",
		      render_str(gate, "result"));
	json_array_foreach(json_object_get(gate, "rules"), i, rule)
	{
		strbuf_puts(out, "| ");
		render_markdown_text(out, render_str(rule, "rule"));
		strbuf_printf(out, " | %s | ", render_str(rule, "result"));
		render_markdown_text(out, render_str(rule, "why"));
		strbuf_puts(out, " |\n");
	}
}

void compare_render_markdown(const json_t *doc, struct strbuf *out)
{
	const json_t *item;

	for (size_t i = 0; (item = render_item(doc, i)); i++) {
		if (i)
			strbuf_putc(out, '\n');
		put_item(item, out);
	}
	put_gate(doc, out);
}
