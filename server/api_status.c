/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server about itself: index, the OpenAPI document, status; removal of the demo data. */
#include "server/api.h"

#include <sys/statvfs.h>

#include "common/clock.h"
#include "common/sha256.h"
#include "server/api_common.h"
#include "server/queries.h"
#include "server/server.h"

#define METHOD 1 /* of common/compare */

extern const char openapi_json[];
extern const size_t openapi_json_len;

static const char *const none[] = {NULL};

enum step api_index(struct request *req)
{
	static const char *const links[][2] = {
		{"hosts", "/api/v1/hosts"},
		{"experiments", "/api/v1/experiments"},
		{"runs", "/api/v1/runs"},
		{"compare", "/api/v1/compare"},
		{"comparisons", "/api/v1/comparisons"},
		{"imports", "/api/v1/imports"},
		{"series", "/api/v1/series"},
		{"changes", "/api/v1/changes"},
		{"annotations", "/api/v1/annotations"},
		{"orders", "/api/v1/orders"},
		{"metrics_catalog", "/api/v1/metrics-catalog"},
		{"status", "/api/v1/status"},
		{"openapi", "/api/v1/openapi.json"},
	};
	json_t *o;

	if (!api_params(req, none))
		return STEP_DONE;
	o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		json_object_set_new(o, links[i][0], json_string(links[i][1]));
	return reply_json(req, 200,
			  json_pack("{s:s, s:s, s:i, s:[s,s,s,s,s], s:o}", "name", "rigstat",
				    "version", RIGSTAT_VERSION, "method", METHOD, "features",
				    "import", "compare", "gate", "pins", "tracking", "links", o));
}

enum step api_openapi(struct request *req)
{
	char tag[SHA256_HEX];

	if (!api_params(req, none))
		return STEP_DONE;
	(void)sha256_hex(openapi_json, openapi_json_len, tag);
	if (reply_etag(req, tag, false, false))
		return STEP_DONE;
	return reply_static(req, 200, "application/json", openapi_json, openapi_json_len);
}

/* Of a database that we start ourselves; where another one keeps its files is not known here. */
static json_t *disk_json(const struct server_options *options)
{
	struct statvfs fs;

	if (!options->embedded_dir || statvfs(options->embedded_dir, &fs) < 0)
		return json_null();
	return json_pack("{s:I, s:I}", "free_bytes", (json_int_t)(fs.f_bavail * fs.f_frsize),
			 "total_bytes", (json_int_t)(fs.f_blocks * fs.f_frsize));
}

static json_t *days_or_null(int64_t days)
{
	return days ? json_integer(days) : json_null();
}

static json_t *keep_json(const struct retention *keep)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "samples_days", days_or_null(keep->samples_days),
			 "minutes_days", days_or_null(keep->minutes_days), "watch_days",
			 days_or_null(keep->watch_days), "runs_days",
			 days_or_null(keep->runs_days));
}

static void on_status(void *ctx, const struct db_result *r, const struct err *err)
{
	static const char *const counts[] = {"hosts",	"experiments", "runs",
					     "imports", "pins",	       "demo_runs"};
	struct request *req = ctx;
	json_t *o, *c;

	if (err) {
		(void)reply_err(req, err);
		return;
	}
	c = json_object();
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		json_object_set_new(c, counts[i], json_integer(db_i64(r, 0, 3 + (unsigned int)i)));
	o = json_pack("{s:s, s:i, s:o, s:o, s:{s:s, s:I, s:I}, s:o}", "version", RIGSTAT_VERSION,
		      "method", METHOD, "now", js_time(clock_realtime_ns()), "started",
		      js_time(req->server->started_ns), "database", "version", db_text(r, 0, 0),
		      "bytes", (json_int_t)db_i64(r, 0, 1), "schema", (json_int_t)db_i64(r, 0, 2),
		      "counts", c);
	json_object_set_new(o, "staging",
			    json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)db_i64(r, 0, 9),
				      "bytes", (json_int_t)db_i64(r, 0, 10), "oldest",
				      js_time(db_is_null(r, 0, 11) ? 0 : db_time_ns(r, 0, 11))));
	json_object_set_new(o, "disk", disk_json(&req->server->options));
	json_object_set_new(o, "keep", keep_json(&req->server->options.keep));
	(void)reply_json(req, 200, o);
}

enum step api_status(struct request *req)
{
	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_SERVER_STATUS, NULL, 0, DB_DEADLINE_MS,
		 &req->pending, on_status, req);
	return STEP_WAIT;
}

static void on_demo_removed(void *ctx, const struct db_result *r, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		(void)reply_err(req, err);
	else
		(void)reply_json(req, 200,
				 json_pack("{s:I, s:I}", "experiments", (json_int_t)db_i64(r, 0, 0),
					   "runs", (json_int_t)db_i64(r, 0, 1)));
}

enum step api_demo_remove(struct request *req)
{
	if (!api_params(req, none))
		return STEP_DONE;
	db_query(req->server->db, DB_QUERY, &Q_DEMO_REMOVE, NULL, 0, DB_DEADLINE_MS, &req->pending,
		 on_demo_removed, req);
	return STEP_WAIT;
}
