/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison engine: sides of runs in, one document out. Pure; the server and the command
 * line use the same one, so page, text, JSON and gate cannot differ.
 *
 * A document is one metric x side A x side B. The run is the unit (or the boot, or the host:
 * docs/STATISTICS.md, "replicate"); samples never are. Series of the metric with different labels
 * (cpu, context) are merged by summing buckets unless `labels` selects one. */
#pragma once

#include "common/err.h"
#include "common/model/metric.h"
#include "common/model/run.h"
#include "common/strbuf.h"

struct compare_side {
	const char *name;	 /* "A", "B" or a file name */
	const char *selector;	 /* what a person asked for, shown as given */
	struct run *const *runs; /* borrowed; order does not matter, run->order and started_ns do */
	size_t n;
};

struct compare_options {
	const char *metric; /* NULL: the only one, or the best known one that both sides have */
	const struct labels *labels; /* only series with these labels; NULL = all */
	double confidence;	     /* 0 = 0.95 */
	double margin_rel;	     /* < 0 = the metric's own */
	const char *primary;	     /* statistic that sets the word; NULL = the metric's own */
	const char *const *stats; /* rows wanted, e.g. "p50", "p99.9", "max", "mean", "over(47us)";
				   * NULL-terminated; NULL = the metric's defaults */
	const char *const *also;  /* rows besides, NULL-terminated; for rules of a gate */
	const char *factor;	  /* the factor under test; NULL = what differs between the sides */
	bool anyway;		  /* compare in spite of blocking environment differences */
	bool history;		  /* A is a baseline's history that is known not to depend on time:
				   * sides one after the other are no reason to be silent */
	bool corrected;		  /* omission-corrected view where the source needs it */
	const char *better;	  /* "lower" or "higher" for a metric that the catalogue does not
				   * know; NULL = the metric's own */
	int64_t tail_threshold;	  /* of the tail block, in the metric's unit; 0 = chosen from the
				   * pooled data, the same for both sides */
};

/* The result is the JSON document of docs/openapi.yaml (schema Comparison): a new reference.
 * Statistical "cannot tell" is a verdict, not an error; errors are wrong requests. */
int compare_document(const struct compare_side *a, const struct compare_side *b,
		     const struct compare_options *o, json_t **ret, struct err *reterr) MUSTCHECK;
/* One reference side against up to five others: {"items": [document, ...], "trend": ...}. */
int compare_many(const struct compare_side *sides, size_t n, const struct compare_options *o,
		 json_t **ret, struct err *reterr) MUSTCHECK;

/* One side alone, for rules that need no other (soak tests): the same document with null where a
 * comparison would stand, the side as "b". */
int compare_single(const struct compare_side *side, const struct compare_options *o, json_t **ret,
		   struct err *reterr) MUSTCHECK;

/* How much a difference in a fact of the environment matters: "blocking", "warn", "tolerance" or
 * "info". */
const char *compare_fact_class(const char *key);

/* Renderings of a document (or an items list); they compute nothing. */
void compare_render_text(const json_t *doc, struct strbuf *out); /* <= 76 columns, ASCII */
void compare_render_markdown(const json_t *doc, struct strbuf *out);
void compare_render_csv(const json_t *doc, struct strbuf *out);
/* chart: "histogram", "percentiles", "shift", "ccdf", "runs" */
int compare_render_svg(const json_t *doc, const char *chart, bool dark, struct strbuf *out,
		       struct err *reterr) MUSTCHECK;
