/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /runs/{run}/minutes/{metric}: a distribution over time, in columns for charts: quantiles of
 * each minute and a heat map on a logarithmic grid. */
#include "server/api.h"

#include <math.h>
#include <stdio.h>

#include "common/parse.h"
#include "server/queries.h"
#include "server/run_query.h"
#include "server/server.h"

#define ROWS_MAX     20000 /* series x minutes; each is decoded on the loop, 5 us */
#define BINS_DEFAULT 40
#define BINS_MAX     200

/* One minute of one phase, all wanted series merged. */
struct minute {
	int64_t t_ns, phase;
	struct hist hist;
};

struct view {
	struct request *req;
	int64_t id, bins;
	char *labels; /* JSON */
	struct minute *v;
	size_t n, cap;
};

static void view_free(void *ctx)
{
	struct view *v = ctx;

	for (size_t i = 0; i < v->n; i++)
		hist_done(&v->v[i].hist);
	free(v->v);
	free(v->labels);
	free(v);
}

/* ---- merging ---- */

static int add_row(struct view *v, const struct db_result *r, size_t row, struct err *reterr)
{
	struct hist one CLEANUP(hist_done) = {0};
	int64_t t_ns = db_i64(r, row, 0), phase = db_i64(r, row, 1);
	struct minute *m = v->n ? &v->v[v->n - 1] : NULL;
	struct reader rd;
	const void *bytes;
	size_t len;

	bytes = db_bytes(r, row, 2, &len);
	rd = reader_of(bytes, len);
	if (hist_decode(&one, &rd, reterr))
		return err_set(reterr, ERR_DB, "stored minute of run %lld: damaged",
			       (long long)v->id);
	if (m && m->t_ns == t_ns && m->phase == phase)
		return hist_merge(&m->hist, &one, reterr);
	GROW(v->v, v->n, v->cap);
	m = &v->v[v->n++];
	*m = (struct minute){.t_ns = t_ns, .phase = phase, .hist = one};
	memset(&one, 0, sizeof(one));
	return 0;
}

/* ---- the grid ---- */

struct grid {
	double lo, step; /* of the logarithm */
	int64_t n;
};

static double log_of(int64_t x)
{
	return log((double)(x > 0 ? x : 1));
}

static struct grid make_grid(const struct view *v)
{
	double lo = INFINITY, hi = -INFINITY;
	struct grid g = {.n = v->bins};

	for (size_t i = 0; i < v->n; i++) {
		const struct hist *h = &v->v[i].hist;

		if (!h->len)
			continue;
		lo = fmin(lo, log_of(h->b[0].lo));
		hi = fmax(hi, log_of(h->b[h->len - 1].hi));
	}
	if (!(hi > lo))
		return (struct grid){.n = 0};
	g.lo = lo;
	g.step = (hi - lo) / (double)g.n;
	return g;
}

static json_t *edges_json(const struct grid *g)
{
	json_t *a = json_array();

	for (int64_t i = 0; g->n && i <= g->n; i++)
		json_array_append_new(a, json_integer(llround(exp(g->lo + g->step * (double)i))));
	return a;
}

/* A native bucket counts where its lower edge lies. */
static json_t *counts_json(const struct grid *g, const struct hist *h)
{
	uint64_t *n CLEANUP(freep) = xcalloc((size_t)g->n + 1, sizeof(*n));
	json_t *a = json_array();

	for (size_t i = 0; g->n && i < h->len; i++) {
		/* The nudge keeps an edge that is a bucket's own edge on its own side. */
		int64_t k = (int64_t)floor((log_of(h->b[i].lo) - g->lo) / g->step + 1e-9);

		n[k < 0 ? 0 : k < g->n ? k : g->n - 1] += h->b[i].n;
	}
	for (int64_t i = 0; i < g->n; i++)
		json_array_append_new(a, json_integer((json_int_t)n[i]));
	return a;
}

/* ---- the answer ---- */

/* null when the samples cannot show it; the lower edge of what is certain otherwise. */
static json_t *quantile_json(const struct hist *h, double q)
{
	struct hist_quantile at = hist_quantile(h, q);

	return h->count && (at.answer == HIST_VALUE || at.answer == HIST_AT_LEAST)
		       ? json_integer(at.lo)
		       : json_null();
}

static json_t *max_json(const struct hist *h)
{
	if (h->has_max)
		return json_integer(h->max);
	return h->len ? json_integer(h->b[h->len - 1].lo) : json_null();
}

static void put_columns(const struct view *v, json_t *o)
{
	static const char *const names[] = {"t",	"phase", "count", "lost", "overflow",
					    "negative", "p50",	 "p99",	  "max",  "counts"};
	json_t *c[ARRAY_LEN(names)];
	struct grid g = make_grid(v);

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		c[k] = json_array();
		json_object_set_new(o, names[k], c[k]);
	}
	for (size_t i = 0; i < v->n; i++) {
		const struct hist *h = &v->v[i].hist;

		json_array_append_new(c[0], js_time(v->v[i].t_ns));
		json_array_append_new(c[1], json_integer(v->v[i].phase));
		json_array_append_new(c[2], json_integer((json_int_t)h->count));
		json_array_append_new(c[3], json_integer((json_int_t)h->lost));
		json_array_append_new(c[4], json_integer((json_int_t)h->overflow));
		json_array_append_new(c[5], json_integer((json_int_t)h->negative));
		json_array_append_new(c[6], quantile_json(h, 0.5));
		json_array_append_new(c[7], quantile_json(h, 0.99));
		json_array_append_new(c[8], max_json(h));
		json_array_append_new(c[9], counts_json(&g, h));
	}
	json_object_set_new(o, "edges", edges_json(&g));
}

static void on_minutes(void *ctx, const struct db_result *r, const struct err *err)
{
	struct view *v = ctx;
	struct err bad;
	json_t *o;

	if (err) {
		(void)reply_err(v->req, err);
		return;
	}
	if (db_rows(r) > ROWS_MAX) {
		(void)reply_problem(
			v->req, 400, "too-many-cells", "Choose one series: labels=cpu=0",
			"more than %d minutes of series; the answer would be too long", ROWS_MAX);
		return;
	}
	for (size_t i = 0; i < db_rows(r); i++) {
		if (add_row(v, r, i, &bad)) {
			(void)reply_err(v->req, &bad);
			return;
		}
	}
	o = json_pack("{s:o, s:s, s:s, s:o, s:I}", "run", js_id('r', v->id), "metric",
		      request_path(v->req, "metric"), "unit", db_rows(r) ? db_text(r, 0, 3) : "",
		      "labels", json_loads(v->labels, 0, NULL), "step_ns",
		      (json_int_t)(60 * NS_PER_SEC));
	put_columns(v, o);
	(void)reply_json(v->req, 200, o);
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
	db_query(v->req->server->db, DB_QUERY, &Q_RUN_MINUTES,
		 (struct db_param[]){P_I64(v->id), P_TEXT(request_path(v->req, "metric")),
				     P_JSON(v->labels), P_I64(ROWS_MAX + 1)},
		 4, DB_DEADLINE_MS, &v->req->pending, on_minutes, v);
}

static bool bad(struct request *req, const char *name, const char *detail)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s: %s", name, detail);
	return false;
}

static bool read_bins(struct view *v)
{
	const char *bins = request_query(v->req, "bins");

	v->bins = BINS_DEFAULT;
	if (!bins)
		return true;
	if (strncmp(bins, "log:", 4) || parse_i64(bins + 4, &v->bins, NULL) || v->bins < 1 ||
	    v->bins > BINS_MAX)
		return bad(v->req, "bins", "log:N with N from 1 to 200");
	return true;
}

enum step api_run_minutes(struct request *req)
{
	static const char *const names[] = {"labels", "bins", NULL};
	unsigned char uid[16];
	struct db_param params[2];
	struct view *v;

	if (!api_params(req, names))
		return STEP_DONE;
	v = xcalloc(1, sizeof(*v));
	v->req = req;
	req->ctx = v;
	req->ctx_free = view_free;
	if (!read_bins(v) || !api_equal_labels(req, "labels", &v->labels) ||
	    !run_query_path(req, params, uid))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_RUN_FIND, params, 2, DB_DEADLINE_MS, &req->pending,
		 on_found, v);
	return STEP_WAIT;
}
