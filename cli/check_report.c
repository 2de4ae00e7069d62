/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat check-report: do the printed figures of a mail or report agree with each other? */
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "common/compare/report.h"

const char verb_check_report_help[] =
	"  rigstat check-report mail.txt\n"
	"  git show HEAD:report.md | rigstat check-report -\n"
	"\n"
	"usage: rigstat check-report [--json] FILE   (\"-\" reads standard input)\n"
	"\n"
	"Recomputes the figures of a report from each other: min <= avg <= max, range = max - "
	"min,\n"
	"whether the sdev is possible, and whether a claim such as \"from 70.123 to 71.520 (1.99 "
	"%)\"\n"
	"follows from the averages in the tables, each figure being known to half a unit of its\n"
	"last digit. Rows are \"label: min=1.0 avg=2.0 max=3.0\" or tables with such a header.\n"
	"\n"
	"Exit status: 0 nothing found, 1 figures disagree, 3 usage or nothing to check, 4 disk.\n";

static int print(const json_t *doc, const char *name, bool json)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	size_t found = json_array_size(json_object_get(doc, "findings"));
	json_int_t figures = json_integer_value(json_object_get(doc, "rows")) +
			     json_integer_value(json_object_get(doc, "claims"));
	int status;

	if (json) {
		char *text = json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(15));

		strbuf_puts(&out, text);
		strbuf_putc(&out, '\n');
		free(text);
	} else {
		report_render_text(doc, name, &out);
	}
	status = cli_print(&out);
	if (status != EXIT_DONE)
		return status;
	return !figures ? EXIT_USAGE : found ? EXIT_GATE_FAIL : EXIT_DONE;
}

static int check(const char *path, bool json)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	struct err e;
	json_t *doc;
	int status;

	if (cli_read_file(path, REPORT_BYTES_MAX, &text, &e) < 0)
		return cli_fail(&e);
	if (report_check(text.data, text.len, &doc, &e) < 0)
		return cli_fail(&e);
	status = print(doc, strcmp(path, "-") != 0 ? path : "stdin", json);
	json_decref(doc);
	return status;
}

int verb_check_report(int argc, char **argv)
{
	static const struct option_def options[] = {{"--json", 1, false}, {NULL, 0, false}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *file = NULL, *value;
	bool json = false;
	struct err e;
	int id;

	while ((id = args_next(&a, options, &value, &e)) != ARG_END) {
		if (id < 0)
			return cli_usage("check-report", &e);
		if (id == 1)
			json = true;
		else if (!file)
			file = value;
		else
			file = "";
	}
	if (file && *file)
		return check(file, json);
	err_set(&e, ERR_INVALID, "name one file, or - for standard input");
	return cli_usage("check-report", &e);
}
