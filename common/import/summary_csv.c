/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Published summaries: rows of n, min, avg, max and sdev over runs whose values are not known.
 *
 * One run for each (experiment, factor, level), with one SERIES_SUMMARY for each metric. What the
 * five numbers say about each other is checked: a typo in a published table is an error that
 * names the line, never a quiet input of a verdict. */
#include "common/import/csv_table.h"
#include "common/import/formats.h"
#include "common/parse.h"

#include <math.h>
#include <stdio.h>

#define LEVELS_MAX 2000

enum column {
	C_N,
	C_MIN,
	C_AVG,
	C_MAX,
	C_SDEV,
	C_RANGE,
	C_METRIC,
	C_UNIT,
	C_FACTOR,
	C_LEVEL,
	C_EXPERIMENT,
	C_HOST,
	COLUMNS
};

static const char *const column_names[COLUMNS][5] = {
	[C_N] = {"runs", "n", "count"},
	[C_MIN] = {"min", "minimum"},
	[C_AVG] = {"avg", "mean", "average"},
	[C_MAX] = {"max", "maximum"},
	[C_SDEV] = {"sdev", "stddev", "sd", "std"},
	[C_RANGE] = {"range"},
	[C_METRIC] = {"metric"},
	[C_UNIT] = {"unit"},
	[C_FACTOR] = {"factor"},
	[C_LEVEL] = {"level"},
	[C_EXPERIMENT] = {"experiment"},
	[C_HOST] = {"host"},
};

struct summary_file {
	struct csv_table t;
	int column[COLUMNS];
};

static void find_columns(struct summary_file *f)
{
	for (int c = 0; c < COLUMNS; c++) {
		f->column[c] = -1;
		for (size_t i = 0; column_names[c][i] && f->column[c] < 0; i++)
			f->column[c] = csv_column(&f->t, column_names[c][i]);
	}
}

static bool has_needed(const struct summary_file *f)
{
	return f->column[C_AVG] >= 0 && f->column[C_SDEV] >= 0 && f->column[C_N] >= 0;
}

static const char *cell(const struct summary_file *f, enum column c)
{
	return f->column[c] < 0 ? "" : f->t.cells[f->column[c]];
}

/* *ret_has = false for an empty cell; *ret_half = half a unit of the last digit. */
static int number(const struct summary_file *f, enum column c, double *ret, bool *ret_has,
		  double *ret_half, struct err *reterr)
{
	const char *text = cell(f, c);
	struct err err;

	*ret_has = *text != '\0';
	if (!*ret_has)
		return 0;
	if (parse_double(text, ret, &err))
		return scan_error(&f->t.scan, NULL, reterr, "column %s: %s", column_names[c][0],
				  err.text);
	*ret_half = fmax(*ret_half,
			 0.5 * pow(10, -(double)span_decimals((struct span){text, strlen(text)})));
	return 0;
}

/* What must hold among n, min, avg, max, sdev and range, within the rounding of the digits. */
static int check_summary(const struct summary_file *f, const struct summary *s, double range,
			 bool has_range, double half, struct err *reterr)
{
	const struct scan *scan = &f->t.scan;
	double width = s->max - s->min, least, most;

	if (!s->has_min || !s->has_max)
		return 0;
	if (s->min > s->max)
		return scan_error(scan, NULL, reterr, "min %g is above max %g", s->min, s->max);
	if (s->avg < s->min - 2 * half || s->avg > s->max + 2 * half)
		return scan_error(scan, NULL, reterr, "avg %g is not between min %g and max %g",
				  s->avg, s->min, s->max);
	if (has_range && fabs(range - width) > 3 * half * 1.0001)
		return scan_error(scan, NULL, reterr, "range is %g, but max - min is %g", range,
				  width);
	if (!s->has_sdev || s->n < 2)
		return 0;
	/* Least: two values at the ends, the rest between them; most: half at each end. The bounds
	 * allow a divisor of n or of n - 1. */
	least = (width - 2 * half) / sqrt(2.0 * (double)s->n);
	most = (width + 2 * half) / 2 * sqrt((double)s->n / ((double)s->n - 1));
	if (s->sdev < least - half || s->sdev > most + half)
		return scan_error(scan, NULL, reterr,
				  "sdev %g cannot be: %.17g values between %g and %g have one from "
				  "%.3g to %.3g",
				  s->sdev, (double)s->n, s->min, s->max, fmax(0, least), most);
	return 0;
}

static int read_summary(const struct summary_file *f, struct summary *ret, struct err *reterr)
{
	struct summary s = {0};
	double half = 0, n_half = 0, n = 0, range = 0;
	bool has_n, has_range;
	int rc = number(f, C_N, &n, &has_n, &n_half, reterr);

	if (!rc && (!has_n || n < 1 || n > 1e9 || n != floor(n)))
		return scan_error(&f->t.scan, NULL, reterr,
				  "the number of runs must be a whole number of 1 or more");
	s.n = (uint64_t)n;
	rc = rc ? rc : number(f, C_MIN, &s.min, &s.has_min, &half, reterr);
	rc = rc ? rc : number(f, C_AVG, &s.avg, &s.has_avg, &half, reterr);
	rc = rc ? rc : number(f, C_MAX, &s.max, &s.has_max, &half, reterr);
	rc = rc ? rc : number(f, C_SDEV, &s.sdev, &s.has_sdev, &half, reterr);
	rc = rc ? rc : number(f, C_RANGE, &range, &has_range, &half, reterr);
	if (rc)
		return rc;
	if (!s.has_avg)
		return scan_error(&f->t.scan, NULL, reterr, "no average");
	if (s.has_sdev && s.sdev < 0)
		return scan_error(&f->t.scan, NULL, reterr, "sdev %g is negative", s.sdev);
	*ret = s;
	return check_summary(f, &s, range, has_range, half, reterr);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

/* The run of this row's level, made when it is new. */
static struct run *run_of_row(const struct summary_file *f, const struct import_options *o,
			      struct runs *rs)
{
	const char *factor = *cell(f, C_FACTOR) ? cell(f, C_FACTOR) : "level";
	const char *level = *cell(f, C_LEVEL) ? cell(f, C_LEVEL) : NULL;
	const char *experiment = *cell(f, C_EXPERIMENT) ? cell(f, C_EXPERIMENT) : NULL;
	const char *host = *cell(f, C_HOST) ? cell(f, C_HOST) : NULL;
	struct run *r;

	if (o && o->experiment)
		experiment = o->experiment;
	if (o && o->host)
		host = o->host;
	for (size_t i = 0; i < rs->len; i++)
		if (same_text(labels_get(&rs->v[i]->factors, factor), level) &&
		    same_text(rs->v[i]->experiment, experiment) && same_text(rs->v[i]->host, host))
			return rs->v[i];
	r = import_run(rs, o);
	if (!r->experiment && experiment)
		r->experiment = xstrdup(experiment);
	if (!r->host && host)
		r->host = xstrdup(host);
	labels_set(&r->factors, factor, level);
	return r;
}

static int add_row(const struct summary_file *f, const struct import_options *o, struct runs *rs,
		   struct err *reterr)
{
	const char *metric = *cell(f, C_METRIC) ? cell(f, C_METRIC) : "value";
	struct summary summary;
	struct run *r;
	int rc = read_summary(f, &summary, reterr);

	if (rc)
		return rc;
	r = run_of_row(f, o, rs);
	for (size_t i = 0; i < r->series_len; i++)
		if (!strcmp(r->series[i].metric, metric))
			return scan_error(&f->t.scan, NULL, reterr,
					  "a second row for metric %s at the same level", metric);
	run_add_series(r, metric, SERIES_SUMMARY, *cell(f, C_UNIT) ? cell(f, C_UNIT) : "1")
		->summary = summary;
	return 0;
}

static int summary_csv_read(const char *data, size_t len, const struct import_options *o,
			    struct runs *ret, struct err *reterr)
{
	struct summary_file f;
	int rc = csv_open(&f.t, data, len, o, reterr);

	find_columns(&f);
	if (!rc && !has_needed(&f))
		rc = scan_error(
			&f.t.scan, NULL, reterr,
			"averages without the number of runs behind them: the header needs columns "
			"runs, avg and sdev (hyperfine: use --export-json)");
	while (!rc && (rc = csv_row(&f.t, reterr)) == 1) {
		rc = add_row(&f, o, ret, reterr);
		if (!rc && ret->len > LEVELS_MAX)
			rc = scan_error(&f.t.scan, NULL, reterr, "more than %d levels", LEVELS_MAX);
	}
	for (size_t i = 0; !rc && i < ret->len; i++)
		run_note(ret->v[i], "summary-only",
			 "only summaries over runs are known, not the runs themselves: no "
			 "quantiles, "
			 "and no test that needs each run's value");
	csv_done(&f.t);
	return rc;
}

static int summary_csv_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);
	struct summary_file f;
	struct err err;
	int sure = 0;

	if (csv_open(&f.t, head.p, head.len, NULL, &err) == 0) {
		find_columns(&f);
		if (has_needed(&f))
			sure = f.column[C_MIN] >= 0 && f.column[C_MAX] >= 0 ? 90 : 70;
		else if (f.column[C_AVG] >= 0 && f.column[C_SDEV] >= 0)
			sure = 60; /* summaries, too: read for the sake of the message */
	}
	csv_done(&f.t);
	return sure;
}

const struct import_format import_summary_csv = {
	.name = "summary-csv",
	.title = "table of summaries over runs (n, min, avg, max, sdev)",
	.sniff = summary_csv_sniff,
	.read = summary_csv_read,
};
