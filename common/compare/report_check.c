/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what report_read() found; the document and its text. */
#include <math.h>
#include <stdio.h>

#include "common/compare/pack.h"
#include "common/compare/report.h"

#define FINDINGS_A_PLACE 8

static json_t *bound(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static void add_findings(json_t *list, size_t line, const struct published_finding *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			list, PACK("{s:I,s:s,s:s,s:f,s:o,s:o}", "line", (json_int_t)line, "code",
				   published_code_name(f[i].code), "text", f[i].text, "got",
				   f[i].got, "lo", bound(f[i].lo), "hi", bound(f[i].hi)));
}

static int check_all(struct report *r, json_t *list, struct err *reterr)
{
	struct published_finding f[FINDINGS_A_PLACE];
	size_t n;
	int e = 0;

	for (size_t i = 0; i < r->n_rows && e == 0; i++) {
		e = published_check_row(&r->rows[i].row, f, FINDINGS_A_PLACE, &n, reterr);
		if (e == 0)
			add_findings(list, r->rows[i].line, f, n);
	}
	for (size_t i = 0; i < r->n_claims && e == 0; i++) {
		struct published_claim *c = &r->claims[i].claim;
		char label[200] = "text";

		if (c->base && c->other)
			snprintf(label, sizeof(label), "%s -> %s", c->base->label, c->other->label);
		c->label = label;
		e = published_check_claim(c, f, FINDINGS_A_PLACE, &n, reterr);
		if (e == 0)
			add_findings(list, r->claims[i].line, f, n);
	}
	return e;
}

int report_check(const char *text, size_t len, json_t **ret, struct err *reterr)
{
	CLEANUP(report_done) struct report r = {0};
	json_t *list;
	int e = report_read(text, len, &r, reterr);

	if (e < 0)
		return e;
	list = json_array();
	e = check_all(&r, list, reterr);
	if (e < 0) {
		json_decref(list);
		return e;
	}
	*ret = PACK("{s:I,s:I,s:o}", "rows", (json_int_t)r.n_rows, "claims", (json_int_t)r.n_claims,
		    "findings", list);
	return 0;
}

static const char *plural(json_int_t n)
{
	return n == 1 ? "" : "s";
}

void report_render_text(const json_t *doc, const char *name, struct strbuf *out)
{
	json_int_t rows = json_integer_value(json_object_get(doc, "rows"));
	json_int_t claims = json_integer_value(json_object_get(doc, "claims"));
	const json_t *list = json_object_get(doc, "findings");
	json_int_t found = (json_int_t)json_array_size(list);
	size_t i;
	json_t *f;

	json_array_foreach(list, i, f)
		strbuf_printf(out, "%s:%lld: %s\n", name,
			      (long long)json_integer_value(json_object_get(f, "line")),
			      json_string_value(json_object_get(f, "text")));
	if (rows + claims == 0)
		strbuf_printf(out,
			      "%s: no figures to check: rows need min, avg, max, sdev or "
			      "range, claims \"from A to B (+P %%)\"\n",
			      name);
	else if (found == 0)
		strbuf_printf(out, "%s: %lld row%s and %lld claim%s agree with each other\n", name,
			      (long long)rows, plural(rows), (long long)claims, plural(claims));
	else
		strbuf_printf(out, "%s: %lld finding%s in %lld row%s and %lld claim%s\n", name,
			      (long long)found, plural(found), (long long)rows, plural(rows),
			      (long long)claims, plural(claims));
}
