/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for people, ASCII. */
#pragma once

#include "common/base.h"

/* "41.2 us", "1.95 %", "120 1/h", "0.269 %" (share). Returns buf. */
const char *format_value(const char *unit, double v, char *buf, size_t cap);
/* "+1.95 %", "-9.9 %" from 0.0195. */
const char *format_percent(double rel, bool sign, char *buf, size_t cap);
/* "p = 0.46", "p < 0.001" */
const char *format_p(double p, char *buf, size_t cap);
/* 1,234,567 */
const char *format_count(uint64_t n, char *buf, size_t cap);

/* One unit for a whole table: ns -> "usec" with 1000, "%" -> "%" with 1. */
struct scale {
	const char *unit;
	double divide;
};
struct scale scale_for(const char *unit, double typical);
/* Three significant digits or so, no exponent below 1e6. */
const char *format_scaled(struct scale s, double v, double typical, char *buf, size_t cap);
