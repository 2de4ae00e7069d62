/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /hosts/{host}/heatmap/{metric}: a host's latency over a range of time, binned here to the
 * pixels of who asks. Single intervals where a column is shorter than a minute and they are kept,
 * minutes otherwise. */
#include "server/api.h"

#include <stdio.h>

#include "common/check.h"
#include "common/clock.h"
#include "server/api_common.h"
#include "server/db.h"
#include "server/heatmap.h"
#include "server/http_parse.h"
#include "server/inflate.h"
#include "server/queries.h"
#include "server/server.h"
#include "server/work.h"

#define ROWS_MAX	20000
#define MINUTE_NS	(60 * NS_PER_SEC)
#define RANGE_NS	(3600 * NS_PER_SEC)
#define COLUMNS_DEFAULT 600
#define BINS_DEFAULT	60
#define HEATMAP_MS	15000

/* What the thread works on: nothing of the request. */
struct grid_work {
	struct heatmap map;
	struct grid_row {
		int64_t t_ns, dt_ns;
		uint64_t n; /* intervals; 0: one histogram of a minute */
		void *d;
		size_t len;
	} * rows;
	size_t n_rows;
	char *head; /* JSON before the columns */
	bool gzip;
	struct strbuf body;
	struct err err;
	int rc;
	struct asking *asking; /* the loop's */
};

struct asking {
	struct request *req;
	int64_t from_ns, to_ns, columns, bins;
	char *labels;
	bool minutes;
};

static void asking_free(void *ctx)
{
	struct asking *a = ctx;

	free(a->labels);
	free(a);
}

/* ---- in the thread ---- */

static void run(void *ctx)
{
	struct grid_work *w = ctx;
	struct strbuf plain = {0};

	for (size_t i = 0; i < w->n_rows && !w->rc; i++) {
		const struct grid_row *r = &w->rows[i];

		w->rc = r->n ? heatmap_add_chunk(&w->map, r->t_ns, r->dt_ns, r->n, r->d, r->len,
						 &w->err)
			     : heatmap_add(&w->map, r->t_ns, r->d, r->len, &w->err);
	}
	if (w->rc)
		return;
	strbuf_puts(&plain, w->head);
	heatmap_put(&w->map, &plain);
	strbuf_puts(&plain, "}");
	if (w->gzip) {
		gzip_deflate(plain.data, plain.len, &w->body);
		strbuf_done(&plain);
	} else {
		w->body = plain;
	}
}

static void drop(void *ctx)
{
	struct grid_work *w = ctx;

	for (size_t i = 0; i < w->n_rows; i++)
		free(w->rows[i].d);
	free(w->rows);
	free(w->head);
	heatmap_done(&w->map);
	strbuf_done(&w->body);
	free(w);
}

static void done(void *ctx)
{
	struct grid_work *w = ctx;
	struct request *req = w->asking->req;

	if (w->rc) {
		w->err.code = ERR_DB;
		(void)reply_err(req, &w->err);
		return;
	}
	reply_header(req, "Vary", "Accept-Encoding");
	if (w->gzip)
		reply_header(req, "Content-Encoding", "gzip");
	(void)reply_buf(req, 200, "application/json", &w->body);
}

/* ---- rows ---- */

static char *head_of(const struct asking *a, const struct heatmap *m, const char *unit)
{
	json_t *o =
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:s}", "host",
			  request_path(a->req, "host"), "metric", request_path(a->req, "metric"),
			  "unit", unit, "labels", json_loads(a->labels, 0, NULL), "from",
			  js_time(m->from_ns), "to", js_time(a->to_ns), "step_ns",
			  (json_int_t)m->step_ns, "source", a->minutes ? "minutes" : "intervals");
	char *text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);

	CHECK(text);
	json_decref(o);
	text[strlen(text) - 1] = ','; /* more members follow */
	return text;
}

static void start_work(struct asking *a, const struct db_result *r)
{
	struct grid_work *w = xcalloc(1, sizeof(*w));
	struct err err;

	w->asking = a;
	heatmap_init(&w->map, a->from_ns, a->to_ns, a->minutes ? MINUTE_NS : NS_PER_SEC,
		     (size_t)a->columns, (size_t)a->bins);
	w->rows = xcalloc(db_rows(r) + 1, sizeof(*w->rows));
	for (size_t i = 0; i < db_rows(r); i++) {
		struct grid_row *row = &w->rows[w->n_rows++];
		const void *d = db_bytes(r, i, 2, &row->len);

		row->t_ns = db_i64(r, i, 0);
		row->n = (uint64_t)db_i64(r, i, 1);
		row->dt_ns = db_i64(r, i, 4);
		row->d = xcalloc(1, row->len + 1);
		memcpy(row->d, d, row->len);
	}
	w->head = head_of(a, &w->map, db_rows(r) ? db_text(r, 0, 3) : "");
	w->gzip = http_accepts_gzip(request_header(a->req, "Accept-Encoding"));
	if (work_submit(a->req->server->work, &a->req->pending, run, done, drop, w, &err)) {
		drop(w);
		(void)reply_err(a->req, &err);
	}
}

static void ask(struct asking *a);

static void on_rows(void *ctx, const struct db_result *r, const struct err *err)
{
	struct asking *a = ctx;

	if (err) {
		(void)reply_err(a->req, err);
	} else if (!a->minutes && (!db_rows(r) || db_rows(r) > ROWS_MAX)) {
		a->minutes = true; /* they are gone by now, or too many */
		ask(a);
	} else if (db_rows(r) > ROWS_MAX) {
		(void)reply_problem(
			a->req, 400, "too-many-cells",
			"Choose a shorter range, or one series: labels=cpu=0",
			"more than %d minutes of series; the answer would take too long", ROWS_MAX);
	} else {
		start_work(a, r);
	}
}

static void ask(struct asking *a)
{
	db_query(a->req->server->db, DB_QUERY,
		 a->minutes ? &Q_HOST_HIST_MINUTES : &Q_HOST_HIST_CHUNKS,
		 (struct db_param[]){P_TEXT(request_path(a->req, "host")),
				     P_TEXT(request_path(a->req, "metric")), P_JSON(a->labels),
				     P_I64(a->from_ns), P_I64(a->to_ns), P_I64(ROWS_MAX + 1)},
		 6, HEATMAP_MS, &a->req->pending, on_rows, a);
}

/* ---- the question ---- */

static bool number(struct asking *a, const char *name, int64_t def, int64_t min, int64_t max,
		   int64_t *ret)
{
	struct err err;

	if (!request_query_i64(a->req, name, def, min, max, ret, &err))
		return true;
	(void)reply_fault(
		a->req,
		&(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s", err.text);
	return false;
}

static bool read_range(struct asking *a)
{
	a->to_ns = clock_realtime_ns();
	if (!api_time(a->req, "to", true, &a->to_ns))
		return false;
	a->from_ns = a->to_ns - RANGE_NS;
	if (!api_time(a->req, "from", false, &a->from_ns))
		return false;
	if (a->from_ns < a->to_ns)
		return true;
	(void)reply_fault(
		a->req,
		&(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = "from"},
		"from: it is not before the end of the range");
	return false;
}

enum step api_host_heatmap(struct request *req)
{
	static const char *const names[] = {"from", "to", "width", "height", "labels", NULL};
	struct asking *a;

	if (!api_params(req, names))
		return STEP_DONE;
	a = xcalloc(1, sizeof(*a));
	a->req = req;
	req->ctx = a;
	req->ctx_free = asking_free;
	if (!read_range(a) ||
	    !number(a, "width", COLUMNS_DEFAULT, 1, HEATMAP_COLUMNS_MAX, &a->columns) ||
	    !number(a, "height", BINS_DEFAULT, 1, HEATMAP_ROWS_MAX, &a->bins) ||
	    !api_equal_labels(req, "labels", &a->labels))
		return STEP_DONE;
	a->minutes = (a->to_ns - a->from_ns) / a->columns >= MINUTE_NS;
	ask(a);
	return STEP_WAIT;
}
