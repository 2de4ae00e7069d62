/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/svg.h"

#include <math.h>
#include <stdio.h>

#define LEFT   72.0
#define RIGHT  (SVG_WIDTH - 18.0)
#define TOP    44.0
#define BOTTOM (SVG_HEIGHT - 48.0)

struct palette {
	const char *back, *text, *grid, *a, *b, *neutral;
};
static const struct palette light = {"#ffffff", "#1c2430", "#d9dee5",
				     "#1f5fbf", "#c2570c", "#5b6675"};
static const struct palette dark = {"#14181f", "#e6eaf0", "#333c49",
				    "#74a9ff", "#ff9d57", "#9aa6b5"};

static const struct palette *palette(const struct svg *s)
{
	return s->dark ? &dark : &light;
}

const char *svg_color(const struct svg *s, int side)
{
	return side == 0 ? palette(s)->a : side == 1 ? palette(s)->b : palette(s)->neutral;
}

void svg_begin(struct svg *s, struct strbuf *out, bool is_dark, const char *title)
{
	*s = (struct svg){.out = out, .dark = is_dark};
	s->x = (struct axis){.lo = INFINITY, .hi = -INFINITY, .from = LEFT, .to = RIGHT};
	s->y = (struct axis){.lo = INFINITY, .hi = -INFINITY, .from = BOTTOM, .to = TOP};
	s->x.unit = s->y.unit = (struct scale){"", 1};
	s->x.title = s->y.title = "";
	strbuf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		      "viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"sans-serif\" "
		      "font-size=\"12\" fill=\"%s\">\n<title>",
		      SVG_WIDTH, SVG_HEIGHT, SVG_WIDTH, SVG_HEIGHT, palette(s)->text);
	strbuf_put_xml(out, title);
	strbuf_printf(out,
		      "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"%s\"/>\n"
		      "<text x=\"%g\" y=\"18\" font-size=\"14\" font-weight=\"bold\">",
		      SVG_WIDTH, SVG_HEIGHT, palette(s)->back, LEFT);
	strbuf_put_xml(out, title);
	strbuf_puts(out, "</text>\n");
}

void svg_end(struct svg *s)
{
	strbuf_puts(s->out, "</svg>\n");
}

void axis_include(struct axis *a, double v)
{
	if (!isfinite(v) || (a->kind == AXIS_LOG && v <= 0))
		return;
	a->lo = fmin(a->lo, v);
	a->hi = fmax(a->hi, v);
}

static double position(const struct axis *a, double v)
{
	switch (a->kind) {
	case AXIS_LOG:
		return log10(fmax(v, a->lo));
	case AXIS_NINES:
		return -log10(fmax(1 - v, 1e-9));
	case AXIS_LINEAR:
		return v;
	}
	return v;
}

double axis_pixel(const struct axis *a, double v)
{
	double lo = position(a, a->lo), hi = position(a, a->hi);
	double at = hi > lo ? (position(a, v) - lo) / (hi - lo) : 0.5;

	return a->from + fmin(fmax(at, 0), 1) * (a->to - a->from);
}

/* 1, 2 or 5 times a power of ten that cuts the range into 4 to 10 parts. */
static double nice_step(double range)
{
	double step = pow(10, floor(log10(range / 5)));

	while (range / step > 10)
		step *= range / step > 20 ? 5 : 2;
	return step;
}

static void fit(struct axis *a)
{
	double step;

	if (!(a->lo <= a->hi)) {
		a->lo = a->kind == AXIS_LOG ? 1 : 0;
		a->hi = a->kind == AXIS_LOG ? 10 : 1;
	}
	if (a->kind == AXIS_LOG) {
		if (a->hi <= a->lo)
			a->hi = a->lo * 10;
	} else if (a->kind == AXIS_LINEAR) {
		if (a->hi <= a->lo) {
			a->lo -= 0.5 * fabs(a->lo) + 0.5 * (a->lo == 0);
			a->hi += 0.5 * fabs(a->hi) + 0.5 * (a->hi == 0);
		}
		step = nice_step(a->hi - a->lo);
		a->lo = floor(a->lo / step) * step;
		a->hi = ceil(a->hi / step) * step;
	}
}

static void tick(struct svg *s, const struct axis *a, double v, const char *label)
{
	bool is_x = a == &s->x;
	double at = axis_pixel(a, v);

	if (is_x)
		strbuf_printf(s->out,
			      "<path d=\"M%.1f %g V%g\" stroke=\"%s\"/><text x=\"%.1f\" y=\"%g\" "
			      "text-anchor=\"middle\">",
			      at, TOP, BOTTOM, palette(s)->grid, at, BOTTOM + 16);
	else
		strbuf_printf(s->out,
			      "<path d=\"M%g %.1f H%g\" stroke=\"%s\"/><text x=\"%g\" y=\"%.1f\" "
			      "text-anchor=\"end\">",
			      LEFT, at, RIGHT, palette(s)->grid, LEFT - 6, at + 4);
	strbuf_put_xml(s->out, label);
	strbuf_puts(s->out, "</text>\n");
}

static void number_tick(struct svg *s, const struct axis *a, double v)
{
	char label[40];

	snprintf(label, sizeof(label), "%.4g", v / a->unit.divide);
	tick(s, a, v, label);
}

static void log_ticks(struct svg *s, const struct axis *a)
{
	double decades = log10(a->hi / a->lo);
	/* Decades of the labelled unit, so that the labels are round. */
	double v = pow(10, floor(log10(a->lo / a->unit.divide))) * a->unit.divide;

	for (; v <= a->hi * 1.0001; v *= 10) {
		static const double parts[] = {1, 2, 5};

		for (size_t i = 0; i < ARRAY_LEN(parts); i++)
			if (v * parts[i] >= a->lo && v * parts[i] <= a->hi &&
			    (i == 0 || decades < 3))
				number_tick(s, a, v * parts[i]);
	}
}

static void draw_ticks(struct svg *s, const struct axis *a)
{
	static const double quantiles[] = {0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999};

	if (a->kind == AXIS_LOG) {
		log_ticks(s, a);
	} else if (a->kind == AXIS_NINES) {
		for (size_t i = 0; i < ARRAY_LEN(quantiles); i++) {
			char label[24];

			if (quantiles[i] < a->lo || quantiles[i] > a->hi)
				continue;
			snprintf(label, sizeof(label), "p%.8g", quantiles[i] * 100);
			tick(s, a, quantiles[i], label);
		}
	} else {
		double step = nice_step(a->hi - a->lo);

		for (double v = a->lo; v <= a->hi + step / 2; v += step)
			number_tick(s, a, fabs(v) < step / 1e6 ? 0 : v);
	}
}

void svg_axes(struct svg *s)
{
	fit(&s->x);
	fit(&s->y);
	draw_ticks(s, &s->x);
	draw_ticks(s, &s->y);
	strbuf_printf(s->out, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\" fill=\"%s\">", RIGHT,
		      BOTTOM + 36, palette(s)->neutral);
	strbuf_put_xml(s->out, s->x.title);
	strbuf_printf(s->out, "</text>\n<text x=\"%g\" y=\"%g\" fill=\"%s\">", 8.0, TOP - 10,
		      palette(s)->neutral);
	strbuf_put_xml(s->out, s->y.title);
	strbuf_puts(s->out, "</text>\n");
}

void svg_legend(struct svg *s, const char *a, const char *b)
{
	const char *names[] = {a, b};

	for (int i = 0; i < 2; i++) {
		double x = RIGHT - 330 + 170 * i;

		if (i)
			strbuf_printf(
				s->out,
				"<rect x=\"%g\" y=\"%g\" width=\"9\" height=\"9\" fill=\"%s\"/>", x,
				TOP - 19, svg_color(s, i));
		else
			strbuf_printf(s->out, "<circle cx=\"%g\" cy=\"%g\" r=\"5\" fill=\"%s\"/>",
				      x + 4, TOP - 14.5, svg_color(s, i));
		strbuf_printf(s->out, "<text x=\"%g\" y=\"%g\">", x + 14, TOP - 10);
		for (size_t k = 0; k < strlen(names[i]) && k < 22; k++) {
			char one[2] = {names[i][k], '\0'};

			strbuf_put_xml(s->out, (unsigned char)one[0] < 128 ? one : "?");
		}
		strbuf_puts(s->out, "</text>\n");
	}
}
