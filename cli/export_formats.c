/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export_formats.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool wanted(const struct series *s, const char *metric)
{
	return !metric || !strcmp(s->metric, metric);
}

/* The shortest form that reads back as the same number. */
static const char *number(double v, char *buf, size_t cap)
{
	for (int digits = 6; digits <= 17; digits++) {
		(void)snprintf(buf, cap, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	return buf;
}

/* ---- NDJSON: run documents, one a line ---- */

int export_ndjson(const struct runs *rs, const char *metric, struct strbuf *out, struct err *reterr)
{
	(void)metric;
	for (size_t i = 0; i < rs->len; i++) {
		json_t *j = run_to_json(rs->v[i]);
		char *line = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17));

		json_decref(j);
		if (!line)
			return err_set(reterr, ERR_INVALID, "run %zu has text that is not UTF-8",
				       i + 1);
		strbuf_printf(out, "%s\n", line);
		free(line);
	}
	return 0;
}

/* ---- CSV: a row each run, a column each figure ---- */

static const struct {
	const char *name;
	double q;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

struct columns {
	char **names;
	size_t len, cap;
};

static void columns_done(struct columns *c)
{
	for (size_t i = 0; i < c->len; i++)
		free(c->names[i]);
	free(c->names);
}

static size_t column_of(const struct columns *c, const char *name)
{
	size_t i = 0;

	while (i < c->len && strcmp(c->names[i], name) != 0)
		i++;
	return i;
}

static void column_add(struct columns *c, const char *name)
{
	if (column_of(c, name) < c->len)
		return;
	GROW(c->names, c->len, c->cap);
	c->names[c->len++] = xstrdup(name);
}

/* "wakeup_latency cpu=0" */
static void put_series_name(struct strbuf *out, const struct series *s)
{
	strbuf_puts(out, s->metric);
	for (size_t i = 0; i < s->labels.len; i++)
		strbuf_printf(out, " %s=%s", s->labels.v[i].key, s->labels.v[i].value);
}

typedef void (*figure_fn)(void *ctx, const char *column, const char *text);

static void one_figure(const struct series *s, const char *what, const char *unit, const char *text,
		       figure_fn fn, void *ctx)
{
	struct strbuf name = {0};

	put_series_name(&name, s);
	if (*what)
		strbuf_printf(&name, " %s", what);
	if (strcmp(unit, "1") != 0)
		strbuf_printf(&name, " [%s]", unit);
	fn(ctx, name.data, text);
	strbuf_done(&name);
}

static void int_figure(const struct series *s, const char *what, bool has, int64_t v, figure_fn fn,
		       void *ctx)
{
	char text[32] = "";

	if (has)
		(void)snprintf(text, sizeof(text), "%" PRId64, v);
	one_figure(s, what, s->unit, text, fn, ctx);
}

static void hist_figures(const struct series *s, figure_fn fn, void *ctx)
{
	const struct hist *h = &s->hist;
	char text[32], what[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, h->count);
	one_figure(s, "samples", "1", text, fn, ctx);
	(void)snprintf(text, sizeof(text), "%" PRIu64, h->overflow);
	one_figure(s, "overflow", "1", text, fn, ctx);
	int_figure(s, "min", h->has_min, h->min, fn, ctx);
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++) {
		struct hist_quantile a = hist_quantile(h, quantiles[i].q);
		bool known = a.answer == HIST_VALUE || a.answer == HIST_AT_LEAST;

		(void)snprintf(what, sizeof(what), "%s from", quantiles[i].name);
		int_figure(s, what, known, a.lo, fn, ctx);
		(void)snprintf(what, sizeof(what), "%s to", quantiles[i].name);
		int_figure(s, what, known && a.hi != INT64_MAX, a.hi, fn, ctx);
	}
	int_figure(s, "max", h->has_max, h->max, fn, ctx);
}

static void series_figures(const struct series *s, figure_fn fn, void *ctx)
{
	char text[40];

	switch (s->kind) {
	case SERIES_HIST:
		hist_figures(s, fn, ctx);
		break;
	case SERIES_VALUE:
		one_figure(s, "", s->unit, number(s->value, text, sizeof(text)), fn, ctx);
		break;
	case SERIES_SUMMARY:
		(void)number(s->summary.avg, text, sizeof(text));
		one_figure(s, "avg", s->unit, s->summary.has_avg ? text : "", fn, ctx);
		break;
	case SERIES_ABSENT:
		one_figure(s, "", s->unit, "", fn, ctx);
		break;
	}
}

static void on_column(void *ctx, const char *column, const char *text)
{
	(void)text;
	column_add(ctx, column);
}

struct row {
	const struct columns *columns;
	char **cells;
};

static void on_cell(void *ctx, const char *column, const char *text)
{
	struct row *row = ctx;
	size_t i = column_of(row->columns, column);

	free(row->cells[i]);
	row->cells[i] = xstrdup(text);
}

/* Behind the first column of a row. */
static void put_cell(struct strbuf *out, const char *text)
{
	strbuf_putc(out, ',');
	strbuf_put_csv(out, text ? text : "");
}

static void put_row(const struct run *r, const char *metric, const struct columns *factors,
		    const struct columns *figures, struct strbuf *out)
{
	struct row row = {.columns = figures, .cells = xcalloc(figures->len + 1, sizeof(char *))};
	char text[24];

	if (r->order)
		strbuf_printf(out, "%u", r->order);
	(void)snprintf(text, sizeof(text), "%u", r->block);
	put_cell(out, r->block ? text : "");
	put_cell(out, r->host);
	put_cell(out, r->experiment);
	put_cell(out, r->excluded);
	for (size_t i = 0; i < factors->len; i++)
		put_cell(out, labels_get(&r->factors, factors->names[i]));
	for (size_t i = 0; i < r->series_len; i++)
		if (wanted(&r->series[i], metric))
			series_figures(&r->series[i], on_cell, &row);
	for (size_t i = 0; i < figures->len; i++) {
		put_cell(out, row.cells[i]);
		free(row.cells[i]);
	}
	free(row.cells);
	strbuf_putc(out, '\n');
}

static int write_csv(const struct runs *rs, const char *metric, struct strbuf *out,
		     struct err *reterr)
{
	struct columns factors = {0}, figures = {0};

	(void)reterr;
	for (size_t i = 0; i < rs->len; i++) {
		const struct run *r = rs->v[i];

		for (size_t k = 0; k < r->factors.len; k++)
			column_add(&factors, r->factors.v[k].key);
		for (size_t k = 0; k < r->series_len; k++)
			if (wanted(&r->series[k], metric))
				series_figures(&r->series[k], on_column, &figures);
	}
	strbuf_puts(out, "order,block,host,experiment,excluded");
	for (size_t i = 0; i < factors.len; i++) {
		CLEANUP(freep) char *name = xasprintf("factor:%s", factors.names[i]);

		put_cell(out, name);
	}
	for (size_t i = 0; i < figures.len; i++)
		put_cell(out, figures.names[i]);
	strbuf_putc(out, '\n');
	for (size_t i = 0; i < rs->len; i++)
		put_row(rs->v[i], metric, &factors, &figures, out);
	columns_done(&factors);
	columns_done(&figures);
	return 0;
}

/* ---- .hgrm: one distribution ---- */

/* The metric's series of every run, merged: CPUs of one run, and nothing but one run. */
static int one_hist(const struct runs *rs, const char *metric, struct hist *ret, struct err *reterr)
{
	const char *found = metric;
	size_t n = 0;
	int rc = 0;

	if (rs->len != 1)
		return err_set(reterr, ERR_INVALID,
			       "%zu runs: this format holds one distribution, so choose one run",
			       rs->len);
	for (size_t i = 0; !rc && i < rs->v[0]->series_len; i++) {
		const struct series *s = &rs->v[0]->series[i];

		if (s->kind != SERIES_HIST || !wanted(s, metric))
			continue;
		if (found && strcmp(found, s->metric) != 0)
			return err_set(
				reterr, ERR_INVALID,
				"several metrics (%.60s, %.60s ...): choose one with --metric",
				found, s->metric);
		found = s->metric;
		if (n++)
			rc = hist_merge(ret, &s->hist, reterr);
		else
			hist_copy(ret, &s->hist);
	}
	if (!rc && !n)
		return err_set(reterr, ERR_NOT_FOUND, "no distribution%s%s", metric ? " of " : "",
			       metric ? metric : "");
	return rc;
}

static int write_hgrm(const struct runs *rs, const char *metric, struct strbuf *out,
		      struct err *reterr)
{
	struct hist h = {0};
	int rc = one_hist(rs, metric, &h, reterr);

	if (!rc)
		hist_to_hgrm(&h, NS_PER_MS, out);
	hist_done(&h);
	return rc;
}

/* ---- OpenMetrics: a snapshot, times in seconds ---- */

static void put_om_name(struct strbuf *out, const struct series *s)
{
	strbuf_puts(out, "rigstat_");
	for (const char *c = s->metric; *c; c++)
		strbuf_putc(out, isalnum((unsigned char)*c) ? *c : '_');
	if (!strcmp(s->unit, "ns"))
		strbuf_puts(out, "_seconds");
}

static void put_om_label(struct strbuf *out, const char *key, const char *value)
{
	if (out->data[out->len - 1] != '{')
		strbuf_putc(out, ',');
	for (const char *c = key; *c; c++)
		strbuf_putc(out,
			    isalnum((unsigned char)*c) && (c > key || !isdigit((unsigned char)*c))
				    ? *c
				    : '_');
	strbuf_puts(out, "=\"");
	for (const char *c = value; *c; c++) {
		if (*c == '"' || *c == '\\')
			strbuf_putc(out, '\\');
		if (*c == '\n')
			strbuf_puts(out, "\\n");
		else
			strbuf_putc(out, *c);
	}
	strbuf_putc(out, '"');
}

static void put_om_labels(struct strbuf *out, const struct run *r, size_t index,
			  const struct series *s)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%zu", index + 1);
	strbuf_putc(out, '{');
	put_om_label(out, "run", r->uid[0] ? r->uid : number);
	if (r->host)
		put_om_label(out, "host", r->host);
	if (r->experiment)
		put_om_label(out, "experiment", r->experiment);
	for (size_t i = 0; i < r->factors.len; i++) {
		CLEANUP(freep) char *key = xasprintf("factor_%s", r->factors.v[i].key);

		put_om_label(out, key, r->factors.v[i].value);
	}
	for (size_t i = 0; i < s->labels.len; i++) {
		CLEANUP(freep) char *key = xasprintf("label_%s", s->labels.v[i].key);

		put_om_label(out, key, s->labels.v[i].value);
	}
}

static double om_value(const struct series *s, double v)
{
	return strcmp(s->unit, "ns") ? v : v / 1e9;
}

static void put_om_hist(struct strbuf *out, const struct run *r, size_t index,
			const struct series *s)
{
	const struct hist *h = &s->hist;
	uint64_t below = h->negative;
	char text[40];

	for (size_t i = 0; i <= h->len; i++) {
		put_om_name(out, s);
		strbuf_puts(out, "_bucket");
		put_om_labels(out, r, index, s);
		if (i < h->len) {
			below += h->b[i].n;
			/* le is inclusive; our upper edges are not. */
			strbuf_printf(
				out, ",le=\"%s\"} %" PRIu64 "\n",
				number(om_value(s, (double)(h->b[i].hi - 1)), text, sizeof(text)),
				below);
		} else {
			strbuf_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n", h->count);
		}
	}
	put_om_name(out, s);
	strbuf_puts(out, "_count");
	put_om_labels(out, r, index, s);
	strbuf_printf(out, "} %" PRIu64 "\n", h->count);
	if (!h->has_sum)
		return;
	put_om_name(out, s);
	strbuf_puts(out, "_sum");
	put_om_labels(out, r, index, s);
	strbuf_printf(out, "} %s\n", number(om_value(s, (double)h->sum), text, sizeof(text)));
}

static void put_om_series(struct strbuf *out, const struct run *r, size_t index,
			  const struct series *s)
{
	char text[40];

	if (s->kind == SERIES_HIST) {
		put_om_hist(out, r, index, s);
		return;
	}
	put_om_name(out, s);
	put_om_labels(out, r, index, s);
	strbuf_printf(out, "} %s\n", number(om_value(s, s->value), text, sizeof(text)));
}

/* Samples of one family stand together, behind its type. */
static int write_openmetrics(const struct runs *rs, const char *metric, struct strbuf *out,
			     struct err *reterr)
{
	struct columns families = {0};

	(void)reterr;
	for (size_t i = 0; i < rs->len; i++)
		for (size_t k = 0; k < rs->v[i]->series_len; k++) {
			const struct series *s = &rs->v[i]->series[k];
			struct strbuf name = {0};

			if (!wanted(s, metric) ||
			    (s->kind != SERIES_HIST && s->kind != SERIES_VALUE))
				continue;
			put_om_name(&name, s);
			strbuf_puts(&name, s->kind == SERIES_HIST ? " histogram" : " gauge");
			column_add(&families, name.data);
			strbuf_done(&name);
		}
	for (size_t f = 0; f < families.len; f++) {
		strbuf_printf(out, "# TYPE %s\n", families.names[f]);
		for (size_t i = 0; i < rs->len; i++)
			for (size_t k = 0; k < rs->v[i]->series_len; k++) {
				const struct series *s = &rs->v[i]->series[k];
				struct strbuf name = {0};

				if (!wanted(s, metric) ||
				    (s->kind != SERIES_HIST && s->kind != SERIES_VALUE))
					continue;
				put_om_name(&name, s);
				strbuf_puts(&name,
					    s->kind == SERIES_HIST ? " histogram" : " gauge");
				if (!strcmp(name.data, families.names[f]))
					put_om_series(out, rs->v[i], i, s);
				strbuf_done(&name);
			}
	}
	strbuf_puts(out, "# EOF\n");
	columns_done(&families);
	return 0;
}

const struct export_format export_formats[] = {
	{"ndjson", "run documents, one a line; rigstat import reads them", export_ndjson},
	{"csv", "a row each run, quantiles as from and to", write_csv},
	{"hgrm", "HdrHistogram percentiles of one distribution, in ms", write_hgrm},
	{"hlog", "HdrHistogram log (V2) of distributions, in ns", export_hdr_log},
	{"openmetrics", "a snapshot for Prometheus and others, in seconds", write_openmetrics},
	{0},
};
