/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/parse.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

int parse_i64(const char *s, int64_t *ret, struct err *reterr)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || *end || isspace((unsigned char)*s))
		return err_set(reterr, ERR_INVALID, "'%.40s' is not a whole number", s);
	if (errno == ERANGE)
		return err_set(reterr, ERR_INVALID, "'%.40s' is too large", s);
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *ret, struct err *reterr)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (end == s || *end || !isdigit((unsigned char)*s))
		return err_set(reterr, ERR_INVALID, "'%.40s' is not a whole number of 0 or more",
			       s);
	if (errno == ERANGE)
		return err_set(reterr, ERR_INVALID, "'%.40s' is too large", s);
	*ret = v;
	return 0;
}

static locale_t c_locale(void)
{
	static locale_t loc;

	if (!loc)
		loc = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	return loc;
}

int parse_double(const char *s, double *ret, struct err *reterr)
{
	char *end;
	double v;

	if (!*s || strspn(s, "+-0123456789.eE") != strlen(s))
		return err_set(reterr, ERR_INVALID, "'%.40s' is not a number", s);
	v = strtod_l(s, &end, c_locale());
	if (end == s || *end)
		return err_set(reterr, ERR_INVALID, "'%.40s' is not a number", s);
	if (!isfinite(v))
		return err_set(reterr, ERR_INVALID, "'%.40s' is too large", s);
	*ret = v;
	return 0;
}

static const struct {
	const char *unit;
	double ns;
} duration_units[] = {
	{"ns", 1},   {"us", 1e3},   {"\xc2\xb5s", 1e3}, {"ms", 1e6},	{"s", 1e9},
	{"m", 60e9}, {"min", 60e9}, {"h", 3600e9},	{"d", 86400e9},
};

static double unit_ns(const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(duration_units); i++)
		if (strlen(duration_units[i].unit) == len &&
		    !strncmp(duration_units[i].unit, s, len))
			return duration_units[i].ns;
	return 0;
}

int parse_duration(const char *s, int64_t *ret_ns, struct err *reterr)
{
	const char *p = s;
	double total = 0;

	do {
		char *end;
		double v, scale;
		size_t len = 0;

		if (!isdigit((unsigned char)*p))
			goto bad;
		v = strtod_l(p, &end, c_locale());
		while (end[len] && !isdigit((unsigned char)end[len]))
			len++;
		scale = unit_ns(end, len);
		if (scale == 0)
			goto bad;
		total += v * scale;
		p = end + len;
	} while (*p);
	if (!(total < 9.2e18))
		goto bad;
	*ret_ns = llround(total);
	return 0;
bad:
	return err_set(
		reterr, ERR_INVALID,
		"'%.40s' is not a duration; write a number with ns, us, ms, s, m or h, as 30s", s);
}

int parse_size(const char *s, uint64_t *ret_bytes, struct err *reterr)
{
	static const char units[] = "kMGT";
	unsigned long long v;
	unsigned int shift = 0;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (end == s || !isdigit((unsigned char)*s) || errno)
		goto bad;
	if (*end) {
		const char *u = strchr(units, *end == 'K' ? 'k' : *end);

		if (!u || end[1])
			goto bad;
		shift = 10 * (unsigned int)(u - units + 1);
	}
	if (v > UINT64_MAX >> shift)
		goto bad;
	*ret_bytes = v << shift;
	return 0;
bad:
	return err_set(reterr, ERR_INVALID, "'%.40s' is not a size; write a number with k, M or G",
		       s);
}

static const char *parse_cpu_number(const char *p, size_t cap, size_t *ret)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)*p))
		return NULL;
	v = strtoul(p, &end, 10);
	if (v >= cap)
		return NULL;
	*ret = v;
	return end;
}

int parse_cpu_list(const char *s, bool *ret_cpus, size_t cap, struct err *reterr)
{
	const char *p = s;

	memset(ret_cpus, 0, cap * sizeof(*ret_cpus));
	while (*p && *p != '\n') {
		size_t from, to;

		p = parse_cpu_number(p, cap, &from);
		if (!p)
			goto bad;
		to = from;
		if (*p == '-') {
			p = parse_cpu_number(p + 1, cap, &to);
			if (!p || to < from)
				goto bad;
		}
		for (size_t i = from; i <= to; i++)
			ret_cpus[i] = true;
		if (*p == ',')
			p++;
		else if (*p && *p != '\n')
			goto bad;
	}
	return 0;
bad:
	return err_set(reterr, ERR_INVALID,
		       "'%.60s' is not a CPU list; write numbers below %zu as 0-3,8", s, cap);
}

/* Length of the UTF-8 sequence at s, 0 when it is not valid (overlong, surrogate, cut). */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf && left >= 2)
		return (s[1] & 0xc0) == 0x80 ? 2 : 0;
	if ((s[0] & 0xf0) == 0xe0 && left >= 3) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4 && left >= 4) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

bool text_is_clean(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);

		if (!n || (p[i] < 0x20 && p[i] != '\t' && p[i] != '\n') || p[i] == 0x7f)
			return false;
		i += n;
	}
	return true;
}

const char *format_ns(double ns, char *buf, size_t cap)
{
	double a = fabs(ns);

	if (a < 1e3)
		(void)snprintf(buf, cap, "%.3g ns", ns);
	else if (a < 1e6)
		(void)snprintf(buf, cap, "%.3g us", ns / 1e3);
	else if (a < 1e9)
		(void)snprintf(buf, cap, "%.3g ms", ns / 1e6);
	else if (a < 120e9)
		(void)snprintf(buf, cap, "%.3g s", ns / 1e9);
	else if (a < 7200e9)
		(void)snprintf(buf, cap, "%.0f min", ns / 60e9);
	else
		(void)snprintf(buf, cap, "%.0f h %.0f min", floor(round(ns / 60e9) / 60),
			       fmod(round(ns / 60e9), 60));
	return buf;
}
