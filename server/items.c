/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/items.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/parse.h"
#include "server/http_parse.h"

#define ITEM_BYTES_MAX	(256 * 1024)
#define ITEM_VALUES_MAX 20000
#define ITEM_DEPTH_MAX	8
#define TEXT_MAX	4096
#define NAME_MAX_LEN	128
#define LABELS_MAX	64

enum kind {
	F_UID,	 /* 32 hex digits */
	F_HEX32, /* 64 hex digits */
	F_NAME,	 /* text of 1 to 128 bytes */
	F_TEXT,	 /* text up to 4 KiB */
	F_INT,	 /* any int64 */
	F_COUNT, /* an integer >= 0 */
	F_BOOL,
	F_LABELS, /* object: name -> text, number or true/false; stored as texts */
	F_OBJECT, /* any object within the general bounds */
	F_ARRAY,
};

struct field {
	const char *name;
	enum kind kind;
	bool required;
	const char *const *words; /* NULL, or the closed set of a F_NAME */
};

static const char *const run_kinds[] = {"measured", "watch", NULL};
static const char *const end_states[] = {"ok", "failed", "aborted", NULL};
static const char *const window_ends[] = {"workload", "duration", "stopped", NULL};
static const char *const series_kinds[] = {"hist", "value", "counter", "absent", NULL};
static const char *const value_states[] = {"exact", "estimated", "doubtful", NULL};
static const char *const omissions[] = {"unknown", "keeps_deadlines", "skips_missed",
					"intended_time", NULL};
static const char *const gap_reasons[] = {"quota",	     "torn",	    "corrupt", "rejected",
					  "server_rollback", "unclean_end", NULL};

static const struct field run_start[] = {
	{"run_uid", F_UID, true, NULL},
	{"kind", F_NAME, true, run_kinds},
	{"host", F_NAME, true, NULL},
	{"agent_version", F_NAME, false, NULL},
	{"boot_id", F_NAME, false, NULL},
	{"started_ns", F_INT, true, NULL},
	{"experiment", F_OBJECT, false, NULL},
	{"factors", F_LABELS, false, NULL},
	{"order", F_COUNT, false, NULL},
	{"block", F_COUNT, false, NULL},
	{"attempt", F_COUNT, false, NULL},
	{"warmup_ns", F_COUNT, false, NULL},
	{"duration_ns", F_COUNT, false, NULL},
	{"workload", F_OBJECT, false, NULL},
	{"environment_sha256", F_HEX32, false, NULL},
	{"tags", F_LABELS, false, NULL},
	{"quiet_until_ns", F_INT, false, NULL},
	{0},
};
static const struct field experiment[] = {
	{"name", F_NAME, true, NULL},
	{"uid", F_UID, true, NULL},
	{"factors", F_ARRAY, false, NULL},
	{"order", F_NAME, false, NULL},
	{"runs_per_cell", F_COUNT, false, NULL},
	{"total_runs", F_COUNT, false, NULL},
	{"seed", F_INT, false, NULL},
	{0},
};
static const struct field run_end[] = {
	{"run_uid", F_UID, true, NULL},	       {"state", F_NAME, true, end_states},
	{"reason", F_TEXT, false, NULL},       {"window_end", F_NAME, false, window_ends},
	{"started_ns", F_INT, false, NULL},    {"ended_ns", F_INT, false, NULL},
	{"measured_ns", F_COUNT, false, NULL}, {"workload", F_OBJECT, false, NULL},
	{"cost", F_OBJECT, false, NULL},       {"missed", F_OBJECT, false, NULL},
	{"states", F_OBJECT, false, NULL},     {"lost", F_COUNT, false, NULL},
	{"marks", F_ARRAY, false, NULL},       {0},
};
static const struct field series[] = {
	{"metric", F_NAME, true, NULL},
	{"kind", F_NAME, true, series_kinds},
	{"unit", F_TEXT, false, NULL},
	{"labels", F_LABELS, false, NULL},
	{"method", F_NAME, false, NULL},
	{"omission", F_NAME, false, omissions},
	{"interval_ns", F_COUNT, false, NULL},
	{"resolution_ns", F_COUNT, false, NULL},
	{"reason", F_TEXT, false, NULL},
	{"state", F_NAME, false, value_states},
	{0},
};
static const struct field gap[] = {
	{"stream", F_UID, true, NULL},
	{"from_seq", F_COUNT, true, NULL},
	{"to_seq", F_COUNT, true, NULL},
	{"samples", F_COUNT, false, NULL},
	{"reason", F_NAME, true, gap_reasons},
	{"text", F_TEXT, false, NULL},
	{0},
};
static const struct field breach[] = {
	{"t_ns", F_INT, true, NULL},
	{"cpu", F_COUNT, false, NULL},
	{"late_ns", F_INT, true, NULL},
	{"due_ns", F_INT, false, NULL},
	{"holders", F_ARRAY, false, NULL},
	{"read", F_BOOL, false, NULL},
	{0},
};
static const struct field log_line[] = {
	{"t_ns", F_INT, false, NULL},
	{"level", F_NAME, false, NULL},
	{"text", F_TEXT, true, NULL},
	{0},
};

static const struct {
	enum item_type type;
	const char *name;
	const struct field *fields; /* NULL: any flat object */
} items[] = {
	{ITEM_RUN_START, "run start", run_start},
	{ITEM_RUN_END, "run end", run_end},
	{ITEM_SERIES, "series", series},
	{ITEM_GAP, "gap", gap},
	{ITEM_BREACH, "breach", breach},
	{ITEM_ENVIRONMENT, "environment", NULL},
	{ITEM_LOG, "log", log_line},
};

bool item_uid(const char *text, unsigned char ret[16])
{
	if (!text || strlen(text) != 32)
		return false;
	for (size_t i = 0; i < 32; i++) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, text[i]);

		if (!at)
			return false;
		if (i % 2)
			ret[i / 2] = (unsigned char)(ret[i / 2] | (at - digits));
		else
			ret[i / 2] = (unsigned char)((at - digits) << 4);
	}
	return true;
}

static bool is_hex(const json_t *v, size_t len)
{
	const char *s = json_string_value(v);

	return s && strlen(s) == len && strspn(s, "0123456789abcdef") == len;
}

static bool is_word(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(s, *words) == 0)
			return true;
	return false;
}

/* Every text and key inside is clean and bounded: what is stored can be shown anywhere. */
static bool texts_are_clean(const json_t *v)
{
	const char *key;
	json_t *child;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_STRING:
		return json_string_length(v) <= TEXT_MAX &&
		       text_is_clean(json_string_value(v), json_string_length(v));
	case JSON_OBJECT:
		json_object_foreach((json_t *)(uintptr_t)v, key,
				    child) if (!*key || strlen(key) > NAME_MAX_LEN ||
					       !text_is_clean(key, strlen(key)) ||
					       !texts_are_clean(child)) return false;
		return true;
	case JSON_ARRAY:
		json_array_foreach(v, i, child) if (!texts_are_clean(child)) return false;
		return true;
	default:
		return true;
	}
}

/* {"rq_affinity": 1} and {"rq_affinity": "1"} are the same level. */
static json_t *labels_of(const json_t *v)
{
	json_t *out, *child;
	const char *key;
	char text[40];

	if (!json_is_object(v) || json_object_size(v) > LABELS_MAX)
		return NULL;
	out = json_object();
	json_object_foreach((json_t *)(uintptr_t)v, key, child)
	{
		json_t *level = NULL;

		if (json_is_string(child)) {
			level = json_incref(child);
		} else if (json_is_integer(child)) {
			(void)snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
				       json_integer_value(child));
			level = json_string(text);
		} else if (json_is_real(child)) {
			(void)snprintf(text, sizeof(text), "%.17g", json_real_value(child));
			level = json_string(text);
		} else if (json_is_boolean(child)) {
			level = json_string(json_is_true(child) ? "true" : "false");
		}
		if (!level) {
			json_decref(out);
			return NULL;
		}
		(void)json_object_set_new(out, key, level);
	}
	return out;
}

/* The checked value, new reference; NULL when it is not of the kind. */
static json_t *field_value(const struct field *f, json_t *v)
{
	const char *s = json_string_value(v);
	bool ok = false;

	switch (f->kind) {
	case F_UID:
		ok = is_hex(v, 32);
		break;
	case F_HEX32:
		ok = is_hex(v, 64);
		break;
	case F_NAME:
		ok = s && *s && strlen(s) <= NAME_MAX_LEN && (!f->words || is_word(s, f->words));
		break;
	case F_TEXT:
		ok = s != NULL;
		break;
	case F_INT:
		ok = json_is_integer(v);
		break;
	case F_COUNT:
		ok = json_is_integer(v) && json_integer_value(v) >= 0;
		break;
	case F_BOOL:
		ok = json_is_boolean(v);
		break;
	case F_LABELS:
		return labels_of(v);
	case F_OBJECT:
		ok = json_is_object(v);
		break;
	case F_ARRAY:
		ok = json_is_array(v);
		break;
	}
	return ok ? json_incref(v) : NULL;
}

static int check_fields(const char *item, const struct field *fields, const json_t *obj,
			json_t **ret, struct err *reterr)
{
	json_t *out = json_object();

	for (const struct field *f = fields; f->name; f++) {
		json_t *v = json_object_get(obj, f->name), *good;

		if (!v || json_is_null(v)) {
			if (!f->required)
				continue;
			json_decref(out);
			return err_set(reterr, ERR_INVALID, "%s: %s is missing", item, f->name);
		}
		good = field_value(f, v);
		if (!good) {
			json_decref(out);
			return err_set(reterr, ERR_INVALID, "%s: %s is not what it must be", item,
				       f->name);
		}
		(void)json_object_set_new(out, f->name, good);
	}
	*ret = out;
	return 0;
}

static int check_environment(const json_t *obj, struct err *reterr)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)obj, key,
			    v) if (!json_is_string(v) &&
				   !json_is_number(v)) return err_set(reterr, ERR_INVALID,
								      "environment: %.60s is "
								      "neither a text nor a number",
								      key);
	return 0;
}

/* The holders of a breach are shown and counted: fix their form. */
static int check_holders(const json_t *obj, struct err *reterr)
{
	static const struct field holder[] = {
		{"name", F_TEXT, true, NULL},
		{"kind", F_NAME, true, NULL},
		{"ns", F_COUNT, true, NULL},
		{"reason", F_TEXT, false, NULL},
		{0},
	};
	json_t *list = json_object_get(obj, "holders"), *v, *good;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (check_fields("breach: holders", holder, v, &good, reterr) < 0)
			return reterr->code;
		(void)json_array_set_new(list, i, good);
	}
	return 0;
}

static int check_marks(const json_t *obj, struct err *reterr)
{
	static const struct field mark[] = {
		{"code", F_NAME, true, NULL},
		{"text", F_TEXT, true, NULL},
		{0},
	};
	json_t *list = json_object_get(obj, "marks"), *v, *good;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (check_fields("run end: marks", mark, v, &good, reterr) < 0)
			return reterr->code;
		(void)json_array_set_new(list, i, good);
	}
	return 0;
}

static int check_experiment(json_t *obj, struct err *reterr)
{
	json_t *e = json_object_get(obj, "experiment"), *good;

	if (!e)
		return 0;
	if (check_fields("run start: experiment", experiment, e, &good, reterr) < 0)
		return reterr->code;
	(void)json_object_set_new(obj, "experiment", good);
	return 0;
}

static int check_item(enum item_type type, const char *name, const struct field *fields,
		      json_t *obj, json_t **ret, struct err *reterr)
{
	if (!texts_are_clean(obj))
		return err_set(reterr, ERR_INVALID,
			       "%s: a text has control characters or is longer than %d bytes", name,
			       TEXT_MAX);
	if (!fields) {
		if (check_environment(obj, reterr) < 0)
			return reterr->code;
		*ret = json_incref(obj);
		return 0;
	}
	if (check_fields(name, fields, obj, ret, reterr) < 0)
		return reterr->code;
	if ((type == ITEM_RUN_START && check_experiment(*ret, reterr) < 0) ||
	    (type == ITEM_RUN_END && check_marks(*ret, reterr) < 0) ||
	    (type == ITEM_BREACH && check_holders(*ret, reterr) < 0)) {
		json_decref(*ret);
		return reterr->code;
	}
	return 0;
}

int item_json(enum item_type type, const char *text, size_t len, json_t **ret, struct err *reterr)
{
	json_error_t why;
	json_t *obj;
	size_t i = 0;
	int rc;

	while (i < ARRAY_LEN(items) && items[i].type != type)
		i++;
	if (i == ARRAY_LEN(items))
		return err_set(reterr, ERR_INVALID, "item %d holds no JSON", (int)type);
	if (len > ITEM_BYTES_MAX)
		return err_set(reterr, ERR_LIMIT, "%s: longer than %d bytes", items[i].name,
			       ITEM_BYTES_MAX);
	if (http_check_json(text, len, ITEM_VALUES_MAX, ITEM_DEPTH_MAX, reterr) < 0)
		return err_prefix(reterr, "%s: ", items[i].name);
	obj = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(obj)) {
		json_decref(obj);
		return err_set(reterr, ERR_INVALID, "%s: %s", items[i].name,
			       obj ? "not a JSON object" : why.text);
	}
	rc = check_item(type, items[i].name, items[i].fields, obj, ret, reterr);
	json_decref(obj);
	return rc;
}

int64_t item_i64(const json_t *obj, const char *key, int64_t def)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_integer(v) ? json_integer_value(v) : def;
}

const char *item_text(const json_t *obj, const char *key)
{
	return json_string_value(json_object_get(obj, key));
}
