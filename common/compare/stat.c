/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/stat.h"

#include <math.h>
#include <stdio.h>

#include "common/parse.h"

/* "47us" rather than "47.0 us": the name can be typed back. */
static void name_duration(int64_t ns, char *buf, size_t cap)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = {{NS_PER_SEC, "s"}, {NS_PER_MS, "ms"}, {NS_PER_US, "us"}, {1, "ns"}};
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(units) && (ns < units[i].ns || ns % units[i].ns))
		i++;
	snprintf(buf, cap, "%lld%s", (long long)(ns / units[i].ns), units[i].unit);
}

void stat_make_over(struct stat_def *ret, int64_t threshold, bool unit_is_ns)
{
	char text[32];

	if (unit_is_ns)
		name_duration(threshold, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%lld", (long long)threshold);
	*ret = (struct stat_def){.kind = STAT_OVER, .threshold = threshold};
	snprintf(ret->name, sizeof(ret->name), "over(%s)", text);
}

static int parse_over(const char *text, bool unit_is_ns, struct stat_def *ret, struct err *reterr)
{
	size_t len = strlen(text);
	char inner[32];
	int64_t t;
	int r;

	if (len < 7 || text[len - 1] != ')' || len - 6 >= sizeof(inner))
		return err_set(reterr, ERR_INVALID, "statistic \"%.40s\": write over(47us)", text);
	memcpy(inner, text + 5, len - 6);
	inner[len - 6] = '\0';
	r = unit_is_ns ? parse_duration(inner, &t, reterr) : parse_i64(inner, &t, reterr);
	if (r < 0)
		return err_prefix(reterr, "statistic \"%s\": ", text);
	if (t < 0)
		return err_set(reterr, ERR_INVALID, "statistic \"%s\": a threshold is not negative",
			       text);
	stat_make_over(ret, t, unit_is_ns);
	return 0;
}

int stat_parse(const char *text, bool unit_is_ns, struct stat_def *ret, struct err *reterr)
{
	static const struct {
		const char *name;
		enum stat_kind kind;
		const char *canonical;
	} words[] = {{"mean", STAT_MEAN, "mean"},
		     {"avg", STAT_MEAN, "mean"},
		     {"min", STAT_MIN, "min"},
		     {"max", STAT_MAX, "max"},
		     {"sdev", STAT_SDEV, "sdev"}};
	struct err ignored;
	double percent;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i].name) != 0)
			continue;
		*ret = (struct stat_def){.kind = words[i].kind};
		snprintf(ret->name, sizeof(ret->name), "%s", words[i].canonical);
		return 0;
	}
	if (!strncmp(text, "over(", 5))
		return parse_over(text, unit_is_ns, ret, reterr);
	if (!strcmp(text, "median"))
		text = "p50";
	if (text[0] != 'p' || strlen(text) > 12 || parse_double(text + 1, &percent, &ignored) < 0 ||
	    percent <= 0 || percent >= 100)
		return err_set(reterr, ERR_INVALID,
			       "no statistic \"%.40s\"; there are mean, min, max, sdev, p50, p99.9 "
			       "(any percentile) and over(47us)",
			       text);
	*ret = (struct stat_def){.kind = STAT_QUANTILE, .q = percent / 100};
	snprintf(ret->name, sizeof(ret->name), "p%.9g", percent);
	return 0;
}

bool stat_equal(const struct stat_def *a, const struct stat_def *b)
{
	return !strcmp(a->name, b->name);
}

/* Linear interpolation inside the bucket that holds rank q * N (the grouped quantile), so that
 * runs in the same bucket differ by their counts. Type 1 bounds stay beside it. */
static double interpolate(const struct hist *h, double q, const struct hist_quantile *at)
{
	double rank = q * (double)h->count, below = (double)h->negative;

	for (size_t i = 0; i < h->len; i++) {
		double n = (double)h->b[i].n, lo = (double)h->b[i].lo, v;

		if (below + n < rank) {
			below += n;
			continue;
		}
		if (h->b[i].hi - h->b[i].lo <= 1) /* exact values */
			return lo;
		v = lo + (rank - below) / n * ((double)h->b[i].hi - lo);
		if (h->has_max)
			v = fmin(v, (double)h->max);
		return h->has_min ? fmax(v, (double)h->min) : v;
	}
	return (double)at->lo;
}

static struct stat_value quantile_value(const struct hist *h, double q)
{
	struct hist_quantile at = hist_quantile(h, q);
	struct stat_value s = {.v = NAN, .lo = NAN, .hi = NAN};

	s.beyond = (double)h->count * (1 - q);
	if (at.answer == HIST_NOT_RESOLVABLE)
		return s;
	s.lo = (double)at.lo;
	s.hi = at.hi == INT64_MAX ? INFINITY : (double)at.hi;
	if (at.answer == HIST_VALUE) {
		s.v = interpolate(h, q, &at);
	} else if (at.answer == HIST_AT_LEAST) {
		s.v = s.lo;
		s.at_least = true;
	} else {
		s.v = s.hi;
	}
	return s;
}

static struct stat_value extreme_value(const struct hist *h, bool want_max)
{
	struct stat_value s = {.v = NAN, .lo = NAN, .hi = NAN};

	if (!h->count)
		return s;
	if (want_max ? h->has_max : h->has_min) {
		s.v = s.lo = s.hi = (double)(want_max ? h->max : h->min);
	} else if (want_max && h->overflow) {
		s.v = s.lo = (double)h->overflow_lo;
		s.hi = INFINITY;
		s.at_least = true;
	} else if (h->len) {
		const struct hist_bucket *b = &h->b[want_max ? h->len - 1 : 0];

		s.v = s.lo = (double)b->lo;
		s.hi = (double)b->hi - 1;
	}
	return s;
}

static struct stat_value over_value(const struct hist *h, int64_t threshold)
{
	struct hist_above n = hist_count_above(h, threshold);
	double all = (double)h->count;
	struct stat_value s = {.v = NAN, .lo = NAN, .hi = NAN, .beyond = (double)n.lo};

	if (!h->count)
		return s;
	s.lo = (double)n.lo / all;
	s.hi = (double)n.hi / all;
	s.v = s.lo;
	return s;
}

struct stat_value stat_of_hist(const struct stat_def *d, const struct hist *h)
{
	struct stat_value s = {.v = NAN, .lo = NAN, .hi = NAN};
	bool exact;

	switch (d->kind) {
	case STAT_QUANTILE:
		return quantile_value(h, d->q);
	case STAT_MIN:
	case STAT_MAX:
		return extreme_value(h, d->kind == STAT_MAX);
	case STAT_OVER:
		return over_value(h, d->threshold);
	case STAT_MEAN:
		s.v = s.lo = s.hi = hist_mean(h, &exact);
		return s;
	case STAT_SDEV:
		return s;
	}
	return s;
}
