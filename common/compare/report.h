/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Printed reports: the figures in a mail or a text table, read and checked against each other
 * (common/stats/published.h has the arithmetic). Pure.
 *
 * What is recognised as a row: "label: min=1.0 avg=2.0 max=3.0 sdev=0.5 range=2.0", and tables with
 * a header line of these words (separated by blanks, commas or bars). As a claim: "from 70.1
 * to 71.5
 * (+1.99 %)", "70.1 -> 71.5, +1.99%", also with the percentage first ("1.99% better, from ...").
 * Everything else is prose and ignored. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "common/stats/published.h"
#include "common/strbuf.h"

#define REPORT_BYTES_MAX  (1024 * 1024)
#define REPORT_ROWS_MAX	  1000
#define REPORT_CLAIMS_MAX 1000

struct report_row {
	size_t line; /* from 1 */
	char label[80];
	struct published_row row; /* label points at the one above */
};
struct report_claim {
	size_t line;
	struct published_claim claim; /* base and other point into rows */
};
struct report {
	struct report_row *rows;
	size_t n_rows, cap_rows;
	struct report_claim *claims;
	size_t n_claims, cap_claims;
};
/* ERR_LIMIT beyond the bounds. Free with report_done. */
int report_read(const char *text, size_t len, struct report *ret, struct err *reterr) MUSTCHECK;
void report_done(struct report *r);

/* {"rows": n, "claims": n, "findings": [{"line", "code", "text", "got", "lo", "hi"}]}: a new
 * reference. */
int report_check(const char *text, size_t len, json_t **ret, struct err *reterr) MUSTCHECK;
/* "report.txt:12: the text says ..." and a closing sentence. */
void report_render_text(const json_t *doc, const char *name, struct strbuf *out);
