/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the importer targets share: reads the bytes as each format of a family. Whatever is read
 * must keep the histogram invariant and survive our own JSON form. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/import/import.h"

static void fuzz_round_trip(const struct run *r)
{
	json_t *j = run_to_json(r);
	struct run *back = NULL;
	struct err err;

	CHECK(j);
	if (run_from_json(j, &back, &err)) {
		(void)fprintf(stderr, "%s\n", err.text);
		CHECK(!"what was imported is no valid run document");
	}
	run_free(back);
	json_decref(j);
}

static void fuzz_format(const char *format, const uint8_t *data, size_t size)
{
	struct import_options o = {.format = format, .source = "fuzz"};
	struct import_result result;
	struct err err = {0};

	if (import_bytes((const char *)data, size, &o, &result, &err)) {
		/* Every refusal says something. */
		CHECK(err.code < 0 && err.text[0]);
	} else {
		for (size_t i = 0; i < result.runs.len; i++) {
			const struct run *r = result.runs.v[i];

			for (size_t k = 0; k < r->series_len; k++)
				if (r->series[k].kind == SERIES_HIST)
					CHECK(hist_check(&r->series[k].hist, &err) == 0);
			if (i < 3)
				fuzz_round_trip(r);
		}
	}
	import_result_done(&result);
}

/* `formats` is ended by NULL; the bytes are also read with detection. RIGSTAT_FUZZ_FORMAT pins one
 * format, so that tests/fuzz/soak gives each importer its own time. */
static int fuzz_family(const char *const *formats, const uint8_t *data, size_t size)
{
	const char *pinned = getenv("RIGSTAT_FUZZ_FORMAT");

	if (pinned) {
		fuzz_format(pinned, data, size);
		return 0;
	}
	for (; *formats; formats++)
		fuzz_format(*formats, data, size);
	fuzz_format(NULL, data, size);
	return 0;
}
