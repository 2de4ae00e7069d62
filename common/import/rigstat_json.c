/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own run documents: one object, an array of them, {"runs": [...]}, or one on each line. */
#include "common/import/formats.h"
#include "common/import/json.h"

static int add_document(const json_t *j, struct runs *ret, struct err *reterr)
{
	struct run *r;
	int rc = run_from_json(j, &r, reterr);

	if (rc)
		return rc;
	runs_add(ret, r);
	return 0;
}

static int add_documents(const json_t *j, struct runs *ret, struct err *reterr)
{
	const json_t *list = json_is_array(j) ? j : json_object_get(j, "runs");
	int rc = 0;

	if (!json_is_array(list))
		return add_document(j, ret, reterr);
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		rc = add_document(json_array_get(list, i), ret, reterr);
		if (rc)
			return err_prefix(reterr, "run %zu of the list: ", i + 1);
	}
	return 0;
}

static int rigstat_json_read(const char *data, size_t len, const struct import_options *o,
			     struct runs *ret, struct err *reterr)
{
	struct span s = span_trim((struct span){data, len});
	size_t document = 0;

	while (s.len) {
		json_t *j;
		int rc = json_next(&s, o, data, &j, reterr);

		if (rc)
			return rc;
		document++;
		rc = add_documents(j, ret, reterr);
		json_decref(j);
		if (rc)
			return err_prefix(reterr, "%s: document %zu: ", import_source(o), document);
		s = span_trim(s);
	}
	return 0;
}

/* Above every foreign format: a run document may hold fields of the tool that it came from. */
static int rigstat_json_sniff(const char *data, size_t len)
{
	if (!json_sniff(data, len, "series") || !json_sniff(data, len, "metric"))
		return 0;
	return json_sniff(data, len, "kind") && json_sniff(data, len, "state") ? 98 : 80;
}

const struct import_format import_rigstat_json = {
	.name = "rigstat-json",
	.title = "run documents of rigstat (JSON, one or one a line)",
	.sniff = rigstat_json_sniff,
	.read = rigstat_json_read,
};
