/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/date.h"

#include <time.h>

static bool month_of(struct span s, int *ret)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12 && s.len == 3; i++) {
		if (memcmp(names + (size_t)i * 3, s.p, 3))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

/* "17:42:50" */
static bool clock_of(struct span s, struct tm *ret)
{
	struct span part;
	int64_t v[3];

	for (int i = 0; i < 3; i++)
		if (!span_field(&s, ':', &part) || !span_i64(part, &v[i]) || v[i] < 0 || v[i] > 60)
			return false;
	ret->tm_hour = (int)v[0];
	ret->tm_min = (int)v[1];
	ret->tm_sec = (int)v[2];
	return v[0] < 24;
}

/* "+0130" to seconds */
static bool zone_of(struct span s, int64_t *ret)
{
	int64_t v;

	if (s.len != 5 || !span_i64(s, &v) || v < -1400 || v > 1400)
		return false;
	*ret = (v / 100) * 3600 + (v % 100) * 60;
	return true;
}

static bool date_of(struct span day, struct span month, struct span year, struct tm *ret)
{
	int64_t d, y;

	if (!span_i64(day, &d) || !month_of(month, &ret->tm_mon) || !span_i64(year, &y) || d < 1 ||
	    d > 31 || y < 1970 || y > 2200)
		return false;
	ret->tm_mday = (int)d;
	ret->tm_year = (int)y - 1900;
	return true;
}

bool date_rfc2822(struct span s, int64_t *ret_ns)
{
	struct span weekday, day, month, year, clock, zone;
	struct tm tm = {0};
	int64_t offset;

	if (!span_word(&s, &weekday) || !span_word(&s, &day) || !span_word(&s, &month) ||
	    !span_word(&s, &year) || !span_word(&s, &clock) || !span_word(&s, &zone) ||
	    !date_of(day, month, year, &tm) || !clock_of(clock, &tm) || !zone_of(zone, &offset))
		return false;
	*ret_ns = ((int64_t)timegm(&tm) - offset) * NS_PER_SEC;
	return true;
}

bool date_ctime(struct span s, int64_t *ret_ns)
{
	struct span weekday, day, month, year, clock;
	struct tm tm = {0};

	if (!span_word(&s, &weekday) || !span_word(&s, &month) || !span_word(&s, &day) ||
	    !span_word(&s, &clock) || !span_word(&s, &year) || !date_of(day, month, year, &tm) ||
	    !clock_of(clock, &tm))
		return false;
	*ret_ns = (int64_t)timegm(&tm) * NS_PER_SEC;
	return true;
}
