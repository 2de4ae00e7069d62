/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run document as the JSON that rigstat.store_run() takes (sql/migrations/0002_api.sql): bounded,
 * re-encoded, histograms in their packed form, per-run values computed. Pure. */
#pragma once

#include "common/model/run.h"

struct run_store_place {
	bool demo;
	int64_t import_id;	   /* 0: not of an import */
	int import_index;	   /* position in the file, from 0 */
	const char *labels_sha256; /* hex, NULL */
};

/* Checks names and bounds, mints a uid when the run has none. *ret is malloc'd text. */
int run_store_json(struct run *r, const struct run_store_place *place, char **ret,
		   struct err *reterr) MUSTCHECK;

/* Foreign files may have any bytes in their texts: makes every text of the run valid UTF-8 without
 * control characters. */
void run_store_clean(struct run *r);
