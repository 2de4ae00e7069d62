/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue: what we know by name, what runs have, what a person set.
 * GET /metrics-catalog, GET and PATCH /metrics-catalog/{metric}. */
#include "server/api.h"

#include <math.h>

#include "common/model/metric.h"
#include "common/parse.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/server.h"

enum { M_NAME, M_UNIT, M_TITLE, M_BETTER, M_MARGIN, M_PRIMARY, M_DESCRIPTION, M_EDITED, M_RUNS };

static json_t *known_json(const struct metric *m)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:f, s:s, s:s, s:b, s:i}", "name", m->name, "title",
			 m->title, "unit", m->unit, "better", better_name(m->better), "margin_rel",
			 m->margin_rel, "primary", m->primary, "description", m->description,
			 "edited", 0, "runs", 0);
}

/* The catalogue is the default; the row says what a person changed. */
static json_t *row_json(const struct db_result *r, size_t row)
{
	const char *name = db_text(r, row, M_NAME);
	const struct metric *m = metric_find(name);
	bool edited = db_bool(r, row, M_EDITED), known = *m->name;
	const char *title = db_text(r, row, M_TITLE);
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "title",
			    json_string(known && !edited ? m->title
					: *title	 ? title
							 : name));
	json_object_set_new(o, "unit", json_string(db_text(r, row, M_UNIT)));
	json_object_set_new(
		o, "better",
		json_string(edited || !known ? db_text(r, row, M_BETTER) : better_name(m->better)));
	json_object_set_new(
		o, "margin_rel",
		json_real(db_is_null(r, row, M_MARGIN) ? m->margin_rel : db_f64(r, row, M_MARGIN)));
	json_object_set_new(o, "primary",
			    json_string(db_is_null(r, row, M_PRIMARY)
						? m->primary
						: db_text(r, row, M_PRIMARY)));
	json_object_set_new(o, "description",
			    json_string(known ? m->description : db_text(r, row, M_DESCRIPTION)));
	json_object_set_new(o, "edited", json_boolean(edited));
	json_object_set_new(o, "runs", json_integer(db_i64(r, row, M_RUNS)));
	return o;
}

static bool has_row(const struct db_result *r, const char *name)
{
	for (size_t i = 0; i < db_rows(r); i++)
		if (!strcmp(db_text(r, i, M_NAME), name))
			return true;
	return false;
}

static void on_list(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	json_t *items;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	items = js_rows(r, db_rows(r), row_json);
	for (const struct metric *m = metric_all(); m->name; m++)
		if (!has_row(r, m->name))
			json_array_append_new(items, known_json(m));
	(void)reply_json(req, 200, json_pack("{s:o}", "items", items));
}

enum step api_metrics(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_METRICS_LIST, (struct db_param[]){P_NULL(DB_TEXT)},
		 1, DB_DEADLINE_MS, &req->pending, on_list, req);
	return STEP_WAIT;
}

static void on_one(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	const char *name = request_path(req, "metric");
	const struct metric *m = metric_find(name);

	if (err)
		(void)reply_err(req, err);
	else if (db_rows(r))
		(void)reply_json(req, 200, row_json(r, 0));
	else if (*m->name)
		(void)reply_json(req, 200, known_json(m));
	else
		(void)reply_problem(req, 404, "not-found",
				    "Metrics are listed at /api/v1/metrics-catalog.",
				    "there is no metric '%s'", name);
}

static void query_one(struct request *req)
{
	db_query(req->server->db, DB_QUERY, &Q_METRICS_LIST,
		 (struct db_param[]){P_TEXT(request_path(req, "metric"))}, 1, DB_DEADLINE_MS,
		 &req->pending, on_one, req);
}

enum step api_metric(struct request *req)
{
	static const char *const none[] = {NULL};

	if (!api_params(req, none))
		return STEP_DONE;
	query_one(req);
	return STEP_WAIT;
}

/* ---- PATCH ---- */

static bool bad(struct request *req, const char *name, const char *what)
{
	(void)reply_fault(req,
			  &(struct fault){.status = 400, .slug = "invalid-body", .parameter = name},
			  "\"%s\" %s", name, what);
	return false;
}

static bool read_better(struct request *req, const json_t *body, const char **ret)
{
	if (!api_text(req, body, "better", 10, ret))
		return false;
	return !*ret || !strcmp(*ret, "lower") || !strcmp(*ret, "higher") ||
	       !strcmp(*ret, "none") || bad(req, "better", "is lower, higher or none");
}

static bool read_margin(struct request *req, const json_t *body, struct db_param *ret)
{
	const json_t *v = json_object_get(body, "margin_rel");
	double m = json_number_value(v);

	*ret = P_NULL(DB_F64);
	if (!v || json_is_null(v))
		return true;
	if (!json_is_number(v) || !(m >= 0 && m <= 10))
		return bad(req, "margin_rel", "is a share such as 0.05 for 5 %");
	*ret = P_F64(m);
	return true;
}

/* mean, min, max, sdev or a percentile. */
static bool read_primary(struct request *req, const json_t *body, const char **ret)
{
	static const char *const words[] = {"mean", "min", "max", "sdev"};
	double p;

	if (!api_text(req, body, "primary", 12, ret) || !*ret)
		return !*ret;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i], *ret))
			return true;
	return (**ret == 'p' && !parse_double(*ret + 1, &p, NULL) && p > 0 && p < 100) ||
	       bad(req, "primary", "is mean, min, max, sdev or a percentile as p99.9");
}

static void on_patched(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	(void)r;
	if (err)
		(void)reply_err(req, err);
	else
		query_one(req);
}

static bool start_patch(struct request *req, const json_t *body)
{
	const char *name = request_path(req, "metric"), *better, *primary, *title;
	const struct metric *m = metric_find(name);
	struct db_param margin;

	if (!read_better(req, body, &better) || !read_margin(req, body, &margin) ||
	    !read_primary(req, body, &primary) || !api_text(req, body, "title", 100, &title))
		return false;
	if (title && !*title)
		return bad(req, "title", "must not be empty");
	if (!*name || strlen(name) > 128 || !text_is_clean(name, strlen(name)))
		return bad(req, "metric", "is a name of 1 to 128 bytes");
	db_query(req->server->db, DB_QUERY, &Q_METRIC_PATCH,
		 (struct db_param[]){P_TEXT(name), P_TEXT(m->unit),
				     P_TEXT(*m->name ? m->title : name),
				     P_TEXT(better_name(m->better)), P_TEXT(m->description),
				     P_TEXT(better), margin, P_TEXT(primary), P_TEXT(title)},
		 9, DB_DEADLINE_MS, &req->pending, on_patched, req);
	return true;
}

enum step api_metric_edit(struct request *req)
{
	static const char *const none[] = {NULL};
	static const char *const members[] = {"better", "margin_rel", "primary", "title", NULL};
	json_t *body = NULL;
	bool started;

	if (!api_params(req, none) || !api_body(req, members, &body))
		return STEP_DONE;
	started = start_patch(req, body);
	json_decref(body);
	return started ? STEP_WAIT : STEP_DONE;
}
