/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plot area with two axes in SVG: no scripts, no fonts from elsewhere, text escaped. */
#pragma once

#include "common/compare/format.h"
#include "common/strbuf.h"

enum axis_kind { AXIS_LINEAR, AXIS_LOG, AXIS_NINES /* of a quantile: 0.9 -> 1, 0.99 -> 2 */ };

struct axis {
	enum axis_kind kind;
	double lo, hi;	   /* of the data; svg_axis_fit() makes them round */
	double from, to;   /* pixels */
	struct scale unit; /* of the tick labels */
	const char *title;
};

struct svg {
	struct strbuf *out;
	bool dark;
	struct axis x, y;
};

#define SVG_WIDTH  760
#define SVG_HEIGHT 400

void svg_begin(struct svg *s, struct strbuf *out, bool dark, const char *title);
/* Rounds the ranges, draws both axes with ticks, grid and titles. Call once data ranges are in. */
void svg_axes(struct svg *s);
void svg_legend(struct svg *s, const char *a, const char *b);
void svg_end(struct svg *s);

void axis_include(struct axis *a, double v); /* NAN and, on a log axis, <= 0 are ignored */
double axis_pixel(const struct axis *a, double v);
const char *svg_color(const struct svg *s, int side); /* 0 A, 1 B, 2 neutral */
