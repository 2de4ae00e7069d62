/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the printed figures of a report agree with each other? Rule: recompute every figure from the
 * others by interval arithmetic, each printed decimal being half a unit of its last digit wide, and
 * flag what cannot be rounded to what is printed. */
#pragma once

#include "common/err.h"

/* A printed decimal: its text decides the width of its interval. */
struct published_number {
	double value, half; /* half a unit of the last printed digit */
	char text[32];	    /* as printed; "" = absent */
};
/* Accepts [+-]digits[.digits][e[+-]digits][%]; no locale, no hex. */
int published_number(const char *text, struct published_number *ret, struct err *reterr) MUSTCHECK;

/* One row of a min/avg/max/sdev/range table; absent fields have text "". n 0 = unknown. */
struct published_row {
	const char *label;
	double n;
	struct published_number min, avg, max, sdev, range;
};
/* A claim in prose: "70.123 to 71.520, +1.99 %". from/to may be absent; base and other may be NULL.
 */
struct published_claim {
	const char *label;
	struct published_number from, to, pct;
	const struct published_row *base, *other; /* the rows that it speaks of */
};

enum published_code {
	PUBLISHED_ORDER,	/* not min <= avg <= max */
	PUBLISHED_RANGE,	/* range is not max - min */
	PUBLISHED_SDEV,		/* sdev impossible for this range and n */
	PUBLISHED_QUOTE,	/* prose value is not the table's average */
	PUBLISHED_TRANSPOSED,	/* ... and has the same digits in another order */
	PUBLISHED_PERCENT,	/* percent does not follow from the averages */
	PUBLISHED_PERCENT_PROSE /* percent follows from the prose value only */
};
const char *published_code_name(enum published_code c);
struct published_finding {
	enum published_code code;
	double got, lo, hi; /* printed value; what it must lie in */
	char text[300];	    /* a sentence with the numbers */
};
/* Findings go to ret[0..max); returns how many there are in *ret_n (<= max). No finding means that
 * the figures can all be true at once, not that they are. */
int published_check_row(const struct published_row *row, struct published_finding *ret, size_t max,
			size_t *ret_n, struct err *reterr) MUSTCHECK;
int published_check_claim(const struct published_claim *claim, struct published_finding *ret,
			  size_t max, size_t *ret_n, struct err *reterr) MUSTCHECK;
/* Does the percentage of the two values as printed (taken as exact) round to `pct`? Stricter than a
 * finding, which grants both averages their own rounding. */
bool published_percent_rounds(const struct published_number *from,
			      const struct published_number *to,
			      const struct published_number *pct);
/* Interval of 100 * (to / from - 1) over all values that print as given. */
void published_percent_range(const struct published_number *from, const struct published_number *to,
			     double *ret_lo, double *ret_hi);
