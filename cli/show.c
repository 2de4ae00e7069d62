/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat show: what a file says, and what was inferred from it. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli/import_args.h"
#include "cli/input.h"
#include "cli/sides.h"
#include "cli/verbs.h"
#include "common/model/profile.h"
#include "common/parse.h"

#define EXIT_UNREADABLE 1
#define NAMES_SHOWN	3 /* of a profile's kind */

const char verb_show_help[] =
	"  rigstat show histogram.txt\n"
	"  rigstat show --json results.json | jq .runs[0].series\n"
	"\n"
	"usage: rigstat show [OPTIONS] FILE...   (- is standard input)\n"
	"\n"
	"Reads the files of cyclictest, oslat, fio, perf stat and about thirty other formats and\n"
	"says what is in them: quantiles as intervals, overflows, and what the file does not say\n"
	"and was inferred. Files may be gzipped.\n"
	"\n"
	"  --json             one JSON document; times in ns\n"
	"  --formats          list the formats that can be read\n" IMPORT_ARG_HELP "\n"
	"Exit status: 0 read, 1 a file cannot be read (the message says where and why), 3 usage.\n";

static const struct {
	const char *name;
	double q;
} quantiles[] = {
	{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999},
};

static const char *const schemes[] = {"log128", "linear", "edges"};
static const char *const states[] = {"exact", "estimated", "doubtful"};

/* ---- JSON ---- */

static void set_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, text ? json_string(text) : json_null());
}

static json_t *labels_json(const struct labels *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->len; i++)
		set_text(o, l->v[i].key, l->v[i].value);
	return o;
}

static json_t *bound_json(int64_t v)
{
	return v == INT64_MAX || v == INT64_MIN ? json_null() : json_integer(v);
}

static json_t *quantile_json(const struct hist *h, double q)
{
	static const char *const answers[] = {"value", "at_least", "negative", "not_resolvable"};
	struct hist_quantile a = hist_quantile(h, q);
	json_t *o = json_object();

	set_text(o, "answer", answers[a.answer]);
	if (a.answer != HIST_NOT_RESOLVABLE) {
		json_object_set_new(o, "lo", bound_json(a.lo));
		json_object_set_new(o, "hi", bound_json(a.hi));
		json_object_set_new(o, "rank", json_integer((json_int_t)a.rank));
	}
	return o;
}

static void hist_json(json_t *o, const struct hist *h)
{
	json_t *all = json_object();
	bool exact;
	double mean = hist_mean(h, &exact);

	set_text(o, "scheme", schemes[h->scheme]);
	json_object_set_new(o, "count", json_integer((json_int_t)h->count));
	json_object_set_new(o, "overflow", json_integer((json_int_t)h->overflow));
	json_object_set_new(o, "overflow_lo",
			    h->overflow ? json_integer(h->overflow_lo) : json_null());
	json_object_set_new(o, "negative", json_integer((json_int_t)h->negative));
	json_object_set_new(o, "lost", json_integer((json_int_t)h->lost));
	json_object_set_new(o, "buckets", json_integer((json_int_t)h->len));
	json_object_set_new(o, "min", h->has_min ? json_integer(h->min) : json_null());
	json_object_set_new(o, "max", h->has_max ? json_integer(h->max) : json_null());
	json_object_set_new(o, "mean", h->count && exact ? json_real(mean) : json_null());
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
		json_object_set_new(all, quantiles[i].name, quantile_json(h, quantiles[i].q));
	json_object_set_new(o, "quantiles", all);
}

static json_t *summary_json(const struct summary *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "n", json_integer((json_int_t)s->n));
	json_object_set_new(o, "min", s->has_min ? json_real(s->min) : json_null());
	json_object_set_new(o, "avg", s->has_avg ? json_real(s->avg) : json_null());
	json_object_set_new(o, "max", s->has_max ? json_real(s->max) : json_null());
	json_object_set_new(o, "sdev", s->has_sdev ? json_real(s->sdev) : json_null());
	return o;
}

static json_t *series_json(const struct series *s)
{
	json_t *o = json_object();

	set_text(o, "metric", s->metric);
	json_object_set_new(o, "labels", labels_json(&s->labels));
	set_text(o, "kind", series_kind_name(s->kind));
	set_text(o, "unit", s->unit);
	set_text(o, "method", s->method);
	set_text(o, "reason", s->reason);
	set_text(o, "omission", omission_name(s->omission));
	json_object_set_new(o, "interval_ns", json_integer(s->interval_ns));
	json_object_set_new(o, "resolution_ns", json_integer(s->resolution_ns));
	if (s->kind == SERIES_HIST)
		hist_json(o, &s->hist);
	if (s->kind == SERIES_VALUE) {
		json_object_set_new(o, "value", json_real(s->value));
		set_text(o, "state", states[s->state]);
	}
	if (s->kind == SERIES_SUMMARY)
		json_object_set_new(o, "summary", summary_json(&s->summary));
	return o;
}

static json_t *run_json(const struct run *r)
{
	json_t *o = json_object(), *series = json_array(), *notes = json_array();

	set_text(o, "state", run_state_name(r->state));
	set_text(o, "host", r->host);
	set_text(o, "experiment", r->experiment);
	json_object_set_new(o, "factors", labels_json(&r->factors));
	json_object_set_new(o, "tags", labels_json(&r->tags));
	json_object_set_new(o, "order", json_integer(r->order));
	json_object_set_new(o, "block", json_integer(r->block));
	json_object_set_new(o, "measured_ns", json_integer(r->measured_ns));
	for (size_t i = 0; i < r->series_len; i++)
		json_array_append_new(series, series_json(&r->series[i]));
	for (size_t i = 0; i < r->notes_len; i++)
		json_array_append_new(notes, json_pack("{s:s,s:s}", "code", r->notes[i].code,
						       "text", r->notes[i].text));
	json_object_set_new(o, "series", series);
	json_object_set_new(o, "notes", notes);
	return o;
}

static json_t *result_json(const char *file, const struct import_result *result)
{
	json_t *o = json_object(), *runs = json_array();

	set_text(o, "file", file);
	set_text(o, "format", result->format);
	for (size_t i = 0; i < result->runs.len; i++)
		json_array_append_new(runs, run_json(result->runs.v[i]));
	json_object_set_new(o, "runs", runs);
	return o;
}

/* ---- text ---- */

/* A time when the unit is ns, else a plain number. */
static const char *amount(const char *unit, double v, char *buf, size_t cap)
{
	if (!strcmp(unit, "ns"))
		return format_ns(v, buf, cap);
	(void)snprintf(buf, cap, v == floor(v) && fabs(v) < 1e15 ? "%.0f%s%s" : "%.6g%s%s", v,
		       strcmp(unit, "1") ? " " : "", strcmp(unit, "1") ? unit : "");
	return buf;
}

static void put_quantile(struct strbuf *out, const struct series *s, size_t i)
{
	struct hist_quantile a = hist_quantile(&s->hist, quantiles[i].q);
	char lo[48], hi[48];

	(void)amount(s->unit, (double)a.lo, lo, sizeof(lo));
	(void)amount(s->unit, (double)a.hi, hi, sizeof(hi));
	if (a.answer == HIST_NOT_RESOLVABLE)
		strbuf_printf(out, "  %s not resolvable", quantiles[i].name);
	else if (a.answer == HIST_NEGATIVE)
		strbuf_printf(out, "  %s below 0", quantiles[i].name);
	else if (a.answer == HIST_AT_LEAST)
		strbuf_printf(out, "  %s >= %s", quantiles[i].name, lo);
	else if (!strcmp(lo, hi) || a.lo == a.hi || a.hi == INT64_MAX)
		strbuf_printf(out, "  %s %s", quantiles[i].name, lo);
	else
		strbuf_printf(out, "  %s %s..%s", quantiles[i].name, lo, hi);
}

/* Only the number of samples and the extremes are known. */
static bool is_range(const struct hist *h)
{
	return h->count && !h->len && h->overflow == h->count && h->has_min && h->has_max &&
	       h->overflow_lo == h->min;
}

static void put_hist(struct strbuf *out, const struct series *s)
{
	const struct hist *h = &s->hist;
	char buf[48];

	strbuf_printf(out, "%" PRIu64 " samples", h->count);
	if (is_range(h)) {
		char max[48];

		strbuf_printf(out, " from %s to %s; their distribution is not known",
			      amount(s->unit, (double)h->min, buf, sizeof(buf)),
			      amount(s->unit, (double)h->max, max, sizeof(max)));
		return;
	}
	if (h->overflow)
		strbuf_printf(out, ", %" PRIu64 " of them at or above %s (overflow)", h->overflow,
			      amount(s->unit, (double)h->overflow_lo, buf, sizeof(buf)));
	if (h->negative)
		strbuf_printf(out, ", %" PRIu64 " negative", h->negative);
	if (h->lost)
		strbuf_printf(out, ", %" PRIu64 " lost", h->lost);
	strbuf_puts(out, "\n     ");
	if (h->has_min)
		strbuf_printf(out, "  min %s", amount(s->unit, (double)h->min, buf, sizeof(buf)));
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
		if (hist_quantile(h, quantiles[i].q).answer != HIST_NOT_RESOLVABLE || i < 3)
			put_quantile(out, s, i);
	if (h->has_max)
		strbuf_printf(out, "  max %s", amount(s->unit, (double)h->max, buf, sizeof(buf)));
	if (s->omission == OMISSION_SKIPS_MISSED)
		strbuf_puts(out, "\n       (periods that were missed are not in it)");
}

static void put_summary(struct strbuf *out, const struct series *s)
{
	const struct summary *m = &s->summary;
	char buf[48];

	strbuf_printf(out, "%" PRIu64 " runs:", m->n);
	if (m->has_min)
		strbuf_printf(out, " min %s", amount(s->unit, m->min, buf, sizeof(buf)));
	strbuf_printf(out, " avg %s", amount(s->unit, m->avg, buf, sizeof(buf)));
	if (m->has_max)
		strbuf_printf(out, " max %s", amount(s->unit, m->max, buf, sizeof(buf)));
	if (m->has_sdev)
		strbuf_printf(out, " sdev %s", amount(s->unit, m->sdev, buf, sizeof(buf)));
}

static void put_series(struct strbuf *out, const struct series *s)
{
	char buf[48];

	strbuf_printf(out, "  %s", s->metric);
	for (size_t i = 0; i < s->labels.len; i++)
		strbuf_printf(out, " %s=%s", s->labels.v[i].key, s->labels.v[i].value);
	strbuf_puts(out, ": ");
	switch (s->kind) {
	case SERIES_HIST:
		put_hist(out, s);
		break;
	case SERIES_VALUE:
		strbuf_puts(out, amount(s->unit, s->value, buf, sizeof(buf)));
		if (s->state != VALUE_EXACT)
			strbuf_printf(out, " (%s: %s)", states[s->state],
				      s->reason ? s->reason : "");
		break;
	case SERIES_SUMMARY:
		put_summary(out, s);
		break;
	case SERIES_ABSENT:
		strbuf_printf(out, "absent: %s", s->reason ? s->reason : "no reason given");
		break;
	}
	strbuf_putc(out, '\n');
}

/* A profile has up to 20 names of a kind: here the largest, all of them in `rigstat profile show`.
 */
static bool is_profile_name(const struct series *s)
{
	enum profile_basis basis;
	enum profile_kind kind;
	const char *name;

	return profile_series(s, &basis, &kind, &name) && profile_is_top(kind);
}

static size_t larger_names(const struct run *r, const struct series *s, size_t *ret_all)
{
	size_t larger = 0;

	*ret_all = 0;
	for (size_t i = 0; i < r->series_len; i++) {
		const struct series *o = &r->series[i];

		if (strcmp(o->metric, s->metric) != 0)
			continue;
		++*ret_all;
		larger += o->value > s->value || (o->value == s->value && o < s);
	}
	return larger;
}

static void put_series_of(struct strbuf *out, const struct run *r, const struct series *s)
{
	size_t all, larger;

	if (!is_profile_name(s)) {
		put_series(out, s);
		return;
	}
	larger = larger_names(r, s, &all);
	if (larger < NAMES_SHOWN)
		put_series(out, s);
	else if (larger == NAMES_SHOWN)
		strbuf_printf(out, "  %s: %zu more names (rigstat profile show)\n", s->metric,
			      all - NAMES_SHOWN);
}

static void put_run(struct strbuf *out, const struct run *r, size_t index, size_t runs)
{
	if (runs > 1) {
		strbuf_printf(out, "run %zu", index + 1);
		for (size_t i = 0; i < r->factors.len; i++)
			strbuf_printf(out, " %s=%s", r->factors.v[i].key, r->factors.v[i].value);
		strbuf_putc(out, '\n');
	}
	if (r->state == RUN_FAILED)
		strbuf_puts(out, "  the run failed\n");
	for (size_t i = 0; i < r->series_len; i++)
		put_series_of(out, r, &r->series[i]);
	for (size_t i = 0; i < r->notes_len; i++)
		strbuf_printf(out, "  note (%s): %s\n", r->notes[i].code, r->notes[i].text);
}

static const char *title_of(const char *format)
{
	for (const struct import_format *f = import_formats(); f->name; f++)
		if (!strcmp(f->name, format))
			return f->title;
	return format;
}

static void put_result(struct strbuf *out, const char *file, const struct import_result *result)
{
	size_t n = result->runs.len;

	strbuf_printf(out, "%s: %s, %zu run%s\n", file, title_of(result->format), n,
		      n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++)
		put_run(out, result->runs.v[i], i, n);
}

/* ---- the verb ---- */

static int list_formats(void)
{
	struct strbuf out = {0};
	int rc;

	for (const struct import_format *f = import_formats(); f->name; f++)
		strbuf_printf(&out, "%-20s %s\n", f->name, f->title);
	rc = cli_print(&out);
	strbuf_done(&out);
	return rc;
}

struct show {
	struct import_args import;
	const char **files;
	size_t n, cap;
	bool json, formats;
};

static int parse(struct show *s, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {
		{"--json", 1, false}, {"--formats", 2, false}, IMPORT_ARG_DEFS, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == ARG_OPERAND) {
			GROW(s->files, s->n, s->cap);
			s->files[s->n++] = value;
		} else if (id > IMPORT_ARG_FORMAT - 1) {
			id = import_args_take(&s->import, id, value, reterr);
			if (id)
				return id;
		}
		s->json |= id == 1;
		s->formats |= id == 2;
	}
	if (!s->n && !s->formats)
		return err_set(reterr, ERR_INVALID, "which file?");
	return 0;
}

/* 0, or a negative ERR_*. */
static int show_file(const struct show *s, const char *file, json_t *list, struct strbuf *out,
		     struct err *reterr)
{
	CLEANUP(input_close) struct input in = {0};
	struct import_options o = s->import.o;
	struct import_result result = {0};
	int rc = input_open(file, &in, reterr);

	if (rc)
		return rc;
	o.source = input_name(file);
	rc = import_bytes(in.data, in.len, &o, &result, reterr);
	if (!rc && s->json)
		json_array_append_new(list, result_json(file, &result));
	else if (!rc)
		put_result(out, file, &result);
	import_result_done(&result);
	return rc;
}

/* One file: its document; several: an array of them. */
static void put_json(struct strbuf *out, const json_t *list, size_t asked)
{
	char *text = json_dumps(asked == 1 ? json_array_get(list, 0) : list,
				JSON_INDENT(1) | JSON_REAL_PRECISION(15));

	if (text)
		strbuf_printf(out, "%s\n", text);
	free(text);
}

int verb_show(int argc, char **argv)
{
	struct strbuf out = {0};
	struct show s = {.n = 0};
	struct err err = {0};
	json_t *list = json_array();
	int status = EXIT_DONE;

	if (parse(&s, argc, argv, &err)) {
		status = cli_usage("show", &err);
	} else if (s.formats) {
		status = list_formats();
	} else {
		for (size_t i = 0; i < s.n; i++) {
			if (!show_file(&s, s.files[i], list, &out, &err))
				continue;
			(void)fprintf(stderr, "rigstat: %s\n", err.text);
			status = EXIT_UNREADABLE;
		}
		if (s.json && json_array_size(list))
			put_json(&out, list, s.n);
		if (cli_print(&out) != EXIT_DONE)
			status = EXIT_SERVER;
	}
	json_decref(list);
	strbuf_done(&out);
	import_args_done(&s.import);
	free(s.files);
	return status;
}
