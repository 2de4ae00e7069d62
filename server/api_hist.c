/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /runs/{run}/histograms/{metric} and /quantiles/{metric}: one merged distribution. */
#include "server/api.h"

#include <math.h>
#include <stdio.h>

#include "common/parse.h"
#include "server/queries.h"
#include "server/run_load.h"
#include "server/run_query.h"
#include "server/server.h"

#define QUANTILES_MAX 50
#define BINS_MAX      10000

struct view {
	struct request *req;
	int64_t id;
	struct run *run;
	struct labels labels;
	struct hist hist; /* of all wanted series */
	const char *unit;
	int64_t log_bins; /* 0: native */
	double q[QUANTILES_MAX];
	size_t n_q;
	void (*reply)(struct view *v);
};

static void view_free(void *ctx)
{
	struct view *v = ctx;

	run_free(v->run);
	labels_done(&v->labels);
	hist_done(&v->hist);
	free(v);
}

/* ---- loading ---- */

static bool wanted(const struct view *v, const struct series *s)
{
	for (size_t i = 0; i < v->labels.len; i++) {
		const char *have = labels_get(&s->labels, v->labels.v[i].key);

		if (!have || strcmp(have, v->labels.v[i].value))
			return false;
	}
	return true;
}

static int merge_wanted(struct view *v, size_t *ret_n, struct err *reterr)
{
	*ret_n = 0;
	for (size_t i = 0; i < v->run->series_len; i++) {
		const struct series *s = &v->run->series[i];

		if (s->kind != SERIES_HIST || !wanted(v, s))
			continue;
		v->unit = s->unit;
		if (!(*ret_n)++)
			hist_copy(&v->hist, &s->hist);
		else if (hist_merge(&v->hist, &s->hist, reterr))
			return reterr->code;
	}
	return 0;
}

static void reply_no_distribution(struct view *v)
{
	const char *metric = request_path(v->req, "metric");
	const char *why = "the run has no series of it";

	for (size_t i = 0; i < v->run->series_len; i++) {
		const struct series *s = &v->run->series[i];

		why = s->kind == SERIES_SUMMARY
			      ? "the source published only a summary, no distribution"
		      : s->kind == SERIES_VALUE ? "it is one number a run, not a distribution"
		      : s->kind == SERIES_ABSENT
			      ? (s->reason ? s->reason : "it could not be measured")
			      : "no series has these labels";
	}
	(void)reply_problem(v->req, 404, "no-distribution", NULL, "%s of r_%lld: %s", metric,
			    (long long)v->id, why);
}

static void on_series(void *ctx, const struct db_result *r, const struct err *err)
{
	struct view *v = ctx;
	struct err bad;
	size_t n;

	if (err) {
		(void)reply_err(v->req, err);
		return;
	}
	if (run_load_series(r, &v->run, &v->id, 1, &bad) || merge_wanted(v, &n, &bad)) {
		(void)reply_err(v->req, &bad);
		return;
	}
	if (!n)
		reply_no_distribution(v);
	else
		v->reply(v);
}

static void on_found(void *ctx, const struct db_result *r, const struct err *err)
{
	struct view *v = ctx;

	if (err) {
		(void)reply_err(v->req, err);
		return;
	}
	if (!db_rows(r)) {
		(void)reply_problem(v->req, 404, "not-found", NULL, "there is no run %s",
				    request_path(v->req, "run"));
		return;
	}
	v->id = db_i64(r, 0, 0);
	v->run = run_new(RUN_MEASURED);
	v->run->state = RUN_OK;
	db_query(v->req->server->db, DB_QUERY, &Q_RUN_SERIES,
		 (struct db_param[]){P_I64S(&v->id, 1), P_TEXT(request_path(v->req, "metric")),
				     P_BOOL(false)},
		 3, DB_DEADLINE_MS, &v->req->pending, on_series, v);
}

static bool read_labels(struct view *v)
{
	struct selector *s CLEANUP(selector_freep) = NULL;

	if (!api_selector(v->req, "labels", request_query(v->req, "labels"), &s))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		if (s->terms[i].op != SELECTOR_EQ) {
			(void)reply_fault(v->req,
					  &(struct fault){.status = 400,
							  .slug = "invalid-parameter",
							  .parameter = "labels",
							  .column = s->terms[i].column},
					  "labels: write name=value, as cpu=0");
			return false;
		}
		labels_set(&v->labels, s->terms[i].key, s->terms[i].values[0]);
	}
	return true;
}

static enum step start(struct view *v)
{
	unsigned char uid[16];
	struct db_param params[2];

	if (!read_labels(v) || !run_query_path(v->req, params, uid))
		return STEP_DONE;
	db_query(v->req->server->db, DB_QUERY, &Q_RUN_FIND, params, 2, DB_DEADLINE_MS,
		 &v->req->pending, on_found, v);
	return STEP_WAIT;
}

static struct view *view_new(struct request *req)
{
	struct view *v = xcalloc(1, sizeof(*v));

	v->req = req;
	req->ctx = v;
	req->ctx_free = view_free;
	return v;
}

static bool bad(struct request *req, const char *name, const char *detail)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s: %s", name, detail);
	return false;
}

static json_t *labels_json(const struct labels *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->len; i++)
		json_object_set_new(o, l->v[i].key, json_string(l->v[i].value));
	return o;
}

/* ---- histogram ---- */

/* Joins native buckets into at most n groups whose edges grow by a constant factor; an edge of
 * the result is always an edge of the source. */
static void coarsen(struct hist *h, int64_t n)
{
	double lo, hi, step;
	size_t kept = 0;

	if (h->len <= (size_t)n || !h->len)
		return;
	lo = log((double)(h->b[0].lo > 0 ? h->b[0].lo : 1));
	hi = log((double)h->b[h->len - 1].hi);
	step = (hi - lo) / (double)n;
	for (size_t i = 1; i < h->len; i++) {
		double at = log((double)(h->b[i].lo > 0 ? h->b[i].lo : 1));
		double of = log((double)(h->b[kept].lo > 0 ? h->b[kept].lo : 1));

		if (floor((at - lo) / step) <= floor((of - lo) / step)) {
			h->b[kept].hi = h->b[i].hi;
			h->b[kept].n += h->b[i].n;
		} else {
			h->b[++kept] = h->b[i];
		}
	}
	h->len = kept + 1;
	h->coarsened = true;
}

static json_t *hist_doc(const struct view *v)
{
	static const char *const schemes[] = {"log128", "linear", "edges"};
	const struct hist *h = &v->hist;
	json_t *lo = json_array(), *hi = json_array(), *n = json_array(), *o;
	bool exact;
	double mean = hist_mean(h, &exact);

	for (size_t i = 0; i < h->len; i++) {
		json_array_append_new(lo, json_integer(h->b[i].lo));
		json_array_append_new(hi, json_integer(h->b[i].hi));
		json_array_append_new(n, json_integer((json_int_t)h->b[i].n));
	}
	o = json_pack("{s:o, s:s, s:s, s:o, s:s, s:b, s:I, s:I, s:I, s:o, s:I, s:I}", "run",
		      js_id('r', v->id), "metric", request_path(v->req, "metric"), "unit", v->unit,
		      "labels", labels_json(&v->labels), "scheme",
		      v->log_bins ? "log" : schemes[h->scheme], "coarsened", h->coarsened, "count",
		      (json_int_t)h->count, "bucketed",
		      (json_int_t)(h->count - h->overflow - h->negative), "overflow",
		      (json_int_t)h->overflow, "overflow_lo",
		      h->overflow ? json_integer(h->overflow_lo) : json_null(), "negative",
		      (json_int_t)h->negative, "lost", (json_int_t)h->lost);
	json_object_set_new(o, "min", h->has_min ? json_integer(h->min) : json_null());
	json_object_set_new(o, "max", h->has_max ? json_integer(h->max) : json_null());
	json_object_set_new(o, "mean", js_number(mean));
	json_object_set_new(o, "mean_exact", json_boolean(exact));
	json_object_set_new(o, "lo", lo);
	json_object_set_new(o, "hi", hi);
	json_object_set_new(o, "n", n);
	return o;
}

static void hist_csv(const struct view *v, struct strbuf *out)
{
	const struct hist *h = &v->hist;

	strbuf_printf(out, "lo_%s,hi_%s,count\r\n", v->unit, v->unit);
	if (h->negative)
		strbuf_printf(out, ",0,%llu\r\n", (unsigned long long)h->negative);
	for (size_t i = 0; i < h->len; i++)
		strbuf_printf(out, "%lld,%lld,%llu\r\n", (long long)h->b[i].lo,
			      (long long)h->b[i].hi, (unsigned long long)h->b[i].n);
	if (h->overflow)
		strbuf_printf(out, "%lld,,%llu\r\n", (long long)h->overflow_lo,
			      (unsigned long long)h->overflow);
}

static const char *const hist_formats[] = {"json application/json", "csv text/csv",
					   "hgrm text/plain", NULL};

static void reply_hist(struct view *v)
{
	const char *format = request_format(v->req, hist_formats);
	struct strbuf out = {0};

	if (v->log_bins)
		coarsen(&v->hist, v->log_bins);
	if (format_is(format, "json")) {
		(void)reply_json(v->req, 200, hist_doc(v));
	} else if (format_is(format, "csv")) {
		hist_csv(v, &out);
		(void)reply_buf(v->req, 200, "text/csv; charset=utf-8", &out);
	} else {
		hist_to_hgrm(&v->hist, !strcmp(v->unit, "ns") ? 1000 : 1, &out);
		(void)reply_buf(v->req, 200, "text/plain; charset=utf-8", &out);
	}
}

enum step api_run_histogram(struct request *req)
{
	static const char *const names[] = {"labels", "bins", "format", NULL};
	const char *bins = request_query(req, "bins");
	struct view *v;

	if (!api_params(req, names))
		return STEP_DONE;
	if (!request_format(req, hist_formats)) {
		(void)bad(req, "format", "json, csv or hgrm");
		return STEP_DONE;
	}
	v = view_new(req);
	v->reply = reply_hist;
	if (bins && strcmp(bins, "native") &&
	    (strncmp(bins, "log:", 4) || parse_i64(bins + 4, &v->log_bins, NULL) ||
	     v->log_bins < 1 || v->log_bins > BINS_MAX)) {
		(void)bad(req, "bins", "native, or log:N with N from 1 to 10000");
		return STEP_DONE;
	}
	return start(v);
}

/* ---- quantiles ---- */

static bool read_quantiles(struct view *v, const char *text)
{
	char *copy CLEANUP(freep) = xstrdup(text), *save = NULL;

	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		double q;

		if (v->n_q == QUANTILES_MAX)
			return bad(v->req, "q", "at most 50 quantiles");
		if (parse_double(p, &q, NULL) || !(q > 0 && q <= 1))
			return bad(v->req, "q", "fractions above 0 up to 1, as 0.5,0.99");
		v->q[v->n_q++] = q;
	}
	return v->n_q || bad(v->req, "q", "fractions above 0 up to 1, as 0.5,0.99");
}

static void put_value(const struct view *v, int64_t x, struct strbuf *out)
{
	char buf[40];

	if (strcmp(v->unit, "ns"))
		strbuf_printf(out, "%lld %s", (long long)x, v->unit);
	else
		strbuf_puts(out, format_ns((double)x, buf, sizeof(buf)));
}

/* One line for people: "12.0 us to 13.0 us", ">= 60.0 us", "not resolvable". */
static void quantile_text(const struct view *v, double q, const struct hist_quantile *at,
			  struct strbuf *out)
{
	switch (at->answer) {
	case HIST_VALUE:
		put_value(v, at->lo, out);
		if (at->hi > at->lo) {
			strbuf_puts(out, " to ");
			put_value(v, at->hi, out);
		}
		break;
	case HIST_AT_LEAST:
		strbuf_puts(out, ">= ");
		put_value(v, at->lo, out);
		if (at->hi != INT64_MAX) {
			strbuf_puts(out, " (max ");
			put_value(v, at->hi, out);
			strbuf_putc(out, ')');
		}
		break;
	case HIST_NEGATIVE:
		strbuf_puts(out, "below 0: the clock was wrong");
		break;
	case HIST_NOT_RESOLVABLE:
		strbuf_printf(out, "not resolvable: %llu samples cannot show p%.10g",
			      (unsigned long long)at->count, q * 100);
	}
}

static json_t *quantile_json(const struct view *v, double q)
{
	static const char *const answers[] = {"value", "at_least", "negative", "not_resolvable"};
	struct hist_quantile at = hist_quantile(&v->hist, q);
	bool known = at.answer == HIST_VALUE || at.answer == HIST_AT_LEAST;
	struct strbuf text CLEANUP(strbuf_done) = {0};

	quantile_text(v, q, &at, &text);
	return json_pack("{s:f, s:s, s:o, s:o, s:I, s:I, s:s}", "q", q, "answer",
			 answers[at.answer], "lo", known ? json_integer(at.lo) : json_null(), "hi",
			 known && at.hi != INT64_MAX ? json_integer(at.hi) : json_null(), "rank",
			 (json_int_t)at.rank, "count", (json_int_t)at.count, "text", text.data);
}

static void quantile_csv(const struct view *v, struct strbuf *out)
{
	strbuf_printf(out, "q,lo_%s,hi_%s,answer,rank,count\r\n", v->unit, v->unit);
	for (size_t i = 0; i < v->n_q; i++) {
		json_t *o = quantile_json(v, v->q[i]);
		const json_t *lo = json_object_get(o, "lo"), *hi = json_object_get(o, "hi");

		strbuf_printf(out, "%.10g,", v->q[i]);
		if (json_is_integer(lo))
			strbuf_printf(out, "%lld", (long long)json_integer_value(lo));
		strbuf_putc(out, ',');
		if (json_is_integer(hi))
			strbuf_printf(out, "%lld", (long long)json_integer_value(hi));
		strbuf_printf(out, ",%s,%lld,%lld\r\n",
			      json_string_value(json_object_get(o, "answer")),
			      (long long)json_integer_value(json_object_get(o, "rank")),
			      (long long)json_integer_value(json_object_get(o, "count")));
		json_decref(o);
	}
}

static const char *const quantile_formats[] = {"json application/json", "csv text/csv", NULL};

static void reply_quantiles(struct view *v)
{
	struct strbuf out = {0};
	json_t *items;

	if (format_is(request_format(v->req, quantile_formats), "csv")) {
		quantile_csv(v, &out);
		(void)reply_buf(v->req, 200, "text/csv; charset=utf-8", &out);
		return;
	}
	items = json_array();
	for (size_t i = 0; i < v->n_q; i++)
		json_array_append_new(items, quantile_json(v, v->q[i]));
	(void)reply_json(v->req, 200,
			 json_pack("{s:o, s:s, s:s, s:o, s:I, s:I, s:o}", "run", js_id('r', v->id),
				   "metric", request_path(v->req, "metric"), "unit", v->unit,
				   "labels", labels_json(&v->labels), "count",
				   (json_int_t)v->hist.count, "lost", (json_int_t)v->hist.lost,
				   "items", items));
}

enum step api_run_quantiles(struct request *req)
{
	static const char *const names[] = {"q", "labels", "format", NULL};
	const char *q = request_query(req, "q");
	struct view *v;

	if (!api_params(req, names))
		return STEP_DONE;
	if (!request_format(req, quantile_formats)) {
		(void)bad(req, "format", "json or csv");
		return STEP_DONE;
	}
	v = view_new(req);
	v->reply = reply_quantiles;
	if (!read_quantiles(v, q ? q : "0.5,0.9,0.99,0.999,0.9999"))
		return STEP_DONE;
	return start(v);
}
