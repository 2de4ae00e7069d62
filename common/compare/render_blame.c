/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of the tail as a table, for text and Markdown. */
#include "common/compare/render.h"

#include <math.h>
#include <stdio.h>

#define CAUSES_SHOWN 6
#define SHARE_SHOWN  0.005 /* of either side; smaller ones are noise to a reader */

static const json_t *blame_of(const json_t *item)
{
	const json_t *b = json_object_get(json_object_get(item, "tail"), "blame");

	return json_is_object(b) ? b : NULL;
}

static const char *percent(double share, char *buf, size_t cap)
{
	if (isnan(share))
		(void)snprintf(buf, cap, "-");
	else
		(void)snprintf(buf, cap, share > 0 && share < 0.01 ? "%.1f %%" : "%.0f %%",
			       100 * share);
	return buf;
}

static const char *rate(const json_t *cause, const char *side, char *buf, size_t cap)
{
	double v = render_num(json_object_get(cause, side), "avg");

	if (isnan(v))
		(void)snprintf(buf, cap, "-");
	else
		(void)snprintf(buf, cap, v > 0 && v < 10 ? "%.1f" : "%.0f", v);
	return buf;
}

static const char *reading(const json_t *cause)
{
	const char *r = render_str(json_object_get(cause, "delta"), "reading");

	return !strcmp(r, "not_tested") ? "" : r;
}

static bool shown(const json_t *cause, size_t i)
{
	double most = fmax(render_num(cause, "a_share"), render_num(cause, "b_share"));

	return i < CAUSES_SHOWN && most >= SHARE_SHOWN;
}

void render_blame_text(const json_t *item, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	const json_t *b = blame_of(item);
	const char *letter = render_letter(item, "b");
	char share[2][16], per_hour[2][24];
	json_t *cause;
	size_t i;

	if (!b)
		return;
	(void)snprintf(per_hour[1], sizeof(per_hour[1]), "%s /h", letter);
	strbuf_printf(&line, "%-27s %7s %7s %8s %8s", "late wake-ups were held by", "A", letter,
		      "A /h", per_hour[1]);
	render_line(out, &line);
	json_array_foreach(json_object_get(b, "causes"), i, cause)
	{
		if (!shown(cause, i))
			continue;
		strbuf_printf(&line, "  %-25.25s %7s %7s %8s %8s  %s", render_str(cause, "name"),
			      percent(render_num(cause, "a_share"), share[0], sizeof(share[0])),
			      percent(render_num(cause, "b_share"), share[1], sizeof(share[1])),
			      rate(cause, "a_per_hour", per_hour[0], sizeof(per_hour[0])),
			      rate(cause, "b_per_hour", per_hour[1], sizeof(per_hour[1])),
			      reading(cause));
		render_line(out, &line);
	}
	strbuf_printf(&line, "of the lateness read: %s", render_str(b, "basis"));
	render_wrapped(out, "  ", 4, line.data);
}

void render_blame_markdown(const json_t *item, struct strbuf *out)
{
	const json_t *b = blame_of(item);
	char share[2][16], per_hour[2][24];
	json_t *cause;
	size_t i;

	if (!b)
		return;
	strbuf_puts(out, "\n| late wake-ups were held by | A | B | A an hour | B an hour | reading "
			 "|\n|---|--:|--:|--:|--:|---|\n");
	json_array_foreach(json_object_get(b, "causes"), i, cause)
	{
		if (!shown(cause, i))
			continue;
		strbuf_puts(out, "| ");
		render_markdown_text(out, render_str(cause, "name"));
		strbuf_printf(out, " | %s | %s | %s | %s | %s |\n",
			      percent(render_num(cause, "a_share"), share[0], sizeof(share[0])),
			      percent(render_num(cause, "b_share"), share[1], sizeof(share[1])),
			      rate(cause, "a_per_hour", per_hour[0], sizeof(per_hour[0])),
			      rate(cause, "b_per_hour", per_hour[1], sizeof(per_hour[1])),
			      reading(cause));
	}
	strbuf_puts(out, "\nShares of the lateness that was read: ");
	render_markdown_text(out, render_str(b, "basis"));
	strbuf_puts(out, ".\n");
}
