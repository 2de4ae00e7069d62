/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/run_row.h"

#include "common/check.h"
#include "server/api_common.h"

enum {
	C_RUN_ID,
	C_UID,
	C_HOST,
	C_EXPERIMENT,
	C_EXPERIMENT_ID,
	C_KIND,
	C_STATE,
	C_STARTED,
	C_ENDED,
	C_MEASURED,
	C_FACTORS,
	C_TAGS,
	C_ORDER,
	C_BLOCK,
	C_KERNEL,
	C_EXCLUDED,
	C_DEMO,
	C_NOTES,
	C_LOST,
	C_MISSED,
	C_GAP_SAMPLES,
	C_REVISION,
	C_METRICS,
	C_METRIC,
	C_UNIT,
	C_SUMMARY_N,
	C_SUMMARY_AVG,
	C_P50,
	C_P99,
	C_MAX,
	C_MEAN,
	C_VALUE,
	C_COUNT,
	C_KEY,
	C_COLUMNS,
};

static json_t *json_of(const struct db_result *r, size_t row, unsigned int col)
{
	json_t *v = json_loads(db_text(r, row, col), 0, NULL);

	CHECK(v); /* the text came from a jsonb column */
	return v;
}

static json_t *summary_json(const struct db_result *r, size_t row)
{
	static const struct {
		const char *name;
		unsigned int col;
	} numbers[] = {{"p50", C_P50}, {"p99", C_P99}, {"max", C_MAX}, {"mean", C_MEAN}};
	json_t *o;

	if (db_is_null(r, row, C_METRIC))
		return json_null();
	o = json_pack("{s:s, s:s}", "metric", db_text(r, row, C_METRIC), "unit",
		      db_text(r, row, C_UNIT));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		json_object_set_new(o, numbers[i].name, js_f64_or_null(r, row, numbers[i].col));
	json_object_set_new(
		o, "value",
		js_f64_or_null(r, row, db_is_null(r, row, C_SUMMARY_N) ? C_VALUE : C_SUMMARY_AVG));
	json_object_set_new(o, "n", js_i64_or_null(r, row, C_SUMMARY_N));
	json_object_set_new(o, "count", js_i64_or_null(r, row, C_COUNT));
	json_object_set_new(o, "lost",
			    json_integer(db_i64(r, row, C_LOST) + db_i64(r, row, C_GAP_SAMPLES)));
	json_object_set_new(o, "missed", json_integer(db_i64(r, row, C_MISSED)));
	return o;
}

json_t *run_row_json(const struct db_result *r, size_t row)
{
	char uid[33];
	const char *host = db_text(r, row, C_HOST);
	json_t *o = json_object();

	CHECK(db_columns(r) == C_COLUMNS);
	json_object_set_new(o, "id", js_id('r', db_i64(r, row, C_RUN_ID)));
	json_object_set_new(o, "uid", json_string(db_uid(r, row, C_UID, uid)));
	json_object_set_new(o, "host",
			    strcmp(host, HOST_UNKNOWN) ? json_string(host) : json_null());
	json_object_set_new(o, "experiment", js_text(db_text_or_null(r, row, C_EXPERIMENT)));
	json_object_set_new(o, "experiment_id", js_id('e', db_i64(r, row, C_EXPERIMENT_ID)));
	json_object_set_new(o, "kind", json_string(db_text(r, row, C_KIND)));
	json_object_set_new(o, "state", json_string(db_text(r, row, C_STATE)));
	json_object_set_new(o, "started", js_time(db_i64(r, row, C_STARTED)));
	json_object_set_new(o, "ended", js_time(db_i64(r, row, C_ENDED)));
	json_object_set_new(o, "measured_ns", js_i64_or_null(r, row, C_MEASURED));
	json_object_set_new(o, "factors", json_of(r, row, C_FACTORS));
	json_object_set_new(o, "tags", json_of(r, row, C_TAGS));
	json_object_set_new(o, "order", js_i64_or_null(r, row, C_ORDER));
	json_object_set_new(o, "block", js_i64_or_null(r, row, C_BLOCK));
	json_object_set_new(o, "kernel", js_text(db_text_or_null(r, row, C_KERNEL)));
	json_object_set_new(o, "excluded", js_text(db_text_or_null(r, row, C_EXCLUDED)));
	json_object_set_new(o, "metrics", json_of(r, row, C_METRICS));
	json_object_set_new(o, "demo", json_boolean(db_bool(r, row, C_DEMO)));
	json_object_set_new(o, "notes", json_integer(db_i64(r, row, C_NOTES)));
	json_object_set_new(o, "summary", summary_json(r, row));
	return o;
}

int64_t run_row_id(const struct db_result *r, size_t row)
{
	return db_i64(r, row, C_RUN_ID);
}

int64_t run_row_revision(const struct db_result *r, size_t row)
{
	return db_i64(r, row, C_REVISION);
}

const char *run_row_key(const struct db_result *r, size_t row)
{
	return db_text(r, row, C_KEY);
}
