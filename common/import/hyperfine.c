/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hyperfine --export-json: {"results": [{"command", "times": [seconds, ...], "parameters"}]}. Each
 * time is a run; command and parameters are factors. */
#include "common/import/formats.h"
#include "common/import/json.h"

#define RUNS_MAX 100000

static int hyperfine_result(const json_t *result, const struct import_options *o, struct runs *ret,
			    struct err *reterr)
{
	const json_t *times = json_object_get(result, "times");
	const json_t *codes = json_object_get(result, "exit_codes");
	const char *command = json_get_text(result, "command"), *key;
	json_t *value;

	if (!json_array_size(times))
		return err_set(reterr, ERR_INVALID, "no \"times\": export with --export-json");
	if (json_array_size(times) > RUNS_MAX)
		return err_set(reterr, ERR_LIMIT, "more than %d runs", RUNS_MAX);
	for (size_t i = 0; i < json_array_size(times); i++) {
		struct run *r;
		double seconds;

		if (!json_get_number(json_array_get(times, i), &seconds) || seconds < 0)
			return err_set(reterr, ERR_INVALID, "time %zu is not a number", i + 1);
		r = import_run(ret, o);
		r->order = (uint32_t)ret->len;
		import_value(r, "elapsed", "ns", seconds * 1e9)->method = xstrdup("hyperfine");
		if (command)
			labels_set(&r->factors, "command", command);
		json_object_foreach(json_object_get(result, "parameters"), key, value)
		{
			if (json_is_string(value))
				labels_set(&r->factors, key, json_string_value(value));
		}
		if (json_integer_value(json_array_get(codes, i))) {
			r->state = RUN_FAILED;
			run_note(r, "tool-failed", "the command ended with a status other than 0");
		}
	}
	return 0;
}

static int hyperfine_read(const char *data, size_t len, const struct import_options *o,
			  struct runs *ret, struct err *reterr)
{
	const json_t *results;
	json_t *root;
	int rc = json_only(data, len, o, &root, reterr);

	if (rc)
		return rc;
	results = json_object_get(root, "results");
	if (!json_array_size(results))
		rc = err_set(reterr, ERR_INVALID, "%s: no \"results\"", import_source(o));
	for (size_t i = 0; !rc && i < json_array_size(results); i++)
		if (hyperfine_result(json_array_get(results, i), o, ret, reterr))
			rc = err_prefix(reterr, "%s: result %zu: ", import_source(o), i + 1);
	json_decref(root);
	return rc;
}

static int hyperfine_sniff(const char *data, size_t len)
{
	return json_sniff(data, len, "results") && json_sniff(data, len, "command") &&
			       json_sniff(data, len, "times")
		       ? 90
		       : 0;
}

const struct import_format import_hyperfine = {
	.name = "hyperfine",
	.title = "hyperfine --export-json",
	.sniff = hyperfine_sniff,
	.read = hyperfine_read,
};
