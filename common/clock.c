/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

static int64_t shift_monotonic, shift_realtime;

static int64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
	return now_ns(CLOCK_MONOTONIC) + shift_monotonic;
}

int64_t clock_boottime_ns(void)
{
	return now_ns(CLOCK_BOOTTIME) + shift_monotonic;
}

int64_t clock_realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME) + shift_realtime;
}

void clock_test_shift(int64_t monotonic_ns, int64_t realtime_ns)
{
	shift_monotonic = monotonic_ns;
	shift_realtime = realtime_ns;
}

const char *clock_rfc3339(int64_t realtime_ns, char *buf, size_t cap)
{
	int64_t sec = realtime_ns / NS_PER_SEC, ns = realtime_ns % NS_PER_SEC;
	time_t t;
	struct tm tm;
	size_t len;

	if (ns < 0) {
		ns += NS_PER_SEC;
		sec--;
	}
	t = (time_t)sec;
	gmtime_r(&t, &tm);
	len = strftime(buf, cap, "%Y-%m-%dT%H:%M:%S", &tm);
	if (ns)
		(void)snprintf(buf + len, cap - len, ".%09lldZ", (long long)ns);
	else
		(void)snprintf(buf + len, cap - len, "Z");
	return buf;
}

static bool parse_offset(const char *s, int64_t *ret_sec)
{
	int h, m, n = 0;

	if (!strcmp(s, "Z") || !strcmp(s, "z")) {
		*ret_sec = 0;
		return true;
	}
	if ((*s != '+' && *s != '-') || sscanf(s + 1, "%2d:%2d%n", &h, &m, &n) != 2 || s[1 + n])
		return false;
	*ret_sec = (*s == '-' ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

/* False outside 1678 to 2261: whole years that int64 ns hold, with a day to spare for callers that
 * make a date into its whole day. */
static bool realtime_of(const struct tm *tm, int64_t offset_sec, int64_t ns, int64_t *ret)
{
	struct tm utc = *tm;

	if (tm->tm_year < 1678 - 1900 || tm->tm_year > 2261 - 1900)
		return false;
	*ret = ((int64_t)timegm(&utc) - offset_sec) * NS_PER_SEC + ns;
	return true;
}

bool clock_parse_rfc3339(const char *s, int64_t *ret_realtime_ns)
{
	struct tm tm = {0};
	int64_t ns = 0, scale = NS_PER_SEC / 10, offset;
	int n = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &n) != 3 || n != 10)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31)
		return false;
	s += n;
	if (!*s)
		return realtime_of(&tm, 0, 0, ret_realtime_ns);
	n = 0;
	if ((*s != 'T' && *s != ' ') ||
	    sscanf(s + 1, "%2d:%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 3 || n != 8)
		return false;
	if (tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	s += 1 + n;
	if (*s == '.')
		for (s++; isdigit((unsigned char)*s); s++, scale /= 10)
			ns += (*s - '0') * scale;
	if (!parse_offset(s, &offset))
		return false;
	return realtime_of(&tm, offset, ns, ret_realtime_ns);
}
