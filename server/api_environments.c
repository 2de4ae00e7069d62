/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /environments/{sha256} and /environments/diff. */
#include "server/api.h"

#include "common/check.h"
#include "common/compare/compare.h"
#include "common/parse.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/server.h"

#define DIGITS_MIN 8

static bool is_digits(const char *s)
{
	size_t len = strlen(s);

	return len >= DIGITS_MIN && len <= 64 && strspn(s, "0123456789abcdef") == len;
}

static void on_environment(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	if (db_rows(r) != 1) {
		(void)reply_problem(req, 404, "not-found", NULL,
				    db_rows(r)
					    ? "several environments begin with %s; give more digits"
					    : "there is no environment %s",
				    request_path(req, "sha256"));
		return;
	}
	(void)reply_json(req, 200,
			 json_pack("{s:s, s:o, s:I, s:o}", "sha256", db_text(r, 0, 0), "facts",
				   json_loads(db_text(r, 0, 1), 0, NULL), "runs",
				   (json_int_t)db_i64(r, 0, 2), "hosts",
				   json_loads(db_text(r, 0, 3), 0, NULL)));
}

enum step api_environment(struct request *req)
{
	static const char *const none[] = {NULL};
	const char *digits = request_path(req, "sha256");

	if (!api_params(req, none))
		return STEP_DONE;
	if (!is_digits(digits))
		return reply_problem(
			req, 404, "not-found", NULL,
			"an environment is named by 8 to 64 hex digits of its SHA-256");
	db_query(req->server->db, DB_QUERY, &Q_ENVIRONMENT_GET, (struct db_param[]){P_TEXT(digits)},
		 1, DB_DEADLINE_MS, &req->pending, on_environment, req);
	return STEP_WAIT;
}

/* ---- diff ---- */

static void put_difference(json_t *items, const char *key, json_t *a, json_t *b)
{
	json_array_append_new(items, json_pack("{s:s, s:o, s:o, s:s}", "key", key, "a",
					       a ? json_incref(a) : json_null(), "b",
					       b ? json_incref(b) : json_null(), "class",
					       compare_fact_class(key)));
}

static json_t *diff_json(json_t *a, json_t *b, int64_t *ret_equal)
{
	json_t *items = json_array(), *v;
	const char *key;

	*ret_equal = 0;
	json_object_foreach(a, key, v)
	{
		if (json_equal(v, json_object_get(b, key)))
			(*ret_equal)++;
		else
			put_difference(items, key, v, json_object_get(b, key));
	}
	json_object_foreach(b, key, v) if (!json_object_get(a, key))
		put_difference(items, key, NULL, v);
	return items;
}

static void on_two(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;
	json_t *a, *b, *items;
	int64_t equal;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	if (db_rows(r) != 2) {
		bool have_a = db_rows(r) && !strcmp(db_text(r, 0, 0), "a");
		const char *missing = have_a ? "b" : "a";

		(void)reply_problem(req, 404, "not-found", NULL,
				    "%s: no environment is known of %s", missing,
				    request_query(req, missing));
		return;
	}
	a = json_loads(db_text(r, 0, 2), 0, NULL);
	b = json_loads(db_text(r, 1, 2), 0, NULL);
	CHECK(a && b);
	items = diff_json(a, b, &equal);
	(void)reply_json(req, 200,
			 json_pack("{s:s, s:s, s:o, s:I}", "a", db_text(r, 0, 1), "b",
				   db_text(r, 1, 1), "items", items, "equal", (json_int_t)equal));
	json_decref(a);
	json_decref(b);
}

/* Digits of a SHA-256, or a run. A number of eight digits or more is taken for digits. */
static bool read_one(struct request *req, const char *name, struct db_param p[2])
{
	const char *v = request_query(req, name);
	struct err err;
	int64_t id;

	p[0] = P_NULL(DB_TEXT);
	p[1] = P_NULL(DB_I64);
	if (v && is_digits(v)) {
		p[0] = P_TEXT(v);
		return true;
	}
	if (v && !request_id(v, 'r', &id, &err)) {
		p[1] = P_I64(id);
		return true;
	}
	(void)reply_fault(req,
			  &(struct fault){.status = 400,
					  .slug = v ? "invalid-parameter" : "missing-parameter",
					  .parameter = name},
			  "%s: give a SHA-256 (8 digits or more) or a run as r_17", name);
	return false;
}

enum step api_environment_diff(struct request *req)
{
	static const char *const names[] = {"a", "b", NULL};
	struct db_param p[4];

	if (!api_params(req, names) || !read_one(req, "a", &p[0]) || !read_one(req, "b", &p[2]))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_ENVIRONMENTS_TWO, p, 4, DB_DEADLINE_MS,
		 &req->pending, on_two, req);
	return STEP_WAIT;
}
