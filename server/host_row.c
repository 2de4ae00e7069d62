/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/host_row.h"

#include "common/check.h"
#include "common/parse.h"
#include "server/api_common.h"

static json_t *loads(const struct db_result *r, size_t row, unsigned int col)
{
	json_t *v = json_loads(db_text(r, row, col), 0, NULL);

	CHECK(v); /* the database made it */
	return v;
}

static json_t *loads_or_null(const struct db_result *r, size_t row, unsigned int col)
{
	return db_is_null(r, row, col) ? json_null() : loads(r, row, col);
}

static json_t *time_or_null(const struct db_result *r, size_t row, unsigned int col)
{
	return js_time(db_is_null(r, row, col) ? 0 : db_time_ns(r, row, col));
}

static json_t *last_run_json(const struct db_result *r, size_t row)
{
	json_t *o = loads_or_null(r, row, H_LAST_RUN), *ns;

	if (json_is_null(o))
		return o;
	ns = json_object_get(o, "started_ns");
	json_object_set_new(o, "started", js_time(json_integer_value(ns)));
	json_object_del(o, "started_ns");
	return o;
}

static json_t *cpus_json(const struct db_result *r, size_t row)
{
	int64_t n;

	if (db_is_null(r, row, H_CPUS) || parse_i64(db_text(r, row, H_CPUS), &n, NULL))
		return json_null();
	return json_integer(n);
}

json_t *host_reservation_json(const struct db_result *r, size_t row, unsigned int first)
{
	if (db_is_null(r, row, first))
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o}", "by", db_text(r, row, first), "reason",
			 js_text_or_null(db_text(r, row, first + 1)), "since",
			 time_or_null(r, row, first + 2), "until", time_or_null(r, row, first + 3));
}

/* ---- the agent's report ---- */

static json_t *member(const json_t *report, const char *name)
{
	json_t *v = json_object_get(report, name);

	return v ? json_incref(v) : json_null();
}

static json_t *error_json(const json_t *report)
{
	const char *text = json_string_value(json_object_get(report, "error"));

	if (!text)
		return json_null();
	return json_pack("{s:s, s:o}", "text", text, "time",
			 js_time(json_integer_value(json_object_get(report, "error_ns"))));
}

static json_t *agent_json(const struct db_result *r, size_t row, const json_t *report)
{
	json_t *o;

	if (json_is_null(report))
		return json_null();
	o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
		      js_text(db_text_or_null(r, row, H_VERSION)), "reported",
		      time_or_null(r, row, H_REPORTED), "uptime_ns", member(report, "uptime_ns"),
		      "box_uptime_ns", member(report, "box_uptime_ns"), "clock_offset_ns",
		      js_i64_or_null(r, row, H_OFFSET), "clock_error_ns",
		      member(report, "clock_error_ns"), "error", error_json(report));
	json_object_set_new(o, "spool",
			    json_pack("{s:o, s:o, s:o}", "bytes", member(report, "spool_bytes"),
				      "records", member(report, "spool_records"), "problem",
				      member(report, "spool_problem")));
	json_object_set_new(o, "dropped",
			    json_pack("{s:o, s:o, s:o}", "records",
				      member(report, "dropped_records"), "samples",
				      member(report, "dropped_samples"), "refused",
				      member(report, "refused_records")));
	json_object_set_new(o, "settings", member(report, "settings"));
	return o;
}

/* How far the newest record here is behind: what the agent said, and since then it may have
 * grown. */
static json_t *lag_json(const struct db_result *r, size_t row, const json_t *report)
{
	const json_t *lag = json_object_get(report, "lag_ns");
	int64_t age = db_is_null(r, row, H_REPORT_AGE) ? 0 : db_i64(r, row, H_REPORT_AGE);

	if (!json_is_integer(lag))
		return js_i64_or_null(r, row, H_AGE);
	if (strcmp(db_text(r, row, H_STATE), "online") == 0)
		age = 0;
	return json_integer(json_integer_value(lag) + age);
}

static json_t *now_pack(const char *state, const char *text, const json_t *experiment,
			const json_t *run)
{
	return json_pack("{s:s, s:s, s:O?, s:O?}", "state", state, "text", text, "experiment",
			 experiment, "run", run);
}

/* What the box does now. An experiment of this server comes first, then a run that a person
 * started there, then what the daemon says. */
static json_t *now_json(const struct db_result *r, size_t row, const json_t *report)
{
	json_auto_t *assigned = loads_or_null(r, row, H_ASSIGNED);
	json_auto_t *run = loads_or_null(r, row, H_OPEN_RUN);
	const char *state = db_text(r, row, H_STATE);
	const char *doing = json_string_value(json_object_get(report, "doing"));
	const char *what = json_string_value(json_object_get(report, "doing_text"));
	const char *kind = json_string_value(json_object_get(run, "kind"));
	const json_t *id = json_object_get(run, "id");
	char *text CLEANUP(freep) = NULL;

	if (strcmp(state, "online") != 0 && strcmp(state, "stale") != 0)
		return json_null();
	if (json_is_object(assigned)) {
		text = xasprintf("experiment %s",
				 json_string_value(json_object_get(assigned, "name")));
		return now_pack("experiment", text, json_object_get(assigned, "id"), id);
	}
	if (kind && strcmp(kind, "measured") == 0) {
		const char *name = json_string_value(json_object_get(run, "experiment"));

		text = xasprintf("measuring %s", name ? name : "a run");
		return now_pack("measuring", text, json_object_get(run, "experiment_id"), id);
	}
	if (doing && strcmp(doing, "experiment") == 0)
		return now_pack("measuring", what ? what : "measuring", NULL, NULL);
	if (doing ? strcmp(doing, "watching") == 0 : kind != NULL)
		return now_pack("watching", "watching", NULL, id);
	return now_pack("idle", "idle", NULL, NULL);
}

json_t *host_row_json(const struct db_result *r, size_t row)
{
	json_auto_t *report = loads_or_null(r, row, H_REPORT);
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(db_text(r, row, H_NAME)));
	json_object_set_new(o, "state", json_string(db_text(r, row, H_STATE)));
	json_object_set_new(o, "last_seen", time_or_null(r, row, H_SEEN));
	json_object_set_new(o, "age_ns", js_i64_or_null(r, row, H_AGE));
	json_object_set_new(o, "lag_ns", lag_json(r, row, report));
	json_object_set_new(o, "now", now_json(r, row, report));
	json_object_set_new(o, "agent_version", js_text(db_text_or_null(r, row, H_VERSION)));
	json_object_set_new(o, "agent", agent_json(r, row, report));
	json_object_set_new(o, "kernel", js_text(db_text_or_null(r, row, H_KERNEL)));
	json_object_set_new(o, "cpu", js_text(db_text_or_null(r, row, H_CPU)));
	json_object_set_new(o, "cpus", cpus_json(r, row));
	json_object_set_new(o, "environment", js_text(db_text_or_null(r, row, H_ENV)));
	json_object_set_new(o, "lost_1h", json_integer(db_i64(r, row, H_LOST)));
	json_object_set_new(o, "runs", json_integer(db_i64(r, row, H_RUNS)));
	json_object_set_new(o, "last_run", last_run_json(r, row));
	json_object_set_new(o, "reserved", host_reservation_json(r, row, H_RESERVED_BY));
	json_object_set_new(o, "retired", time_or_null(r, row, H_RETIRED));
	json_object_set_new(o, "settings", loads(r, row, H_SETTINGS));
	json_object_set_new(o, "tags", loads(r, row, H_TAGS));
	json_object_set_new(o, "note", js_text_or_null(db_text(r, row, H_NOTE)));
	json_object_set_new(o, "location", js_text_or_null(db_text(r, row, H_LOCATION)));
	return o;
}
