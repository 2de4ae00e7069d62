/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>

#include "common/compare/compare.h"
#include "common/compare/render.h"
#include "common/compare/svg.h"

static double at(const json_t *array, size_t i)
{
	const json_t *v = json_array_get(array, i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static double median_value(const json_t *item)
{
	return render_num(json_object_get(json_array_get(json_object_get(item, "rows"), 0), "a"),
			  "avg");
}

static const char *side_key(int s)
{
	return s ? "b" : "a";
}

/* Values of the metric on an axis: its unit and title. */
static void value_axis(const json_t *item, struct axis *a, char *title, size_t cap)
{
	const json_t *m = json_object_get(item, "metric");

	a->unit = scale_for(render_str(m, "unit"), median_value(item));
	snprintf(title, cap, "%s%s%s", render_str(m, "title"), *a->unit.unit ? ", " : "",
		 a->unit.unit);
	a->title = title;
}

/* --- histogram: share of samples per unit, log-log --- */

static double total_count(const json_t *h)
{
	const json_t *n = json_object_get(h, "n");
	double sum = render_num(h, "overflow");

	for (size_t i = 0; i < json_array_size(n); i++)
		sum += at(n, i);
	return sum;
}

static double density(const struct svg *s, const json_t *h, size_t i, double total)
{
	double width = at(json_object_get(h, "hi"), i) - at(json_object_get(h, "lo"), i);

	return at(json_object_get(h, "n"), i) / total / (width / s->x.unit.divide);
}

static void draw_histogram(struct svg *s, const json_t *h, int side)
{
	const json_t *lo = json_object_get(h, "lo"), *hi = json_object_get(h, "hi");
	double total = total_count(h), end = NAN;

	strbuf_puts(s->out, "<path d=\"");
	for (size_t i = 0; i < json_array_size(lo); i++) {
		double x0 = axis_pixel(&s->x, at(lo, i)), x1 = axis_pixel(&s->x, at(hi, i));
		double y = axis_pixel(&s->y, density(s, h, i, total));

		if (at(lo, i) != end) {
			if (!isnan(end))
				strbuf_printf(s->out, "V%.1f", s->y.from);
			strbuf_printf(s->out, "M%.1f %.1f", x0, s->y.from);
		}
		strbuf_printf(s->out, "V%.1fH%.1f", y, x1);
		end = at(hi, i);
	}
	strbuf_printf(
		s->out,
		"V%.1f\" fill=\"%s\" fill-opacity=\"0.15\" stroke=\"%s\" stroke-width=\"1.3\"/>\n",
		s->y.from, svg_color(s, side), svg_color(s, side));
}

static void histogram(const json_t *item, const json_t *chart, struct svg *s)
{
	char title[120], share[60];

	s->x.kind = s->y.kind = AXIS_LOG;
	value_axis(item, &s->x, title, sizeof(title));
	for (int side = 0; side < 2; side++) {
		const json_t *h = json_object_get(chart, side_key(side));
		const json_t *lo = json_object_get(h, "lo"), *hi = json_object_get(h, "hi");

		for (size_t i = 0; i < json_array_size(lo); i++) {
			axis_include(&s->x, at(lo, i) > 0 ? at(lo, i) : at(hi, i) / 2);
			axis_include(&s->x, at(hi, i));
			axis_include(&s->y, density(s, h, i, total_count(h)));
		}
	}
	s->y.lo /= 2;
	snprintf(share, sizeof(share), "share of samples%s%s", *s->x.unit.unit ? " per " : "",
		 s->x.unit.unit);
	s->y.title = share;
	svg_axes(s);
	for (int side = 0; side < 2; side++)
		draw_histogram(s, json_object_get(chart, side_key(side)), side);
}

/* --- lines --- */

/* A line through (x[i], y[i]); a missing point breaks it. */
static void draw_line(struct svg *s, const json_t *x, const json_t *y, int side, bool positive)
{
	bool down = false;

	strbuf_puts(s->out, "<path d=\"");
	for (size_t i = 0; i < json_array_size(x); i++) {
		double v = at(y, i);

		if (isnan(v) || (positive && v <= 0)) {
			down = false;
			continue;
		}
		strbuf_printf(s->out, "%s%.1f %.1f", down ? "L" : "M", axis_pixel(&s->x, at(x, i)),
			      axis_pixel(&s->y, v));
		down = true;
	}
	strbuf_printf(s->out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s/>\n",
		      svg_color(s, side), side ? " stroke-dasharray=\"6 3\"" : "");
}

static void draw_band(struct svg *s, const json_t *x, const json_t *band, int side)
{
	size_t n = json_array_size(band);
	bool any = false;

	strbuf_puts(s->out, "<path d=\"");
	for (int back = 0; back < 2; back++) {
		for (size_t k = 0; k < n; k++) {
			size_t i = back ? n - 1 - k : k;
			double v = at(json_array_get(band, i), (size_t)!back);

			if (isnan(v))
				continue;
			strbuf_printf(s->out, "%s%.1f %.1f", any ? "L" : "M",
				      axis_pixel(&s->x, at(x, i)), axis_pixel(&s->y, v));
			any = true;
		}
	}
	strbuf_printf(s->out, "\" fill=\"%s\" fill-opacity=\"0.14\" stroke=\"none\"/>\n",
		      svg_color(s, side));
}

static void percentiles(const json_t *item, const json_t *chart, struct svg *s)
{
	const json_t *q = json_object_get(chart, "q");
	char title[120];

	s->x.kind = AXIS_NINES;
	s->y.kind = AXIS_LOG;
	value_axis(item, &s->y, title, sizeof(title));
	s->x.title = "percentile (ribbon: range over runs)";
	for (int side = 0; side < 2; side++) {
		const json_t *lo = json_object_get(json_object_get(chart, side_key(side)), "lo");

		for (size_t i = 0; i < json_array_size(q); i++) {
			axis_include(&s->y, at(lo, i));
			if (!isnan(at(lo, i)))
				axis_include(&s->x, at(q, i));
		}
	}
	svg_axes(s);
	for (int side = 0; side < 2; side++) {
		const json_t *c = json_object_get(chart, side_key(side));

		draw_band(s, q, json_object_get(c, "band"), side);
		draw_line(s, q, json_object_get(c, "lo"), side, true);
	}
}

static void ccdf(const json_t *item, const json_t *chart, struct svg *s)
{
	static const char *const bands[] = {"a_band", "b_band"};
	const json_t *x = json_object_get(chart, "x");
	char title[120];

	s->x.kind = s->y.kind = AXIS_LOG;
	value_axis(item, &s->x, title, sizeof(title));
	s->y.title = "share of samples at or above (ribbon: range over runs)";
	for (size_t i = 0; i < json_array_size(x); i++) {
		axis_include(&s->x, at(x, i));
		for (int side = 0; side < 2; side++)
			axis_include(&s->y, at(json_object_get(chart, side_key(side)), i));
	}
	svg_axes(s);
	for (int side = 0; side < 2; side++) {
		draw_band(s, x, json_object_get(chart, bands[side]), side);
		draw_line(s, x, json_object_get(chart, side_key(side)), side, true);
	}
}

/* --- shift: B - A for each quantile, with its interval --- */

static void shift(const json_t *item, const json_t *chart, struct svg *s)
{
	const json_t *q = json_object_get(chart, "q"), *delta = json_object_get(chart, "delta");
	const json_t *lo = json_object_get(chart, "lo"), *hi = json_object_get(chart, "hi");
	char title[120], label[160];

	s->x.kind = AXIS_NINES;
	value_axis(item, &s->y, title, sizeof(title));
	snprintf(label, sizeof(label), "B - A, %s", title);
	s->y.title = label;
	s->x.title = "percentile (bars: interval from whole runs)";
	axis_include(&s->y, 0);
	axis_include(&s->x, 0);
	for (size_t i = 0; i < json_array_size(q); i++) {
		axis_include(&s->x, at(q, i));
		axis_include(&s->y, at(delta, i));
		axis_include(&s->y, at(lo, i));
		axis_include(&s->y, at(hi, i));
	}
	svg_axes(s);
	strbuf_printf(s->out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
		      s->x.from, axis_pixel(&s->y, 0), s->x.to, svg_color(s, 2));
	for (size_t i = 0; i < json_array_size(q); i++) {
		double x = axis_pixel(&s->x, at(q, i));

		if (!isnan(at(lo, i)))
			strbuf_printf(
				s->out,
				"<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\" stroke-width=\"2\"/>\n",
				x, axis_pixel(&s->y, at(lo, i)), axis_pixel(&s->y, at(hi, i)),
				svg_color(s, 1));
		strbuf_printf(
			s->out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\" fill=\"%s\"/>\n",
			x - 3.5, axis_pixel(&s->y, at(delta, i)) - 3.5, svg_color(s, 1));
	}
}

/* --- runs in order --- */

static double place_of(const json_t *point, size_t i, bool ordered)
{
	return ordered ? render_num(point, "order") : (double)i + 1;
}

static void runs(const json_t *item, const json_t *chart, struct svg *s)
{
	const json_t *points = json_object_get(chart, "points"), *p;
	bool ordered = true;
	char title[120], label[180];
	size_t i;

	value_axis(item, &s->y, title, sizeof(title));
	snprintf(label, sizeof(label), "%s of %s", render_str(chart, "stat"), title);
	s->y.title = label;
	json_array_foreach(points, i, p) ordered &= !isnan(render_num(p, "order"));
	s->x.title = ordered ? "order of the run" : "run (order not recorded)";
	json_array_foreach(points, i, p)
	{
		axis_include(&s->x, place_of(p, i, ordered));
		axis_include(&s->y, render_num(p, "value"));
	}
	svg_axes(s);
	json_array_foreach(points, i, p)
	{
		int side = *render_str(p, "side") == 'b';
		double v = render_num(p, "value");
		double x = axis_pixel(&s->x, place_of(p, i, ordered)), y = axis_pixel(&s->y, v);

		if (isnan(v))
			continue;
		if (side)
			strbuf_printf(s->out,
				      "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\" "
				      "fill=\"%s\"/>\n",
				      x - 4, y - 4, svg_color(s, side));
		else
			strbuf_printf(s->out,
				      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n",
				      x, y, svg_color(s, side));
	}
}

static const struct {
	const char *name, *title;
	void (*draw)(const json_t *item, const json_t *chart, struct svg *s);
} charts[] = {
	{"histogram", "Histogram", histogram},
	{"percentiles", "Percentiles", percentiles},
	{"shift", "Shift of each percentile", shift},
	{"ccdf", "Exceedance", ccdf},
	{"runs", "Runs", runs},
};

/* Several sides: the first other one is drawn against the reference. */
int compare_render_svg(const json_t *doc, const char *name, bool dark, struct strbuf *out,
		       struct err *reterr)
{
	const json_t *item = render_item(doc, 0);
	const json_t *m = json_object_get(item, "metric"), *chart;
	char title[200];
	struct svg s;

	for (size_t i = 0; i < ARRAY_LEN(charts); i++) {
		if (strcmp(name, charts[i].name) != 0)
			continue;
		chart = json_object_get(json_object_get(item, "charts"), name);
		if (!json_is_object(chart))
			return err_set(
				reterr, ERR_UNSUPPORTED,
				"there is no %s: the source has no distribution, only numbers "
				"of runs; the chart \"runs\" may exist",
				name);
		snprintf(title, sizeof(title), "%s: %s", render_str(m, "title"), charts[i].title);
		svg_begin(&s, out, dark, title);
		charts[i].draw(item, chart, &s);
		svg_legend(&s, render_str(json_object_get(item, "a"), "name"),
			   render_str(json_object_get(item, "b"), "name"));
		svg_end(&s);
		return 0;
	}
	return err_set(reterr, ERR_INVALID,
		       "no chart \"%.40s\"; there are histogram, percentiles, shift, ccdf and runs",
		       name);
}
