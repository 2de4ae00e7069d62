/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles and their differences for people. Numbers come first and names last, as perf has it:
 * names are of any length. */
#include <math.h>
#include <stdio.h>

#include "common/compare/profile.h"
#include "common/compare/render.h"

#define NAME_COLUMNS 27
#define ROWS_QUIET   8 /* rows that did not move clearly, shown after those that did */
#define NAME_BYTES   400

static bool is_diff(const json_t *doc)
{
	return json_object_get(doc, "tables") != NULL;
}

static const char *basis_words(const json_t *o)
{
	return !strcmp(render_str(o, "basis"), "cycle") ? "cycles" : "CPU time";
}

/* "[k] ext4_mark_inode_dirty"; a long name keeps both ends. */
static const char *shown_name(const json_t *row, size_t columns, char *buf, size_t cap)
{
	const char *kind = render_str(row, "kind"), *name = render_str(row, "name");
	const char *mark = !strcmp(kind, "symbol") ? "[k] " : !strcmp(kind, "object") ? "[.] " : "";
	size_t len, room = columns - strlen(mark);

	if (!*name) /* idle, unattributed, agent */
		name = !strcmp(kind, "agent") ? "rigstat-agent" : kind;
	len = strlen(name);
	if (len <= room)
		(void)snprintf(buf, cap, "%s%s", mark, name);
	else
		(void)snprintf(buf, cap, "%s%.*s..%s", mark, (int)(room / 2 - 1), name,
			       name + len - (room - room / 2 - 1));
	return buf;
}

/* "3.10", "<=0.42", "0.2-0.5" */
static const char *share(const json_t *side, char *buf, size_t cap)
{
	double lo = render_num(side, "lo"), hi = render_num(side, "hi");

	if (isnan(lo) || isnan(hi))
		(void)snprintf(buf, cap, "-");
	else if (lo == hi)
		(void)snprintf(buf, cap, "%.2f", lo);
	else if (lo <= 0)
		(void)snprintf(buf, cap, "<=%.2f", hi);
	else
		(void)snprintf(buf, cap, "%.1f-%.1f", lo, hi);
	return buf;
}

static double at(const json_t *array, size_t i)
{
	const json_t *v = json_array_get(array, i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "+2.30", ">+5.01" for at least so much, "" when it may be none. */
static const char *move(const json_t *delta, char *buf, size_t cap)
{
	double abs = render_num(delta, "abs");
	double lo = at(json_object_get(delta, "between"), 0);
	double hi = at(json_object_get(delta, "between"), 1);

	if (!isnan(abs))
		(void)snprintf(buf, cap, "%+.2f", abs);
	else if (lo > 0)
		(void)snprintf(buf, cap, ">%+.2f", lo);
	else if (hi < 0)
		(void)snprintf(buf, cap, "<%+.2f", hi);
	else
		(void)snprintf(buf, cap, "?");
	return buf;
}

static const char *interval(const json_t *delta, char *buf, size_t cap)
{
	const json_t *ci = json_object_get(delta, "ci");

	if (isnan(at(ci, 0)) || isnan(at(ci, 1)))
		(void)snprintf(buf, cap, "-");
	else
		(void)snprintf(buf, cap, "[%+.2f,%+.2f]", at(ci, 0), at(ci, 1));
	return buf;
}

static const char *word(const json_t *delta)
{
	const char *r = render_str(delta, "reading");

	return !strcmp(r, "higher")				  ? "rose"
	       : !strcmp(r, "lower")				  ? "fell"
	       : !strcmp(r, "same") || !strcmp(r, "below_margin") ? "same"
								  : "";
}

static bool moved(const json_t *row)
{
	const char *w = word(json_object_get(row, "delta"));

	return !strcmp(w, "rose") || !strcmp(w, "fell");
}

/* ---- text ---- */

static void put_row(const json_t *row, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	const json_t *delta = json_object_get(row, "delta");
	char a[24], b[24], d[24], ci[40], name[NAME_BYTES];

	strbuf_printf(&line, "%7s %7s %7s %15s %-5s %s",
		      share(json_object_get(row, "a"), a, sizeof(a)),
		      share(json_object_get(row, "b"), b, sizeof(b)), move(delta, d, sizeof(d)),
		      interval(delta, ci, sizeof(ci)), word(delta),
		      shown_name(row, NAME_COLUMNS + 2, name, sizeof(name)));
	render_line(out, &line);
}

static void put_table(const json_t *table, struct strbuf *out)
{
	const json_t *covered = json_object_get(table, "covered");
	size_t i, quiet = 0, hidden = 0;
	json_t *row;

	strbuf_printf(out, "\n%7s %7s %7s %15s %-5s %s\n", "A %", "B %", "B-A", "interval", "",
		      render_str(table, "title"));
	json_array_foreach(json_object_get(table, "rows"), i, row)
	{
		quiet += !moved(row);
		if (quiet > ROWS_QUIET && !moved(row))
			hidden++;
		else
			put_row(row, out);
	}
	if (hidden)
		strbuf_printf(out, "  and %zu more without a clear change (--json, --csv)\n",
			      hidden);
	if (json_is_array(covered))
		strbuf_printf(out, "  the names kept make up %.0f %% of A and %.0f %% of B\n",
			      at(covered, 0), at(covered, 1));
}

static void put_side(const json_t *doc, const char *key, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const json_t *side = json_object_get(doc, key);
	const char *selector = render_str(side, "selector");
	char first[8];

	strbuf_printf(&text, "%s: ", *selector ? selector : render_str(side, "name"));
	render_side_facts(side, &text);
	(void)snprintf(first, sizeof(first), "%s  ", *key == 'a' ? "A" : "B");
	render_wrapped(out, first, 3, text.data);
}

static void put_head(const json_t *doc, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	double margin = render_num(doc, "margin_points");

	put_side(doc, "a", out);
	put_side(doc, "b", out);
	strbuf_printf(&text,
		      "shares of non-idle %s, sampled; differences in points, confidence "
		      "%.4g %%",
		      basis_words(doc), render_num(doc, "confidence") * 100);
	if (margin > 0)
		strbuf_printf(&text, ", margin %.3g points", margin);
	render_wrapped(out, "", 3, text.data);
	render_wrapped(out, "", 3, render_str(json_object_get(doc, "design"), "text"));
}

static void put_diff(const json_t *doc, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf env = {0};
	size_t i;
	json_t *v;

	render_wrapped(out, "", 2, render_str(doc, "sentence"));
	json_array_foreach(json_object_get(doc, "reasons"), i, v)
		render_wrapped(out, "  - ", 4, render_str(v, "text"));
	if (!json_is_object(json_object_get(doc, "a")))
		return;
	strbuf_putc(out, '\n');
	put_head(doc, out);
	json_array_foreach(json_object_get(doc, "tables"), i, v) put_table(v, out);
	strbuf_putc(out, '\n');
	render_wrapped(out, "", 2,
		       "[k] kernel symbol, [.] user object; <= and > are bounds: a run keeps its "
		       "20 largest names");
	render_environment(doc, &env);
	if (env.len)
		render_wrapped(out, "environment: ", 2, env.data);
}

static void put_entries(const json_t *list, const char *title, const char *other, double most,
			struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	char name[NAME_BYTES];
	size_t i;
	json_t *e;

	if (!json_array_size(list))
		return;
	strbuf_printf(out, "\n%7s  %s\n", "%", title);
	json_array_foreach(list, i, e)
	{
		strbuf_printf(&line, "%7.2f  %s%s", render_num(e, "share"),
			      shown_name(e, 60, name, sizeof(name)),
			      !strcmp(render_str(e, "of"), "all") ? " (of everything)" : "");
		render_line(out, &line);
	}
	if (most > 0)
		strbuf_printf(out, " <=%.2f  any other %s\n", most, other);
}

static void put_one(const json_t *p, struct strbuf *out)
{
	strbuf_printf(out, "\nshares of non-idle %s, sampled\n", basis_words(p));
	put_entries(json_object_get(p, "whole"), "the whole", "", 0, out);
	put_entries(json_object_get(p, "applications"), "applications", "", 0, out);
	put_entries(json_object_get(p, "programs"), "programs", "program",
		    render_num(p, "other_command_at_most"), out);
	put_entries(json_object_get(p, "code"), "code ([k] kernel symbol, [.] user object)",
		    "kernel symbol", render_num(p, "other_symbol_at_most"), out);
	if (render_num(p, "other_object_at_most") > 0)
		strbuf_printf(out, " <=%.2f  any other object\n",
			      render_num(p, "other_object_at_most"));
}

static void put_run(const json_t *doc, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const json_t *run = json_object_get(doc, "run");
	const char *id = render_str(run, "id"), *key;
	size_t i;
	json_t *v;

	strbuf_printf(&text, "run %s", *id ? id : render_str(run, "uid"));
	if (*render_str(run, "host"))
		strbuf_printf(&text, " on %s", render_str(run, "host"));
	if (*render_str(run, "experiment"))
		strbuf_printf(&text, ", %s", render_str(run, "experiment"));
	json_object_foreach(json_object_get(run, "factors"), key, v)
		strbuf_printf(&text, ", %s=%s", key, json_string_value(v));
	render_wrapped(out, "", 2, text.data);
	if (!json_array_size(json_object_get(doc, "profiles")))
		render_wrapped(out, "no profile: ", 2, render_str(doc, "reason"));
	json_array_foreach(json_object_get(doc, "profiles"), i, v) put_one(v, out);
}

void profile_render_text(const json_t *doc, struct strbuf *out)
{
	const json_t *item;

	if (is_diff(doc)) {
		put_diff(doc, out);
		return;
	}
	for (size_t i = 0; (item = render_item(doc, i)); i++) {
		strbuf_puts(out, i ? "\n----\n\n" : "");
		put_run(item, out);
	}
}

/* ---- Markdown ---- */

static void put_markdown_row(const json_t *row, struct strbuf *out)
{
	const json_t *delta = json_object_get(row, "delta");
	char a[24], b[24], d[24], ci[40], name[NAME_BYTES];

	strbuf_puts(out, "| ");
	render_markdown_text(out, shown_name(row, NAME_BYTES / 2, name, sizeof(name)));
	strbuf_printf(out, " | %s | %s | %s | %s | %s |\n",
		      share(json_object_get(row, "a"), a, sizeof(a)),
		      share(json_object_get(row, "b"), b, sizeof(b)), move(delta, d, sizeof(d)),
		      interval(delta, ci, sizeof(ci)), word(delta));
}

static void put_markdown_table(const json_t *table, struct strbuf *out)
{
	size_t i, quiet = 0;
	json_t *row;

	strbuf_printf(out,
		      "\n| %s | A %% | B %% | B-A points | interval | |\n"
		      "|---|--:|--:|--:|--:|---|\n",
		      render_str(table, "title"));
	json_array_foreach(json_object_get(table, "rows"), i, row)
	{
		quiet += !moved(row);
		if (moved(row) || quiet <= ROWS_QUIET)
			put_markdown_row(row, out);
	}
}

static void put_markdown_entries(const json_t *p, const char *key, struct strbuf *out)
{
	const json_t *list = json_object_get(p, key);
	char name[NAME_BYTES];
	size_t i;
	json_t *e;

	if (!json_array_size(list))
		return;
	strbuf_printf(out, "\n| %s | %% of non-idle %s |\n|---|--:|\n", key, basis_words(p));
	json_array_foreach(list, i, e)
	{
		strbuf_puts(out, "| ");
		render_markdown_text(out, shown_name(e, NAME_BYTES / 2, name, sizeof(name)));
		strbuf_printf(out, " | %.2f%s |\n", render_num(e, "share"),
			      !strcmp(render_str(e, "of"), "all") ? " of everything" : "");
	}
}

static void put_markdown_diff(const json_t *doc, struct strbuf *out)
{
	size_t i;
	json_t *table;

	strbuf_puts(out, "**");
	render_markdown_text(out, render_str(doc, "sentence"));
	strbuf_puts(out, "**\n");
	json_array_foreach(json_object_get(doc, "tables"), i, table) put_markdown_table(table, out);
}

void profile_render_markdown(const json_t *doc, struct strbuf *out)
{
	static const char *const lists[] = {"whole", "applications", "programs", "code"};
	const json_t *item;

	if (is_diff(doc)) {
		put_markdown_diff(doc, out);
		return;
	}
	for (size_t i = 0; (item = render_item(doc, i)); i++) {
		size_t k;
		json_t *p;

		json_array_foreach(json_object_get(item, "profiles"), k, p)
		{
			for (size_t l = 0; l < ARRAY_LEN(lists); l++)
				put_markdown_entries(p, lists[l], out);
		}
	}
}

/* ---- CSV ---- */

static void put_number(struct strbuf *out, double v)
{
	if (!isnan(v))
		strbuf_printf(out, "%.15g", v);
	strbuf_putc(out, ',');
}

static void put_field(struct strbuf *out, const char *text)
{
	strbuf_put_csv(out, text);
	strbuf_putc(out, ',');
}

static void put_csv_row(const json_t *doc, const json_t *table, const json_t *row,
			struct strbuf *out)
{
	static const char *const cells[] = {"n", "seen", "lo", "hi", "avg", "min", "max", "sdev"};
	const json_t *delta = json_object_get(row, "delta");

	put_field(out, render_str(doc, "basis"));
	put_field(out, render_str(table, "name"));
	put_field(out, render_str(row, "kind"));
	put_field(out, render_str(row, "name"));
	put_field(out, render_str(row, "of"));
	for (const char *side = "a"; side; side = *side == 'a' ? "b" : NULL)
		for (size_t i = 0; i < ARRAY_LEN(cells); i++)
			put_number(out, render_num(json_object_get(row, side), cells[i]));
	put_number(out, render_num(delta, "abs"));
	for (size_t i = 0; i < 2; i++)
		put_number(out, at(json_object_get(delta, "between"), i));
	for (size_t i = 0; i < 2; i++)
		put_number(out, at(json_object_get(delta, "ci"), i));
	put_number(out, render_num(delta, "p"));
	put_number(out, render_num(delta, "p_adjusted"));
	put_field(out, render_str(delta, "reading"));
	strbuf_put_csv(out, render_str(delta, "test"));
	strbuf_puts(out, "\r\n");
}

static void put_csv_diff(const json_t *doc, struct strbuf *out)
{
	size_t i, k;
	json_t *table, *row;

	strbuf_puts(out, "basis,table,kind,name,of,a_n,a_seen,a_lo,a_hi,a_avg,a_min,a_max,a_sdev,"
			 "b_n,b_seen,b_lo,b_hi,b_avg,b_min,b_max,b_sdev,delta,delta_at_least,"
			 "delta_at_most,ci_lo,ci_hi,p,p_adjusted,reading,test\r\n");
	json_array_foreach(json_object_get(doc, "tables"), i, table)
	{
		json_array_foreach(json_object_get(table, "rows"), k, row)
			put_csv_row(doc, table, row, out);
	}
}

static void put_csv_entry(const char *run, const json_t *profile, const json_t *entry,
			  struct strbuf *out)
{
	put_field(out, run);
	put_field(out, render_str(profile, "basis"));
	put_field(out, render_str(entry, "kind"));
	put_field(out, render_str(entry, "name"));
	put_field(out, render_str(entry, "of"));
	strbuf_printf(out, "%.15g\r\n", render_num(entry, "share"));
}

static void put_csv_run(const json_t *doc, struct strbuf *out)
{
	static const char *const lists[] = {"whole", "applications", "programs", "code"};
	const json_t *run = json_object_get(doc, "run");
	const char *id = *render_str(run, "id") ? render_str(run, "id") : render_str(run, "uid");
	size_t i, k;
	json_t *p, *e;

	json_array_foreach(json_object_get(doc, "profiles"), i, p)
	{
		for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
			json_array_foreach(json_object_get(p, lists[l]), k, e)
				put_csv_entry(id, p, e, out);
		}
	}
}

void profile_render_csv(const json_t *doc, struct strbuf *out)
{
	const json_t *item;

	if (is_diff(doc)) {
		put_csv_diff(doc, out);
		return;
	}
	strbuf_puts(out, "run,basis,kind,name,of,share\r\n");
	for (size_t i = 0; (item = render_item(doc, i)); i++)
		put_csv_run(item, out);
}
