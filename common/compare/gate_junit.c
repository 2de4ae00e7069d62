/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JUnit XML for Jenkins and GitLab: one test case a rule. */
#include "common/compare/gate.h"
#include "common/compare/render.h"

static void put_case(const json_t *rule, struct strbuf *out)
{
	const char *result = render_str(rule, "result");

	strbuf_puts(out, "  <testcase classname=\"rigstat.gate\" name=\"");
	strbuf_put_xml(out, render_str(rule, "rule"));
	if (*render_str(rule, "b")) {
		strbuf_puts(out, " (");
		strbuf_put_xml(out, render_str(rule, "b"));
		strbuf_putc(out, ')');
	}
	strbuf_puts(out, "\">");
	if (!strcmp(result, "fail"))
		strbuf_puts(out, "<failure message=\"");
	else if (!strcmp(result, "inconclusive"))
		strbuf_puts(out, "<error type=\"inconclusive\" message=\"");
	else
		strbuf_puts(out, "<system-out>");
	strbuf_put_xml(out, render_str(rule, "why"));
	strbuf_puts(out, !strcmp(result, "pass") ? "</system-out>" : "\"/>");
	strbuf_puts(out, "</testcase>\n");
}

void gate_render_junit(const json_t *doc, struct strbuf *out)
{
	const json_t *rules = json_object_get(json_object_get(doc, "gate"), "rules");
	size_t i, failed = 0, unsure = 0;
	json_t *rule;

	json_array_foreach(rules, i, rule)
	{
		failed += !strcmp(render_str(rule, "result"), "fail");
		unsure += !strcmp(render_str(rule, "result"), "inconclusive");
	}
	strbuf_printf(out,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<testsuite name=\"rigstat gate\" tests=\"%zu\" failures=\"%zu\" "
		      "errors=\"%zu\">\n",
		      json_array_size(rules), failed, unsure);
	json_array_foreach(rules, i, rule) put_case(rule, out);
	strbuf_puts(out, "</testsuite>\n");
}
