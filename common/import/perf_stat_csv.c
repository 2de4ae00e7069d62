/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of perf stat -x:
 *
 *   [time] [key [cpus]] value unit event [cgroup] [error%] run_ns percent [metric metric_unit]
 *
 * Which of the optional fields are there depends on options and version, so each is recognised by
 * its shape. perf writes decimal commas in some locales, with -x, too: then a value or percentage
 * takes two fields, which is certain because a unit is never a number. */
#include "common/import/perf_stat.h"

#include <ctype.h>

#define FIELDS_MAX 40

struct fields {
	struct span v[FIELDS_MAX];
	size_t len, at;
	bool decimal_comma;
};

static bool all_digits(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!isdigit((unsigned char)s.p[i]))
			return false;
	return s.len > 0;
}

static bool prefix_digits(struct span *s, char letter)
{
	if (s->len < 2 || *s->p != letter || !isdigit((unsigned char)s->p[1]))
		return false;
	do {
		s->p++;
		s->len--;
	} while (s->len && isdigit((unsigned char)*s->p));
	return true;
}

const char *perf_key_label(struct span s, bool *ret_has_cpus)
{
	struct span rest = s;
	const char *dash;

	*ret_has_cpus = false;
	if (span_skip(&rest, "CPU") && all_digits(rest))
		return "cpu";
	rest = s;
	if (prefix_digits(&rest, 'S')) {
		bool core = false, die = false;

		*ret_has_cpus = true;
		while (rest.len && span_skip(&rest, "-")) {
			if (prefix_digits(&rest, 'D'))
				die = true;
			else if (prefix_digits(&rest, 'C'))
				core = true;
			else if (!prefix_digits(&rest, 'L') && !span_skip(&rest, "ID") &&
				 !all_digits(rest))
				return NULL;
		}
		if (!rest.len)
			return core ? "core" : die ? "die" : "socket";
	}
	rest = s;
	if (prefix_digits(&rest, 'N') && !rest.len) {
		*ret_has_cpus = true;
		return "node";
	}
	*ret_has_cpus = false;
	/* The command may hold dashes of its own. */
	dash = s.len ? memrchr(s.p, '-', s.len) : NULL;
	if (dash && dash > s.p && *s.p != '<' && all_digits(span_from(s, dash + 1)))
		return "thread";
	return NULL;
}

/* A number, with a decimal comma made a point. */
static bool field_number(struct fields *f, struct span s, double *ret)
{
	char buf[40];
	char *comma;

	if (!s.len || s.len >= sizeof(buf))
		return false;
	memcpy(buf, s.p, s.len);
	buf[s.len] = '\0';
	comma = strchr(buf, ',');
	if (comma) {
		*comma = '.';
		f->decimal_comma = true;
	}
	return span_double((struct span){buf, s.len}, ret);
}

/* Joins "0" "93" into 0.93. */
static bool joined_number(struct fields *f, size_t at, double *ret)
{
	struct span both = {f->v[at].p, (size_t)(f->v[at + 1].p + f->v[at + 1].len - f->v[at].p)};

	return field_number(f, both, ret);
}

static bool is_time(struct span s, double *ret)
{
	return span_decimals(s) == 9 && span_double(s, ret);
}

static void take_time(struct fields *f, struct perf_row *r)
{
	if (is_time(f->v[0], &r->time_s)) {
		r->has_time = true;
		f->at++;
	} else if (span_is(f->v[0], "summary")) {
		r->is_summary = true;
		f->at++;
	}
}

static void take_key(struct fields *f, struct perf_row *r)
{
	bool has_cpus;

	r->key_label = perf_key_label(f->v[f->at], &has_cpus);
	if (!r->key_label)
		return;
	r->key = f->v[f->at++];
	if (has_cpus && f->at < f->len && all_digits(f->v[f->at]))
		f->at++;
}

static bool take_value(struct fields *f, char sep, struct perf_row *r)
{
	struct span s = f->v[f->at];

	if (span_is(s, "<not counted>") || span_is(s, "<not supported>")) {
		r->count = span_is(s, "<not counted>") ? PERF_NOT_COUNTED : PERF_NOT_SUPPORTED;
		f->at++;
		return true;
	}
	if (sep == ',' && all_digits(s) && f->at + 1 < f->len && all_digits(f->v[f->at + 1])) {
		f->at += 2;
		return joined_number(f, f->at - 2, &r->value);
	}
	f->at++;
	return field_number(f, s, &r->value);
}

/* Unit and event; layouts of long ago had no unit. */
static bool take_event(struct fields *f, struct perf_row *r)
{
	size_t slashes = 0, first;
	bool no_unit;

	if (f->at >= f->len)
		return false;
	no_unit = f->v[f->at].len && (f->at + 1 == f->len || all_digits(f->v[f->at + 1]));
	if (!no_unit)
		r->unit = f->v[f->at++];
	if (f->at >= f->len || !f->v[f->at].len)
		return false;
	first = f->at;
	/* cpu/event=0x3c,umask=0x1/ was split at its commas */
	do {
		for (size_t i = 0; i < f->v[f->at].len; i++)
			slashes += f->v[f->at].p[i] == '/';
		f->at++;
	} while (slashes % 2 && f->at < f->len);
	r->event = (struct span){f->v[first].p,
				 (size_t)(f->v[f->at - 1].p + f->v[f->at - 1].len - f->v[first].p)};
	return !isdigit((unsigned char)*r->event.p);
}

static bool is_percent(struct span s)
{
	return s.len > 1 && s.p[s.len - 1] == '%';
}

static void take_error(struct fields *f, struct perf_row *r)
{
	struct span s;

	if (f->at >= f->len || !is_percent(f->v[f->at]))
		return;
	s = f->v[f->at++];
	s.len--;
	r->has_error = field_number(f, s, &r->error_percent);
}

/* run_ns and percent; 100,00 may be two fields */
static void take_run(struct fields *f, char sep, struct perf_row *r)
{
	struct span s;

	if (f->at + 1 >= f->len || !all_digits(f->v[f->at]))
		return;
	s = f->v[f->at + 1];
	if (sep == ',' && all_digits(s) && f->at + 2 < f->len && f->v[f->at + 2].len == 2 &&
	    all_digits(f->v[f->at + 2]))
		r->has_run = joined_number(f, f->at + 1, &r->percent);
	else
		r->has_run = field_number(f, s, &r->percent);
	r->has_run = r->has_run && span_double(f->v[f->at], &r->run_ns) && r->percent >= 0 &&
		     r->percent <= 100.005;
	f->at += 2;
}

static char guess_separator(struct span line)
{
	static const char seps[] = ";\t|,";

	for (const char *c = seps; *c; c++) {
		size_t n = 0;

		for (size_t i = 0; i < line.len; i++)
			n += line.p[i] == *c;
		if (n >= 3)
			return *c;
	}
	return 0;
}

bool perf_csv_row(struct span line, char *sep, struct perf_row *ret, bool *ret_decimal_comma)
{
	struct fields f = {.len = 0};
	char guess = guess_separator(line);
	struct span rest = line;

	memset(ret, 0, sizeof(*ret));
	if (!guess)
		return false;
	*sep = guess;
	while (f.len < FIELDS_MAX && span_field(&rest, guess, &f.v[f.len])) {
		f.v[f.len] = span_trim(f.v[f.len]);
		f.len++;
	}
	take_time(&f, ret);
	if (f.at >= f.len)
		return false;
	take_key(&f, ret);
	if (f.at >= f.len || !take_value(&f, guess, ret) || !take_event(&f, ret))
		return false;
	if (f.at + 1 < f.len && f.v[f.at].len && !all_digits(f.v[f.at]) && !is_percent(f.v[f.at]))
		ret->cgroup = f.v[f.at++];
	take_error(&f, ret);
	take_run(&f, guess, ret);
	take_error(&f, ret); /* where perf-stat(1) says that it is */
	*ret_decimal_comma |= f.decimal_comma;
	return true;
}
