/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One reference side against up to five others. */
#include "common/compare/document.h"
#include "common/compare/pack.h"

#define SIDES_MAX 6

int compare_many(const struct compare_side *sides, size_t n, const struct compare_options *o,
		 json_t **ret, struct err *reterr)
{
	json_t *items, *names;

	if (n < 2 || n > SIDES_MAX)
		return err_set(reterr, ERR_INVALID, "%zu sides: between 2 and %d can be compared",
			       n, SIDES_MAX);
	items = json_array();
	names = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *doc;

		json_array_append_new(names, json_string(sides[i].name ? sides[i].name : ""));
		if (!i)
			continue;
		if (compare_document(&sides[0], &sides[i], o, &doc, reterr) < 0) {
			json_decref(items);
			json_decref(names);
			return reterr->code;
		}
		json_array_append_new(items, doc);
	}
	*ret = PACK("{s:o,s:n,s:o}", "items", items, "trend", "sides", names);
	return 0;
}
