/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs and sides for the tests of the comparison engine. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "common/compare/compare.h"
#include "common/import/import.h"

static inline char *data_read(const char *name, size_t *ret_len)
{
	char path[500];
	FILE *f;
	char *text;
	long len;

	snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	text = xcalloc(1, (size_t)len + 1);
	assert_int_equal(fread(text, 1, (size_t)len, f), len);
	fclose(f);
	*ret_len = (size_t)len;
	return text;
}

static inline void data_import(const char *name, struct runs *ret)
{
	struct import_options o = {.source = name};
	struct import_result result = {0};
	struct err e = {0};
	size_t len;
	char *text = data_read(name, &len);

	if (import_bytes(text, len, &o, &result, &e) < 0)
		fail_msg("%s: %s", name, e.text);
	free(text);
	*ret = result.runs;
}

/* One run with one number. Order 0 = unknown. */
static inline struct run *value_run(const char *metric, double v, uint32_t order)
{
	struct run *r = run_new(RUN_MEASURED);

	r->state = RUN_OK;
	r->order = order;
	run_add_series(r, metric, SERIES_VALUE, "1")->value = v;
	return r;
}

static inline void value_runs(struct runs *rs, const char *metric, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		runs_add(rs, value_run(metric, v[i], 0));
}

/* Runs of `all` that have factor = level: borrowed. */
static inline struct runs with_level(const struct runs *all, const char *factor, const char *level)
{
	struct runs some = {0};

	for (size_t i = 0; i < all->len; i++) {
		const char *l = labels_get(&all->v[i]->factors, factor);

		if (!l || strcmp(l, level) != 0)
			continue;
		GROW(some.v, some.len, some.cap);
		some.v[some.len++] = all->v[i];
	}
	return some;
}

/* The synthetic histogram runs: 1 us bins, ABBA, factor "arm". */
static inline void synth_hists(struct runs *ret)
{
	size_t len, i, k;
	char *text = data_read("compare/synth-histogram-runs.json", &len);
	json_t *doc = json_loadb(text, len, 0, NULL), *run, *n;

	assert_non_null(doc);
	free(text);
	json_array_foreach(json_object_get(doc, "runs"), i, run)
	{
		struct run *r = run_new(RUN_MEASURED);
		struct series *s = run_add_series(r, "wakeup_latency", SERIES_HIST, "ns");
		struct err e;

		r->state = RUN_OK;
		r->order = (uint32_t)json_integer_value(json_object_get(run, "order"));
		r->block = (uint32_t)json_integer_value(json_object_get(run, "pair"));
		labels_set(&r->factors, "arm", json_string_value(json_object_get(run, "arm")));
		s->hist.scheme = HIST_LINEAR;
		s->hist.width = s->resolution_ns = 1000;
		json_array_foreach(json_object_get(run, "counts"), k, n) assert_int_equal(
			hist_append(&s->hist, (int64_t)k * 1000, (int64_t)(k + 1) * 1000,
				    (uint64_t)json_integer_value(n), &e),
			0);
		runs_add(ret, r);
	}
	json_decref(doc);
}

static inline struct compare_options default_options(void)
{
	return (struct compare_options){.margin_rel = -1};
}

static inline json_t *compare_runs(const struct runs *a, const struct runs *b,
				   const struct compare_options *o)
{
	struct compare_side sa = {.name = "A", .runs = a->v, .n = a->len};
	struct compare_side sb = {.name = "B", .runs = b->v, .n = b->len};
	struct err e = {0};
	json_t *doc = NULL;

	if (compare_document(&sa, &sb, o, &doc, &e) < 0)
		fail_msg("%s", e.text);
	return doc;
}

/* Value at a path such as "tail.a.above"; a number steps into an array. */
static inline json_t *at_path(json_t *doc, const char *path)
{
	while (doc && *path) {
		char key[60];
		size_t n = strcspn(path, "/");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		doc = json_is_array(doc) ? json_array_get(doc, (size_t)atoi(key))
					 : json_object_get(doc, key);
		path += n + (path[n] == '/');
	}
	return doc;
}

static inline double num_at(json_t *doc, const char *path)
{
	json_t *v = at_path(doc, path);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static inline const char *text_at(json_t *doc, const char *path)
{
	const char *s = json_string_value(at_path(doc, path));

	return s ? s : "";
}

static inline json_t *row_of(json_t *doc, const char *stat)
{
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(doc, "rows"), i,
			   row) if (!strcmp(text_at(row, "stat"), stat)) return row;
	fail_msg("no row %s", stat);
	return NULL;
}

static inline bool has_reason(json_t *doc, const char *code)
{
	size_t i;
	json_t *r;

	json_array_foreach(at_path(doc, "verdict/reasons"), i,
			   r) if (!strcmp(text_at(r, "code"), code)) return true;
	return false;
}

static inline void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("got %.12g, want %.12g within %g", got, want, within);
}
