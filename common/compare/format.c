/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/format.h"

#include <math.h>
#include <stdio.h>

/* Digits after the point that leave about four significant ones. */
static int digits_for(double v)
{
	double a = fabs(v);

	if (a >= 1000 || a == 0)
		return 0;
	if (a >= 100)
		return 1;
	if (a >= 1)
		return 2;
	return a >= 0.01 ? 3 : 5;
}

static void put_plain(double v, int digits, char *buf, size_t cap)
{
	char *end;

	if (fabs(v) >= 1e7 || (v != 0 && fabs(v) < 1e-5)) {
		snprintf(buf, cap, "%.4g", v);
		return;
	}
	snprintf(buf, cap, "%.*f", digits, v);
	if (!strchr(buf, '.'))
		return;
	end = buf + strlen(buf) - 1;
	while (*end == '0')
		*end-- = '\0';
	if (*end == '.')
		*end = '\0';
}

struct scale scale_for(const char *unit, double typical)
{
	static const struct {
		const char *unit;
		double from;
		struct scale scale;
	} steps[] = {
		{"ns", 1e9, {"s", 1e9}},
		{"ns", 1e6, {"ms", 1e6}},
		{"ns", 1e3, {"us", 1e3}},
		{"ns/s", 1e9, {"s/s", 1e9}},
		{"ns/s", 1e6, {"ms/s", 1e6}},
		{"ns/s", 1e3, {"us/s", 1e3}},
		{"bytes", 1 << 30, {"GiB", 1 << 30}},
		{"bytes", 1 << 20, {"MiB", 1 << 20}},
		{"bytes", 1 << 10, {"KiB", 1 << 10}},
		{"bytes/s", 1 << 20, {"MiB/s", 1 << 20}},
		{"share", 1e-3, {"%", 0.01}},
		{"share", 0, {"ppm", 1e-6}},
		{"1/s", 1e6, {"M/s", 1e6}},
		{"1/s", 1e4, {"k/s", 1e3}},
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (!strcmp(unit, steps[i].unit) && fabs(typical) >= steps[i].from)
			return steps[i].scale;
	return (struct scale){strcmp(unit, "1") != 0 ? unit : "", 1};
}

const char *format_value(const char *unit, double v, char *buf, size_t cap)
{
	struct scale s = scale_for(unit, v);
	char number[40];

	if (isnan(v)) {
		snprintf(buf, cap, "?");
		return buf;
	}
	if (isinf(v)) {
		snprintf(buf, cap, "unbounded");
		return buf;
	}
	put_plain(v / s.divide, digits_for(v / s.divide), number, sizeof(number));
	snprintf(buf, cap, "%s%s%s", number, *s.unit ? " " : "", s.unit);
	return buf;
}

const char *format_scaled(struct scale s, double v, double typical, char *buf, size_t cap)
{
	if (!isfinite(v))
		snprintf(buf, cap, "%s", isinf(v) ? "inf" : "-");
	else if (fabs(v / s.divide) >= 1e6)
		snprintf(buf, cap, "%.1e", v / s.divide);
	else
		snprintf(buf, cap, "%.*f", digits_for(typical / s.divide), v / s.divide);
	return buf;
}

const char *format_percent(double rel, bool sign, char *buf, size_t cap)
{
	double v = rel * 100;
	int digits = fabs(v) >= 100 ? 0 : fabs(v) >= 10 ? 1 : 2;

	if (!isfinite(v))
		snprintf(buf, cap, "%s", isnan(v) ? "?" : v < 0 ? "-inf" : "inf");
	else if (fabs(v) >= 1e6)
		snprintf(buf, cap, sign ? "%+.0e %%" : "%.0e %%", v);
	else
		snprintf(buf, cap, sign ? "%+.*f %%" : "%.*f %%", digits, v);
	return buf;
}

const char *format_p(double p, char *buf, size_t cap)
{
	if (isnan(p))
		snprintf(buf, cap, "no p");
	else if (p < 1e-5)
		snprintf(buf, cap, "p < 0.00001");
	else if (p < 0.001)
		snprintf(buf, cap, "p < 0.001");
	else if (p < 0.01)
		snprintf(buf, cap, "p = %.4f", p);
	else
		snprintf(buf, cap, "p = %.2f", p);
	return buf;
}

const char *format_count(uint64_t n, char *buf, size_t cap)
{
	char plain[24];
	size_t len, out = 0;

	snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n);
	len = strlen(plain);
	for (size_t i = 0; i < len && out + 2 < cap; i++) {
		if (i && (len - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = plain[i];
	}
	buf[out] = '\0';
	return buf;
}
