/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the CPUs' time went, and what moved between two sides: the profiles of their runs
 * (common/model/profile.h), name by name, with the replicates, blocks and tests of every other
 * comparison (docs/STATISTICS.md, "Profiles"). Pure.
 *
 * A name that a run did not keep is known to lie between 0 and the smallest share kept. The test
 * is then made at both ends of what is possible, and what is less clear of the two is shown. */
#pragma once

#include "common/compare/compare.h"

#define PROFILE_RUNS_MAX 500 /* a side */

/* Of the options: metric ("cycle_share" or "time_share" chooses the basis; NULL: cycles where both
 * sides have them), confidence, margin_rel (of all that was not idle: 0.01 is one point; < 0 is no
 * margin), factor, anyway. The document is schema ProfileDiff of docs/openapi.yaml: a new
 * reference. "No profile", "not comparable" and "too few runs" are states of it, not errors. */
int profile_diff(const struct compare_side *a, const struct compare_side *b,
		 const struct compare_options *o, json_t **ret, struct err *reterr) MUSTCHECK;

/* One run's profile: schema Profile. A new reference. */
json_t *profile_document(const struct run *r);

/* Renderings of either document, or of {"items": [run's profile, ...]}; they compute nothing. */
void profile_render_text(const json_t *doc, struct strbuf *out); /* <= 76 columns, ASCII */
void profile_render_markdown(const json_t *doc, struct strbuf *out);
void profile_render_csv(const json_t *doc, struct strbuf *out);
