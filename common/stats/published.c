/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stats/published.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "common/parse.h"

/* Decimal fractions are not exact in binary: bounds get this share of a half unit as slack. */
#define SLACK 1e-6

const char *published_code_name(enum published_code c)
{
	static const char *const names[] = {
		[PUBLISHED_ORDER] = "order",
		[PUBLISHED_RANGE] = "range",
		[PUBLISHED_SDEV] = "sdev",
		[PUBLISHED_QUOTE] = "quote",
		[PUBLISHED_TRANSPOSED] = "transposed",
		[PUBLISHED_PERCENT] = "percent",
		[PUBLISHED_PERCENT_PROSE] = "percent_prose",
	};

	return (unsigned int)c < ARRAY_LEN(names) ? names[c] : "unknown";
}

/* Digits behind the point, less the exponent: the place of the last digit is 10^-result. */
static int last_place(const char *s)
{
	const char *point = strchr(s, '.');
	size_t mantissa = strcspn(s, "eE");
	int places = 0;

	if (point)
		places = (int)(s + mantissa - point - 1);
	if (s[mantissa])
		places -= atoi(s + mantissa + 1);
	return places;
}

int published_number(const char *text, struct published_number *ret, struct err *reterr)
{
	struct published_number n = {0};
	size_t len = strlen(text);
	int r;

	if (len && text[len - 1] == '%')
		len--;
	while (len && text[len - 1] == ' ')
		len--;
	if (len > 1 && *text == '+' && (isdigit((unsigned char)text[1]) || text[1] == '.')) {
		text++;
		len--;
	}
	if (*text == '+') /* "++1", "+-1" */
		len = 0;
	if (len == 0 || len >= sizeof(n.text))
		return err_set(
			reterr, ERR_INVALID,
			"\"%.40s\" is not a printed number: give it as it stands there, such "
			"as 70.231",
			text);
	memcpy(n.text, text, len);
	r = parse_double(n.text, &n.value, reterr);
	if (r < 0)
		return r;
	n.half = 0.5 * pow(10, -last_place(n.text));
	*ret = n;
	return 0;
}

static bool present(const struct published_number *n)
{
	return n->text[0] != '\0';
}

static double low(const struct published_number *n)
{
	return n->value - n->half;
}

static double high(const struct published_number *n)
{
	return n->value + n->half;
}

/* Can the printed number stand for something in [lo, hi]? */
static bool meets(const struct published_number *n, double lo, double hi)
{
	double slack = SLACK * n->half;

	return high(n) + slack >= lo && low(n) - slack <= hi;
}

/* Where findings go; one that does not fit is dropped, the count says how many are there. */
struct findings {
	struct published_finding *v;
	size_t max, n;
};

static struct published_finding *add(struct findings *f, enum published_code code, double got,
				     double lo, double hi)
{
	static const struct published_finding none;
	struct published_finding *p;

	if (f->n == f->max)
		return NULL;
	p = &f->v[f->n++];
	*p = none;
	p->code = code;
	p->got = got;
	p->lo = lo;
	p->hi = hi;
	return p;
}

#define SAY(f, code, got, lo, hi, ...)                                                             \
	do {                                                                                       \
		struct published_finding *say_p = add((f), (code), (got), (lo), (hi));             \
                                                                                                   \
		if (say_p)                                                                         \
			(void)snprintf(say_p->text, sizeof(say_p->text), __VA_ARGS__);             \
	} while (0)

static void check_order(const struct published_row *row, struct findings *f)
{
	const struct published_number *v[3] = {&row->min, &row->avg, &row->max};
	static const char *const name[3] = {"min", "avg", "max"};

	for (size_t i = 0; i < 3; i++)
		for (size_t j = i + 1; j < 3; j++)
			if (present(v[i]) && present(v[j]) &&
			    low(v[i]) > high(v[j]) + SLACK * v[j]->half)
				SAY(f, PUBLISHED_ORDER, v[i]->value, -INFINITY, high(v[j]),
				    "%s: %s %s is above %s %s", row->label, name[i], v[i]->text,
				    name[j], v[j]->text);
}

static void check_range(const struct published_row *row, struct findings *f)
{
	double lo, hi;

	if (!present(&row->range) || !present(&row->min) || !present(&row->max))
		return;
	lo = fmax(0, low(&row->max) - high(&row->min));
	hi = high(&row->max) - low(&row->min);
	if (!meets(&row->range, lo, hi))
		SAY(f, PUBLISHED_RANGE, row->range.value, lo, hi,
		    "%s: range %s is not max - min = %s - %s = %g", row->label, row->range.text,
		    row->max.text, row->min.text, row->max.value - row->min.value);
}

/* Bounds of a standard deviation. Above: divisor n - 1 and half of the values at each end (range /
 * 2
 * * sqrt(n / (n - 1))), or with the mean known Bhatia & Davis (2000): (max - avg)(avg - min).
 * Below: one value at each end, the others where they balance the mean; divisor n, as some tools
 * print. */
static void sdev_bounds(const struct published_row *row, double *ret_lo, double *ret_hi)
{
	double n = row->n >= 2 ? row->n : 2;
	double width_lo = fmax(0, low(&row->max) - high(&row->min));
	double width_hi = high(&row->max) - low(&row->min);

	*ret_hi = width_hi / 2 * sqrt(n / (n - 1));
	*ret_lo = row->n >= 2 ? width_lo / sqrt(2 * n) : 0;
	if (present(&row->avg)) {
		double up = high(&row->max) - low(&row->avg);
		double down = high(&row->avg) - low(&row->min);

		if (up >= 0 && down >= 0)
			*ret_hi = fmin(*ret_hi, sqrt(n / (n - 1) * up * down));
	}
}

static void check_sdev(const struct published_row *row, struct findings *f)
{
	double lo, hi;

	if (!present(&row->sdev) || !present(&row->min) || !present(&row->max))
		return;
	sdev_bounds(row, &lo, &hi);
	if (!meets(&row->sdev, lo, hi))
		SAY(f, PUBLISHED_SDEV, row->sdev.value, lo, hi,
		    "%s: sdev %s is impossible for values from %s to %s: it lies in %.3g .. %.3g",
		    row->label, row->sdev.text, row->min.text, row->max.text, lo, hi);
}

int published_check_row(const struct published_row *row, struct published_finding *ret, size_t max,
			size_t *ret_n, struct err *reterr)
{
	struct findings f = {ret, max, 0};

	if (!(isfinite(row->n) && row->n >= 0))
		return err_set(reterr, ERR_INVALID, "%s: %g runs is not a count", row->label,
			       row->n);
	check_order(row, &f);
	check_range(row, &f);
	check_sdev(row, &f);
	*ret_n = f.n;
	return 0;
}

/* Percent of to over from with both ends of both intervals; monotone in each. */
void published_percent_range(const struct published_number *from, const struct published_number *to,
			     double *ret_lo, double *ret_hi)
{
	double lo = INFINITY, hi = -INFINITY;

	if (low(from) <= 0 && high(from) >= 0) { /* the base may be 0 */
		*ret_lo = -INFINITY;
		*ret_hi = INFINITY;
		return;
	}
	for (int i = 0; i < 4; i++) {
		double base = i & 1 ? low(from) : high(from);
		double value = i & 2 ? low(to) : high(to);
		double pct = 100 * (value - base) / fabs(base);

		lo = fmin(lo, pct);
		hi = fmax(hi, pct);
	}
	*ret_lo = lo;
	*ret_hi = hi;
}

bool published_percent_rounds(const struct published_number *from,
			      const struct published_number *to, const struct published_number *pct)
{
	double value = 100 * (to->value - from->value) / fabs(from->value);

	return from->value != 0 && meets(pct, value, value);
}

static bool same_digits(const char *a, const char *b)
{
	int count[10] = {0};

	for (; *a; a++)
		if (isdigit((unsigned char)*a))
			count[*a - '0']++;
	for (; *b; b++)
		if (isdigit((unsigned char)*b))
			count[*b - '0']--;
	for (int i = 0; i < 10; i++)
		if (count[i] != 0)
			return false;
	return true;
}

/* A value quoted in prose against the average of the row that it speaks of. */
static void check_quote(const char *label, const struct published_number *quoted,
			const struct published_row *row, struct findings *f)
{
	const struct published_number *avg;
	double diff, half;

	if (!row || !present(quoted) || !present(&row->avg))
		return;
	avg = &row->avg;
	if (meets(quoted, low(avg), high(avg)))
		return;
	diff = quoted->value - avg->value;
	half = fmax(quoted->half, avg->half);
	SAY(f, PUBLISHED_QUOTE, quoted->value, low(avg), high(avg),
	    "%s: the text says %s, the table's average is %s: they differ by %.3g (%.3f %%), which "
	    "is not rounding (half a unit of the last digit is %.3g)",
	    label, quoted->text, avg->text, fabs(diff), fabs(100 * diff / avg->value), half);
	if (strcmp(quoted->text, avg->text) != 0 && same_digits(quoted->text, avg->text))
		SAY(f, PUBLISHED_TRANSPOSED, quoted->value, low(avg), high(avg),
		    "%s: %s and %s have the same digits: probably transposed", label, quoted->text,
		    avg->text);
}

static const struct published_number *avg_of(const struct published_row *row,
					     const struct published_number *other)
{
	return row && present(&row->avg) ? &row->avg : other;
}

static void check_percent(const struct published_claim *c, struct findings *f)
{
	const struct published_number *base = avg_of(c->base, &c->from);
	const struct published_number *to = avg_of(c->other, &c->to);
	double lo, hi, prose_lo, prose_hi, pct;

	if (!present(&c->pct) || !present(base) || !present(to))
		return;
	published_percent_range(base, to, &lo, &hi);
	if (meets(&c->pct, lo, hi))
		return;
	pct = 100 * (to->value - base->value) / fabs(base->value);
	if (present(&c->from) && base != &c->from) {
		const struct published_number *prose_to = present(&c->to) ? &c->to : to;

		published_percent_range(&c->from, prose_to, &prose_lo, &prose_hi);
		if (meets(&c->pct, prose_lo, prose_hi)) {
			SAY(f, PUBLISHED_PERCENT_PROSE, c->pct.value, lo, hi,
			    "%s: %s %% follows only from %s in the text; from the table's %s and "
			    "%s it is %.2f %%",
			    c->label, c->pct.text, c->from.text, base->text, to->text, pct);
			return;
		}
	}
	SAY(f, PUBLISHED_PERCENT, c->pct.value, lo, hi,
	    "%s: %s %% does not follow from %s and %s: that is %.2f %% (%.3f .. %.3f with "
	    "rounding)",
	    c->label, c->pct.text, base->text, to->text, pct, lo, hi);
}

int published_check_claim(const struct published_claim *claim, struct published_finding *ret,
			  size_t max, size_t *ret_n, struct err *reterr)
{
	struct findings f = {ret, max, 0};

	if (!claim->label)
		return err_set(reterr, ERR_INVALID, "a claim needs a label that names its place");
	check_quote(claim->label, &claim->from, claim->base, &f);
	check_quote(claim->label, &claim->to, claim->other, &f);
	check_percent(claim, &f);
	*ret_n = f.n;
	return 0;
}
