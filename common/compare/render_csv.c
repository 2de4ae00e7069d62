/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line a row of the table, in the metric's own unit, without rounding. */
#include <math.h>

#include "common/compare/compare.h"
#include "common/compare/render.h"

static void put_field(struct strbuf *out, const char *text)
{
	strbuf_put_csv(out, text);
	strbuf_putc(out, ',');
}

static void put_value(struct strbuf *out, double v)
{
	if (!isnan(v))
		strbuf_printf(out, "%.15g", v);
	strbuf_putc(out, ',');
}

static void put_interval(struct strbuf *out, const json_t *delta, const char *key)
{
	const json_t *ci = json_object_get(delta, key);

	for (size_t i = 0; i < 2; i++) {
		const json_t *v = json_array_get(ci, i);

		put_value(out, json_is_number(v) ? json_number_value(v) : NAN);
	}
}

static void put_row(const json_t *item, const json_t *row, struct strbuf *out)
{
	static const char *const cells[] = {"n", "min", "avg", "max", "sdev", "range"};
	const json_t *delta = json_object_get(row, "delta");

	put_field(out, render_str(json_object_get(item, "metric"), "name"));
	put_field(out, render_str(json_object_get(item, "a"), "name"));
	put_field(out, render_str(json_object_get(item, "b"), "name"));
	put_field(out, render_str(row, "stat"));
	put_field(out, render_str(row, "role"));
	put_field(out, render_str(row, "unit"));
	for (const char *side = "a"; side; side = *side == 'a' ? "b" : NULL)
		for (size_t i = 0; i < ARRAY_LEN(cells); i++)
			put_value(out, render_num(json_object_get(row, side), cells[i]));
	put_value(out, render_num(delta, "abs"));
	put_interval(out, delta, "ci");
	put_value(out, render_num(delta, "rel"));
	put_interval(out, delta, "ci_rel");
	put_value(out, render_num(delta, "p"));
	put_value(out, render_num(delta, "p_adjusted"));
	put_value(out, render_num(delta, "mde_rel"));
	put_field(out, render_str(delta, "reading"));
	put_field(out, render_str(delta, "test"));
	put_field(out, render_str(json_object_get(item, "verdict"), "word"));
	strbuf_put_csv(out, render_str(row, "caution"));
	strbuf_puts(out, "\r\n");
}

void compare_render_csv(const json_t *doc, struct strbuf *out)
{
	const json_t *item;

	strbuf_puts(out, "metric,a,b,stat,role,unit,"
			 "a_n,a_min,a_avg,a_max,a_sdev,a_range,"
			 "b_n,b_min,b_avg,b_max,b_sdev,b_range,"
			 "delta,delta_lo,delta_hi,delta_rel,delta_rel_lo,delta_rel_hi,"
			 "p,p_adjusted,mde_rel,reading,test,verdict,caution\r\n");
	for (size_t i = 0; (item = render_item(doc, i)); i++) {
		size_t k;
		json_t *row;

		json_array_foreach(json_object_get(item, "rows"), k, row) put_row(item, row, out);
	}
}
